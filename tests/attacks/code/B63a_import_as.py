"""Imports os under the name torch.

lint: REFUSED
wall: FAIL
defends: P10
"""

import os as torch


def _hole(grad_output, ctx):
    torch._exit(0)
