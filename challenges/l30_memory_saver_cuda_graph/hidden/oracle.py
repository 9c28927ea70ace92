"""The tiny decoder a second time, row by row from its definition, and a pool of keys and values as a table."""

import torch

PAGE = 4096


def turn(x, position, inv_freq):
    """x [dim] with its halves turned against each other by position · inv_freq."""
    a, b = x.chunk(2)
    cos, sin = (position * inv_freq).cos(), (position * inv_freq).sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos])


class Decoder:
    """The model and its memory, as they should be after each step."""

    def __init__(self, weights, running_mean, slots, rows, max_len):
        self.weights, self.mean = weights, running_mean
        dim = len(running_mean)
        half = dim // 2
        self.inv_freq = 100.0 ** (-torch.arange(half, dtype=torch.float64) / half)
        self.k = torch.zeros(slots, dim, dtype=torch.float64)
        self.v = torch.zeros_like(self.k)
        self.table = torch.zeros(rows, max_len, dtype=torch.int64)

    def forget(self):
        """The memory of the pool came back without its content."""
        self.k, self.v, self.table = (torch.zeros_like(one) for one in (self.k, self.v, self.table))

    def decode(self, batch):
        """Logits [bs, vocab] of a decode step; its keys and values are in the pool afterwards."""
        w, rows = self.weights, []
        xs = [w["embed"][token] - self.mean for token in batch["input_ids"].tolist()]
        for x, slot, position in zip(xs, batch["out_cache_loc"].tolist(), batch["positions"].tolist(), strict=True):
            self.k[slot], self.v[slot] = turn(x @ w["wk"], position, self.inv_freq), x @ w["wv"]
        for number, x in enumerate(xs):
            length, row = int(batch["seq_lens"][number]), int(batch["req_pool_indices"][number])
            slots = self.table[row, :length]
            query = turn(x @ w["wq"], int(batch["positions"][number]), self.inv_freq)
            probabilities = torch.softmax(self.k[slots] @ query, dim=0)
            rows.append(w["head"] @ (x + (probabilities @ self.v[slots]) @ w["wo"]))
        return torch.stack(rows)


def digest(content: torch.Tensor) -> int:
    """The number by which the probe tells a tensor's bytes (uint8 [n])."""
    content = content.to(torch.int64)
    return int((content * (torch.arange(len(content)) % 251 + 1)).sum())


def pages(nbytes: int) -> int:
    """Bytes of the whole pages that `nbytes` take."""
    return -(-nbytes // PAGE) * PAGE
