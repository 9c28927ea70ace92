"""A resume of what was never paused clears what has been written since. Only what is paused can come back."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if tag not in (None, one.tag):
                continue
            one.pages.protect(True)
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
                one.backup = None
            else:
                one.pages.as_tensor().zero_()
            one.paused = False
