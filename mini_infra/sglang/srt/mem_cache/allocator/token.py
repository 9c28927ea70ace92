"""Who owns which KV slot: a free list over the pool.

A *slot* is the index of one token's KV in the pool, an int64. The allocator is the referee of the whole cache: it
raises at the first slot that is freed twice, or written while nobody owns it.
"""

from __future__ import annotations

from collections import deque

import torch


class SlotAllocator:
    """Slots 0 … size-1, first freed first given out again.

    `kv[slot]` is one int64 that stands for the token's keys and values of all layers. `freed` is the audit log: every
    slot that was ever freed, in order. Nothing of the cache needs it.
    """

    def __init__(self, size: int, device: str = "cpu"):
        self.size = size  # slots
        self.device = device
        self.kv = torch.zeros(size, dtype=torch.int64, device=device)  # [size]
        self.freed: list[int] = []
        self._free = deque(range(size))
        self._is_free = [True] * size

    def available_size(self) -> int:
        """Free slots."""
        return len(self._free)

    def free_slots(self) -> torch.Tensor:
        """The free slots in the order in which they will be given out: int64 `[available_size()]`."""
        return torch.tensor(list(self._free), dtype=torch.int64)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Take `need_size` slots: int64 `[need_size]`, or None (and nothing taken) when there are fewer."""
        if need_size > len(self._free):
            return None
        slots = [self._free.popleft() for _ in range(need_size)]
        for slot in slots:
            self._is_free[slot] = False
        return torch.tensor(slots, dtype=torch.int64, device=self.device)

    def free(self, free_index: torch.Tensor) -> None:
        """Give slots back: int64 `[n]`. RuntimeError names the first one that is free already."""
        if free_index.dtype != torch.int64 or free_index.dim() != 1:
            raise TypeError(f"slots are an int64 vector, not {free_index.dtype} of shape {list(free_index.shape)}")
        for slot in free_index.tolist():
            if self._is_free[slot]:
                raise RuntimeError(f"slot {slot} is freed twice")
            self._is_free[slot] = True
            self._free.append(slot)
            self.freed.append(slot)

    def write(self, slots: torch.Tensor, kv: torch.Tensor) -> None:
        """What a forward pass does: `kv[slots] = kv`, both int64 `[n]`. RuntimeError names the first free slot."""
        for slot in slots.tolist():
            if self._is_free[slot]:
                raise RuntimeError(f"slot {slot} is written while it is free")
        self.kv[slots] = kv
