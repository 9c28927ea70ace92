"""Wrong only behind the first border, by a factor 1/w that repeats with period C: what comes from the right
neighbour fades by one step too few. Count the steps between the border and the position.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def _scan_from_the_right(x, w, chunk):
    rows, length = x.shape
    if length <= chunk:
        return x @ _powers_below_the_diagonal(w, length, x)
    chunks = F.pad(x, (0, -length % chunk)).view(rows, -1, chunk)
    local = chunks @ _powers_below_the_diagonal(w, chunk, x)
    heads = _scan_from_the_right(local[:, :, 0], w**chunk, max(chunk, 2))
    carry = F.pad(heads[:, 1:], (0, 1))
    fading = w ** torch.arange(chunk - 1, -1, -1, dtype=torch.float64, device=x.device)
    scanned = local + carry[:, :, None] * fading.to(x.dtype)
    return scanned.view(rows, -1)[:, :length]
