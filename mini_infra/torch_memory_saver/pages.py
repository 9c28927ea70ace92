"""A run of pages of its own: addresses that stay, and memory behind them that may come and go."""

import ctypes
import mmap

import torch

from mini_infra.torch_memory_saver.residency import call, resident_bytes

PROT_NONE = 0


class Pages:
    """At least `nbytes` bytes, rounded up to whole pages, private to this process and zero.

    A guard page that nobody may touch lies behind them, so that two runs never meet. The addresses stay mapped as long
    as this object or any tensor over it lives.
    """

    def __init__(self, nbytes: int):
        self.nbytes = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._map = mmap.mmap(-1, self.nbytes + mmap.PAGESIZE, flags=flags)
        self._map.madvise(mmap.MADV_NOHUGEPAGE)  # a huge page would come and go as a whole
        self.address = torch.frombuffer(self._map, dtype=torch.uint8).data_ptr()
        self._mprotect(self.address + self.nbytes, mmap.PAGESIZE, PROT_NONE)

    def as_tensor(self) -> torch.Tensor:
        """The bytes, uint8 [nbytes]: a view, no copy. Making it touches no page."""
        return torch.frombuffer(self._map, dtype=torch.uint8, count=self.nbytes)

    def madvise(self, advice: int) -> None:
        """The system call on these pages; `advice` is one of mmap.MADV_…"""
        self._map.madvise(advice, 0, self.nbytes)

    def protect(self, accessible: bool) -> None:
        """mprotect: with False, whoever reads or writes a byte here is killed by SIGSEGV."""
        self._mprotect(self.address, self.nbytes, mmap.PROT_READ | mmap.PROT_WRITE if accessible else PROT_NONE)

    def resident_bytes(self) -> int:
        """Bytes of memory that these pages take right now."""
        return resident_bytes(self.address, self.nbytes)

    @staticmethod
    def _mprotect(address: int, nbytes: int, mode: int) -> None:
        call("mprotect", address, ctypes.c_size_t(nbytes), ctypes.c_int(mode))
