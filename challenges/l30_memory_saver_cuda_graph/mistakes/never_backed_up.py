"""The graphs' own constants are zero after the resume, in spite of enable_cpu_backup. Where do the bytes wait while the
pages are away?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True
