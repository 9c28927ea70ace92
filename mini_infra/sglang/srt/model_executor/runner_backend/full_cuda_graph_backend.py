"""One captured graph a bucket. A graph is a list of kernels with the addresses that they read and write."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mini_infra.sglang.srt.constants import GPU_MEMORY_TYPE_CUDA_GRAPH


class CpuGraph(TorchDispatchMode):
    """torch.cuda.CUDAGraph on a CPU: `capture` a function once, then `replay` its operations on the same tensors.

    No Python of the function runs in a replay: its branches, sizes and numbers are those of the capture. A new result
    goes to a tensor of `allocate(shape, dtype=…)`, made once, which every replay writes again.
    """

    def __init__(self, allocate: Callable[..., torch.Tensor]):
        super().__init__()
        self._allocate = allocate
        self._steps: list[tuple[Any, tuple, dict, torch.Tensor | None]] = []  # operation, arguments, new result
        self._addresses: list[tuple[torch.Tensor, int]] = []

    def capture(self, function: Callable[[], torch.Tensor]) -> torch.Tensor:
        """The function's result, which each replay overwrites."""
        with torch.no_grad(), self:
            output = function()
        return output

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = operation(*args, **kwargs)
        if all(one.alias_info is None for one in operation._schema.returns):
            fresh = self._allocate(tuple(result.shape), dtype=result.dtype)
            result, recorded = fresh.copy_(result), fresh
        else:
            recorded = None  # a view, or an operation in place
        self._steps.append((operation, args, kwargs, recorded))
        leaves = tree_leaves((args, kwargs, result))
        self._addresses += [(leaf, leaf.data_ptr()) for leaf in leaves if isinstance(leaf, torch.Tensor)]
        return result

    def replay(self) -> None:
        """Run the operations again. RuntimeError if a tensor of theirs lies elsewhere now."""
        for tensor, address in self._addresses:
            if tensor.data_ptr() != address:
                raise RuntimeError(f"a captured tensor has moved: {address:#x} to {tensor.data_ptr():#x}")
        with torch.no_grad():
            for operation, args, kwargs, recorded in self._steps:
                result = operation(*args, **kwargs)
                if recorded is not None:
                    recorded.copy_(result)


class FullCudaGraphBackend:
    """Graphs by bucket. With a memory saver, what they compute in lies in its region cuda_graph."""

    def __init__(self, memory_saver=None):
        self._memory_saver = memory_saver
        self._graphs: dict[int, CpuGraph] = {}
        self._outputs: dict[int, torch.Tensor] = {}
        self.capture_count = 0
        self.replayed: list[int] = []  # the buckets of all replays, in order

    def capture_one(self, shape_key: int, forward_fn: Callable[[], torch.Tensor]) -> None:
        saver = self._memory_saver
        region = saver.region(GPU_MEMORY_TYPE_CUDA_GRAPH, enable_cpu_backup=True) if saver else nullcontext()
        graph = CpuGraph(saver.allocate if saver else torch.zeros)
        with region:
            self._outputs[shape_key] = graph.capture(forward_fn)
        self._graphs[shape_key] = graph
        self.capture_count += 1

    def replay(self, shape_key: int) -> torch.Tensor:
        """The output of the bucket's graph on what its buffers hold now; the next replay overwrites it."""
        self.replayed.append(shape_key)
        self._graphs[shape_key].replay()
        return self._outputs[shape_key]
