"""The order in which memory leaves is that of the request's list. It is the engine that knows which step needs what: the
order is its own."""


# file: mini_infra/sglang/srt/managers/scheduler_components/weight_updater.py
class SchedulerWeightUpdaterManager:
    def release_memory_occupation(self, recv_req: ReleaseMemoryOccupationReqInput) -> ReleaseMemoryOccupationReqOutput:
        if not self.is_fully_idle():
            raise AssertionError("release_memory_occupation should be called only when server is idle.")
        wanted = recv_req.tags or GPU_MEMORY_ALL_TYPES
        self.offload_tags |= set(wanted)
        for tag in wanted:
            if tag == GPU_MEMORY_TYPE_WEIGHTS:
                self.stashed_model_static_state = _export_static_state(self.tp_worker.model_runner.model)
                dist.barrier(self.tp_cpu_group)
            self.memory_saver_adapter.pause(tag)
            if tag == GPU_MEMORY_TYPE_KV_CACHE:
                self.flush_cache()
        return ReleaseMemoryOccupationReqOutput()
