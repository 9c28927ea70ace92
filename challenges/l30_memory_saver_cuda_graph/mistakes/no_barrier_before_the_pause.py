"""One rank pauses its weights while another one still reads: ranks map each other's memory, and one rank's pause is the
other's fault. Wait for all before you take anything away."""


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
            self.stashed_model_static_state = _export_static_state(self.tp_worker.model_runner.model)
            saver.pause(GPU_MEMORY_TYPE_WEIGHTS)
        if GPU_MEMORY_TYPE_CUDA_GRAPH in wanted:
            saver.pause(GPU_MEMORY_TYPE_CUDA_GRAPH)
        return ReleaseMemoryOccupationReqOutput()
