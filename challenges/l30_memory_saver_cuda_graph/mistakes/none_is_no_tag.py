"""`pause(None)` frees nothing: no allocation has that tag. It should mean all of them."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or one.tag != tag:
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True

    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if not one.paused or one.tag != tag:
                continue
            one.pages.protect(True)
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
                one.backup = None
            one.paused = False
