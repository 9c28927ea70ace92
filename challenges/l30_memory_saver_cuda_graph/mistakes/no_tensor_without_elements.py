"""An empty tensor has no page to lie on, and a model may have one: an adapter of rank 0, a bias that was switched off."""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        nbytes = math.prod(shape) * dtype.itemsize
        if self._region is None:
            return torch.zeros(shape, dtype=dtype)
        pages = Pages(nbytes)
        self.allocations.append(Allocation(pages, *self._region))
        return pages.as_tensor()[:nbytes].view(dtype).view(shape)
