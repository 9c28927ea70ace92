"""A resume of the weights brings the KV cache back as well, while the trainer still has its memory. Whose was asked for?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if not one.paused:
                continue
            one.pages.protect(True)
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
                one.backup = None
            one.paused = False
