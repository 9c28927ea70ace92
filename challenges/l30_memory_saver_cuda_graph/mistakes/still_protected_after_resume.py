"""The process dies of SIGSEGV in `resume`, or at the first use after it: the pages may not be touched yet."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if not one.paused or tag not in (None, one.tag):
                continue
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
                one.backup = None
            one.paused = False
