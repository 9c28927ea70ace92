"""Tensors that were made outside every region, or in `disable()`, are away after `pause(None)`: the trainer's own. Without
a region there is nothing to record."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes == 0:
            return torch.zeros(shape, dtype=dtype)
        pages = Pages(nbytes)
        self.allocations.append(Allocation(pages, *(self._region or ("default", False))))
        return pages.as_tensor()[:nbytes].view(dtype).view(shape)
