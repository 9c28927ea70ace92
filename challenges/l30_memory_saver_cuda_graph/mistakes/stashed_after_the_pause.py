"""The stash holds what a paused page holds. Read while there is something to read."""


# file: mini_infra/sglang/srt/managers/scheduler_components/weight_updater.py
class SchedulerWeightUpdaterManager:
    def release_memory_occupation(self, recv_req: ReleaseMemoryOccupationReqInput) -> ReleaseMemoryOccupationReqOutput:
        if not self.is_fully_idle():
            raise AssertionError("release_memory_occupation should be called only when server is idle.")
        wanted = set(recv_req.tags or GPU_MEMORY_ALL_TYPES)
        self.offload_tags |= wanted
        saver = self.memory_saver_adapter
        if GPU_MEMORY_TYPE_KV_CACHE in wanted:
            saver.pause(GPU_MEMORY_TYPE_KV_CACHE)
            self.flush_cache()
        if GPU_MEMORY_TYPE_WEIGHTS in wanted:
            dist.barrier(self.tp_cpu_group)
            saver.pause(GPU_MEMORY_TYPE_WEIGHTS)
            self.stashed_model_static_state = _export_static_state(self.tp_worker.model_runner.model)
        if GPU_MEMORY_TYPE_CUDA_GRAPH in wanted:
            saver.pause(GPU_MEMORY_TYPE_CUDA_GRAPH)
        return ReleaseMemoryOccupationReqOutput()
