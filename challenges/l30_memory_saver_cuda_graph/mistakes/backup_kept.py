"""After the resume the backups are still there: half of what was won is lost again, for the whole rollout. How long is a
backup of use?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if not one.paused or tag not in (None, one.tag):
                continue
            one.pages.protect(True)
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
            one.paused = False
