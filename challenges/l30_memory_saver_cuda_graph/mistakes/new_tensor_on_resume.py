"""The numbers are right again, at another address; the captured graph still reads the old one. What a graph keeps is
the address: what must stay is the range, not the bytes."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        tensor = torch.zeros(shape, dtype=dtype)
        if self._region is not None and tensor.numel():
            one = Allocation(None, *self._region)
            one.tensor = tensor
            self.allocations.append(one)
        return tensor

    def pause(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            one.shape = one.tensor.shape
            one.backup = one.tensor.data.clone() if one.enable_cpu_backup else None
            one.tensor.data = torch.empty(0, dtype=one.tensor.dtype)
            one.paused = True

    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if not one.paused or tag not in (None, one.tag):
                continue
            zeros = torch.zeros(one.shape, dtype=one.tensor.dtype)
            one.tensor.data = zeros if one.backup is None else one.backup
            one.backup, one.paused = None, False
