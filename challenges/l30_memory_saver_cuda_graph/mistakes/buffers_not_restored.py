"""After the cycle every answer is one token over and over, though the weights are right: the rotary table came back as
zeros. A weight sync brings parameters. Who reloads what is not a parameter?"""


# file: mini_infra/sglang/srt/managers/scheduler_components/weight_updater.py
class SchedulerWeightUpdaterManager:
    def resume_memory_occupation(self, recv_req: ResumeMemoryOccupationReqInput) -> ResumeMemoryOccupationReqOutput:
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
            self.stashed_model_static_state = None
        if GPU_MEMORY_TYPE_KV_CACHE in wanted:
            saver.resume(GPU_MEMORY_TYPE_KV_CACHE)
        return ResumeMemoryOccupationReqOutput()
