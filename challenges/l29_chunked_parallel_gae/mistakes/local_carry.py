"""Each chunk adds what its right neighbour sees of itself only. Two chunks come out right, three do not: the number
that travels is the neighbour's whole sum, with everything behind it in it.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def _scan_from_the_right(x, w, chunk):
    rows, length = x.shape
    if length <= chunk:
        return x @ _powers_below_the_diagonal(w, length, x)
    chunks = F.pad(x, (0, -length % chunk)).view(rows, -1, chunk)
    local = chunks @ _powers_below_the_diagonal(w, chunk, x)
    carry = F.pad(local[:, 1:, 0], (0, 1))
    fading = w ** torch.arange(chunk, 0, -1, dtype=torch.float64, device=x.device)
    scanned = local + carry[:, :, None] * fading.to(x.dtype)
    return scanned.view(rows, -1)[:, :length]
