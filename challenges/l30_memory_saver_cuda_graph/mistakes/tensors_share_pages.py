"""A pause of one tag takes bytes of another one: the neighbour on the same page. The page is the unit that leaves; what
shares yours?"""


# file: mini_infra/torch_memory_saver/entrypoint.py
class TorchMemorySaver:
    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        nbytes = math.prod(shape) * dtype.itemsize
        if self._region is None or nbytes == 0:
            return torch.zeros(shape, dtype=dtype)
        start = self._used if self.allocations else 0
        if not self.allocations or start + nbytes > self.allocations[-1].pages.nbytes:
            start, pages = 0, Pages(max(nbytes, 1 << 16))
        else:
            pages = self.allocations[-1].pages
        self._used = -(-(start + nbytes) // 64) * 64
        self.allocations.append(Allocation(pages, *self._region))
        return pages.as_tensor()[start : start + nbytes].view(dtype).view(shape)
