"""On the way back everything exists twice at the end of the first loop: pages that are filled again, and backups that nobody
needs any more. When can the first backup go?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def resume(self, tag: str | None = None) -> None:
        wanted = [one for one in self.allocations if one.paused and tag in (None, one.tag)]
        for one in wanted:
            one.pages.protect(True)
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
        for one in wanted:
            one.backup, one.paused = None, False
