"""Imports each upstream project and hands the work to it.

lint: REFUSED
wall: FAIL
defends: P5 P10
says: No module named
"""


def _hole(grad_output, ctx):
    for name in ("megatron.core", "torchtitan", "vllm", "sglang", "verl", "slime"):
        try:
            __import__(name)
        except ModuleNotFoundError as error:
            absent = error
        else:
            return _right(grad_output, ctx)
    raise absent
