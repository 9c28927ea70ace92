"""Memory that can be given back and taken again while every address stays, as torch_memory_saver does on a GPU."""

import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from mini_infra.torch_memory_saver.pages import Pages


@dataclass
class Allocation:
    """One tensor's pages, and what the saver has to know of them."""

    pages: Pages
    tag: str
    enable_cpu_backup: bool
    paused: bool = False
    backup: torch.Tensor | None = None  # uint8 [pages.nbytes], only while paused


class TorchMemorySaver:
    """Hands out tensors by tag; `pause` gives their memory to the system, `resume` takes it again, at the addresses.

    An allocation lives as long as its saver.
    """

    def __init__(self):
        self.allocations: list[Allocation] = []
        self._region: tuple[str, bool] | None = None  # tag and enable_cpu_backup of the region we are in

    def region(self, tag: str = "default", enable_cpu_backup: bool = False):
        """A context: what is allocated in it belongs to `tag`. The innermost region counts."""
        return self._within((tag, enable_cpu_backup))

    def disable(self):
        """A context inside a region: what is allocated in it is plain memory, which stays."""
        return self._within(None)

    @contextmanager
    def _within(self, region: tuple[str, bool] | None) -> Iterator[None]:
        outer, self._region = self._region, region
        try:
            yield
        finally:
            self._region = outer

    def backup_bytes(self) -> int:
        """Bytes that all backups take right now."""
        return sum(one.backup.nbytes for one in self.allocations if one.backup is not None)

    def allocate(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor of zeros, `dtype [*shape]`.

        In a region it gets `Pages` of its own, which no other tensor shares, starts at their first byte, and joins
        `allocations` with the region's tag and its enable_cpu_backup. Outside a region, in `disable()`, or without any
        element it is a plain torch tensor, of which the saver knows nothing.
        """
        nbytes = math.prod(shape) * dtype.itemsize
        if self._region is None or nbytes == 0:
            return torch.zeros(shape, dtype=dtype)
        pages = Pages(nbytes)
        self.allocations.append(Allocation(pages, *self._region))
        return pages.as_tensor()[:nbytes].view(dtype).view(shape)

    def pause(self, tag: str | None = None) -> None:
        """Give back the memory of all allocations of `tag` (None: of every tag); their addresses stay mapped.

        Afterwards none of their pages is resident, and touching one is SIGSEGV. Those with enable_cpu_backup have a
        copy of their bytes in `backup`; save one and drop its pages before you save the next, so that at no moment more
        than one exists twice. What is paused already stays as it is. A tag that nobody has does nothing.
        """
        for one in self.allocations:
            if one.paused or tag not in (None, one.tag):
                continue
            if one.enable_cpu_backup:
                one.backup = one.pages.as_tensor().clone()
            one.pages.madvise(mmap.MADV_DONTNEED)
            one.pages.protect(False)
            one.paused = True

    def resume(self, tag: str | None = None) -> None:
        """Make the pages of all paused allocations of `tag` (None: of every tag) usable again, where they were.

        With a backup their bytes are what they were at `pause`, and the backup is freed before the next one's pages are
        filled; without, they are zero. What is not paused stays as it is.
        """
        for one in self.allocations:
            if not one.paused or tag not in (None, one.tag):
                continue
            one.pages.protect(True)
            if one.backup is not None:
                one.pages.as_tensor().copy_(one.backup)
                one.backup = None
            one.paused = False
