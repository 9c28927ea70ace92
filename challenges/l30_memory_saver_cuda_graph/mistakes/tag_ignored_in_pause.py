"""A pause of the KV cache takes the weights along. Whose memory was asked for?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused:
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True
