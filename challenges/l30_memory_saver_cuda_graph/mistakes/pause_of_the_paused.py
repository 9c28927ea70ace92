"""The second pause of a tag kills the process: it reads pages that are away. `pause(None)` after `pause("weights")` must do
that, too. What does the saver know of each allocation?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True
