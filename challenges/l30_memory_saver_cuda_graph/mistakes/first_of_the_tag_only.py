"""Only the first allocation of the tag leaves. A region is entered by every layer, and one region makes many tensors."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True
            break
