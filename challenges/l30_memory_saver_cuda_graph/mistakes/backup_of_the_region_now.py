"""Whether an allocation has a backup depends on the region that the pause is called in, not on the one it was made in. The
flag belongs to the allocation."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if self._region is not None and self._region[1]:
                one.backup = one.pages.as_tensor().clone()
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True
