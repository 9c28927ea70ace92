"""The order in which memory comes back is that of the request's list. It is the engine that knows which step needs what:
the order is its own."""


# file: mini_infra/sglang/srt/managers/scheduler_components/weight_updater.py
class SchedulerWeightUpdaterManager:
    def resume_memory_occupation(self, recv_req: ResumeMemoryOccupationReqInput) -> ResumeMemoryOccupationReqOutput:
        wanted = set(recv_req.tags or GPU_MEMORY_ALL_TYPES)
        if strange := wanted - self.offload_tags:
            raise KeyError(min(strange))
        self.offload_tags -= wanted
        for tag in recv_req.tags or GPU_MEMORY_ALL_TYPES:
            self.memory_saver_adapter.resume(tag)
            if tag == GPU_MEMORY_TYPE_WEIGHTS:
                dist.barrier(self.tp_cpu_group)
                _import_static_state(self.tp_worker.model_runner.model, self.stashed_model_static_state)
                self.stashed_model_static_state = None
        return ResumeMemoryOccupationReqOutput()
