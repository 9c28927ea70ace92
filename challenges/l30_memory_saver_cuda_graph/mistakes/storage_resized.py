"""The memory is gone after `resize_(0)`, and after `resize_` back it is there, wherever the allocator had room. Nothing
reserved the addresses in between. Who could?"""


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
            storage = one.tensor.untyped_storage()
            one.backup = one.tensor.clone() if one.enable_cpu_backup else None
            one.nbytes = storage.nbytes()
            storage.resize_(0)
            one.paused = True

    def resume(self, tag: str | None = None) -> None:
        for one in self.allocations:
            if not one.paused or tag not in (None, one.tag):
                continue
            one.tensor.untyped_storage().resize_(one.nbytes)
            one.tensor.copy_(torch.zeros_like(one.tensor) if one.backup is None else one.backup)
            one.backup, one.paused = None, False
