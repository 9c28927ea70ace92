"""With a backup, too, everything is zero after the resume. What did the backup copy? In which order of the three steps can
the bytes still be read?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            one.pages.madvise(mmap.MADV_DONTNEED)
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.protect(False)
            one.paused = True
