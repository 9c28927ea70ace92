"""All is right but the peak: at the end of the first loop everything exists twice, on a machine that was asked for memory
because there is none. When can the first original go?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        wanted = [one for one in self.allocations if not one.paused and tag in (None, one.tag)]
        for one in wanted:
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
        for one in wanted:
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True
