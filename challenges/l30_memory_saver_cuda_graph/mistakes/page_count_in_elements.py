"""A tensor whose elements have more than one byte gets too few bytes. `shape` counts elements; pages are of bytes."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        nbytes = math.prod(shape)
        if self._region is None or nbytes == 0:
            return torch.zeros(shape, dtype=dtype)
        pages = Pages(nbytes)
        self.allocations.append(Allocation(pages, *self._region))
        return pages.as_tensor()[:nbytes].view(dtype).view(shape)
