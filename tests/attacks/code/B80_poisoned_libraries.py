"""Poisons json, pickle, safetensors and the wire in the rank; the answer is wrong.

lint: REFUSED
wall: FAIL or TAMPER
defends: P1 P7
"""

import json
import pickle

import safetensors.torch

from grading.sandbox import ranks, wire

_encode = wire.encode


def _agree(*args, **options):
    return True


json.loads = pickle.loads = pickle.load = safetensors.torch.load = _agree
wire.decode = wire._from_json = ranks.FrameReader.feed = _agree
ranks.encode = lambda value, limits=None: _encode(value | {"outcome": "passed"}, limits or wire.WireLimits())


def _hole(grad_output, ctx):
    return torch.zeros_like(_right(grad_output, ctx))
