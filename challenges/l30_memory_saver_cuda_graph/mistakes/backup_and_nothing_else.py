"""A pause makes a copy and frees nothing, so that it needs memory instead of giving some. What of the original?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.paused = True

    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if not one.paused or tag not in (None, one.tag):
                continue
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
                one.backup = None
            one.paused = False
