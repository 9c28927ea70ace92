"""The pages hold zeros, and hold them in memory. Writing zeros is a write; what tells the system that it may have the page?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.as_tensor().zero_()
            one.pages.protect(False)
            one.paused = True
