"""A paused tensor reads as zeros, and a write brings its pages back behind the saver's back. On a GPU an unmapped address
is a fault. Here, too, a use of what is away should be heard."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.paused = True
