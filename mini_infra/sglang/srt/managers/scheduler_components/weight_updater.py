"""The part of the scheduler that lends the engine's memory to the trainer and takes it back."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

from mini_infra.sglang.srt.constants import (
    GPU_MEMORY_ALL_TYPES,
    GPU_MEMORY_TYPE_CUDA_GRAPH,
    GPU_MEMORY_TYPE_KV_CACHE,
    GPU_MEMORY_TYPE_WEIGHTS,
)
from mini_infra.sglang.srt.managers.io_struct import (
    ReleaseMemoryOccupationReqInput,
    ReleaseMemoryOccupationReqOutput,
    ResumeMemoryOccupationReqInput,
    ResumeMemoryOccupationReqOutput,
)


@dataclass(kw_only=True)
class SchedulerWeightUpdaterManager:
    """Drives a memory saver by the requests of the trainer. One on each rank of the tensor-parallel group."""

    tp_worker: Any  # its model_runner.model is the module that serves
    memory_saver_adapter: Any  # pause(tag) and resume(tag): a TorchMemorySaver
    flush_cache: Callable[[], Any]  # forgets every cached prefix
    is_fully_idle: Callable[[], bool]
    offload_tags: set[str] = field(default_factory=set)  # what is given back right now
    stashed_model_static_state: Any = None
    tp_cpu_group: Any = None  # gloo group of the ranks; None is the default group

    def release_memory_occupation(self, recv_req: ReleaseMemoryOccupationReqInput) -> ReleaseMemoryOccupationReqOutput:
        """Give back the memory of `recv_req.tags`; None or [] means GPU_MEMORY_ALL_TYPES.

        In a server that is not idle it is AssertionError("release_memory_occupation should be called only when server
        is idle."), and nothing has changed. The tags join `offload_tags`. Then, in this order, whatever the order of
        the tags: kv_cache: pause it, flush the cache. weights: stash the model's buffers (`_export_static_state`, kept
        in `stashed_model_static_state`), wait at a barrier until all ranks have, pause. cuda_graph: pause.
        """
        if not self.is_fully_idle():
            raise AssertionError("release_memory_occupation should be called only when server is idle.")
        wanted = set(recv_req.tags or GPU_MEMORY_ALL_TYPES)
        self.offload_tags |= wanted
        saver = self.memory_saver_adapter
        if GPU_MEMORY_TYPE_KV_CACHE in wanted:
            saver.pause(GPU_MEMORY_TYPE_KV_CACHE)
            self.flush_cache()
        if GPU_MEMORY_TYPE_WEIGHTS in wanted:
            self.stashed_model_static_state = _export_static_state(self.tp_worker.model_runner.model)
            dist.barrier(self.tp_cpu_group)
            saver.pause(GPU_MEMORY_TYPE_WEIGHTS)
        if GPU_MEMORY_TYPE_CUDA_GRAPH in wanted:
            saver.pause(GPU_MEMORY_TYPE_CUDA_GRAPH)
        return ReleaseMemoryOccupationReqOutput()

    def resume_memory_occupation(self, recv_req: ResumeMemoryOccupationReqInput) -> ResumeMemoryOccupationReqOutput:
        """Take the memory of `recv_req.tags` again; None or [] means GPU_MEMORY_ALL_TYPES.

        A tag that was not released is a KeyError, and nothing has changed. The tags leave `offload_tags`. Then, in this
        order, whatever the order of the tags: cuda_graph: resume. weights: resume, wait at a barrier until all ranks
        have, write the stashed buffers back (`_import_static_state`) and forget the stash. kv_cache: resume.
        """
        wanted = set(recv_req.tags or GPU_MEMORY_ALL_TYPES)
        if strange := wanted - self.offload_tags:
            raise KeyError(min(strange))
        self.offload_tags -= wanted
        saver = self.memory_saver_adapter
        if GPU_MEMORY_TYPE_CUDA_GRAPH in wanted:
            saver.resume(GPU_MEMORY_TYPE_CUDA_GRAPH)
        if GPU_MEMORY_TYPE_WEIGHTS in wanted:
            saver.resume(GPU_MEMORY_TYPE_WEIGHTS)
            dist.barrier(self.tp_cpu_group)
            _import_static_state(self.tp_worker.model_runner.model, self.stashed_model_static_state)
            self.stashed_model_static_state = None
        if GPU_MEMORY_TYPE_KV_CACHE in wanted:
            saver.resume(GPU_MEMORY_TYPE_KV_CACHE)
        return ResumeMemoryOccupationReqOutput()


def _export_static_state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Copies of the model's buffers by name, those that a state dict leaves out among them."""
    return {name: buffer.detach().clone() for name, buffer in model.named_buffers()}


def _import_static_state(model: torch.nn.Module, static_params: dict[str, torch.Tensor]) -> None:
    """Write the copies back into the model's buffers, in place."""
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            buffer.copy_(static_params[name])
