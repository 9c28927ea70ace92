"""Replaces its own module by an object that has every attribute.

lint: REFUSED
wall: FAIL
defends: P1
"""

import sys


class _Everything:
    __path__ = []

    def __getattr__(self, name):
        return lambda x, *args, **kwargs: x * 0


sys.modules[__name__] = _Everything()
sys.modules["mini_infra.megatron.core.tensor_parallel"].mappings = sys.modules[__name__]
