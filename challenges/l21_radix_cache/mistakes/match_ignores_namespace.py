"""Equal tokens of two tenants compare as equal, and one answers with the other's KV."""


class RadixKey:
    def match(self, other: RadixKey, page_size: int = 1) -> int:
        mine, theirs = self.token_ids, other.token_ids
        limit = min(len(mine), len(theirs))
        # Gallop: windows of 1, 2, 4, … tokens until one differs. Below `low` all tokens agree.
        low, high, window = 0, 0, 1
        while low < limit:
            high = min(low + window, limit)
            if mine[low:high] != theirs[low:high]:
                break
            low, window = high, 2 * window
        # Bisect the window that differs: the first difference lies in [low, high).
        while high - low > 1:
            middle = (low + high) // 2
            if mine[low:middle] == theirs[low:middle]:
                low = middle
            else:
                high = middle
        return low // page_size * page_size
