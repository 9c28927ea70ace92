"""Where each running request's KV lies."""

import torch


class ReqToTokenPool:
    """One row a running request: `req_to_token[row, i]` is the slot of the request's i-th token.

    Args:
        size: rows, the largest number of running requests.
        max_context_len: tokens a row can hold.
    """

    def __init__(self, size: int, max_context_len: int, device: str = "cpu"):
        self.size = size
        self.max_context_len = max_context_len
        self.req_to_token = torch.zeros(size, max_context_len, dtype=torch.int64, device=device)  # [size, max_len]
        self.free_rows = list(range(size))

    def alloc(self) -> int | None:
        """Take a row, or None when all are in use."""
        return self.free_rows.pop(0) if self.free_rows else None

    def write(self, indices, values: torch.Tensor) -> None:
        """`req_to_token[indices] = values`, indices like `(row, slice(start, stop))`, values int64 `[stop - start]`."""
        self.req_to_token[indices] = values

    def free(self, row: int) -> None:
        """Give the row back. It says nothing about the slots in it."""
        self.free_rows.append(row)
