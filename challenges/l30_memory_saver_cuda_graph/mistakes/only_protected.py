"""Nobody can touch the paused pages, but the machine has not one byte more: they are all still resident. Protection is
about access; what is about memory?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.protect(False)
            one.paused = True
