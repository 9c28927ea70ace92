"""A request for one tag takes all: `pause()` without a tag. A trainer that wants weights first gets the KV cache back along
with them, and has no room for the sync."""


# file: mini_infra/sglang/srt/managers/scheduler_components/weight_updater.py
class SchedulerWeightUpdaterManager:
    def release_memory_occupation(self, recv_req: ReleaseMemoryOccupationReqInput) -> ReleaseMemoryOccupationReqOutput:
        if not self.is_fully_idle():
            raise AssertionError("release_memory_occupation should be called only when server is idle.")
        wanted = set(recv_req.tags or GPU_MEMORY_ALL_TYPES)
        self.offload_tags |= wanted
        saver = self.memory_saver_adapter
        if GPU_MEMORY_TYPE_KV_CACHE in wanted:
            saver.pause(None)
            self.flush_cache()
        if GPU_MEMORY_TYPE_WEIGHTS in wanted:
            self.stashed_model_static_state = _export_static_state(self.tp_worker.model_runner.model)
            dist.barrier(self.tp_cpu_group)
            saver.pause(None)
        if GPU_MEMORY_TYPE_CUDA_GRAPH in wanted:
            saver.pause(None)
        return ReleaseMemoryOccupationReqOutput()

    def resume_memory_occupation(self, recv_req: ResumeMemoryOccupationReqInput) -> ResumeMemoryOccupationReqOutput:
        wanted = set(recv_req.tags or GPU_MEMORY_ALL_TYPES)
        if strange := wanted - self.offload_tags:
            raise KeyError(min(strange))
        self.offload_tags -= wanted
        saver = self.memory_saver_adapter
        if GPU_MEMORY_TYPE_CUDA_GRAPH in wanted:
            saver.resume(None)
        if GPU_MEMORY_TYPE_WEIGHTS in wanted:
            saver.resume(None)
            dist.barrier(self.tp_cpu_group)
            _import_static_state(self.tp_worker.model_runner.model, self.stashed_model_static_state)
            self.stashed_model_static_state = None
        if GPU_MEMORY_TYPE_KV_CACHE in wanted:
            saver.resume(None)
        return ResumeMemoryOccupationReqOutput()
