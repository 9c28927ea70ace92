"""The float tensors come back with the same values and other bits: a NaN that carried a message is now just a NaN. Bytes are
not numbers; copy them as bytes."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = torch.nan_to_num(one.pages.as_tensor().view(torch.float32), nan=torch.nan).view(
                    torch.uint8
                )
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True
