"""Equal tokens of two tenants compare as equal, and one answers with the other's KV."""


class RadixKey:
    def match(self, other: RadixKey, page_size: int = 1) -> int:
        mine, theirs = self.token_ids, other.token_ids
        # All tokens below `low` agree, and fewer than `high` do: bisect, comparing only what is still open.
        low, high = 0, min(len(mine), len(theirs)) + 1
        while high - low > 1:
            middle = (low + high) // 2
            if mine[low:middle] == theirs[low:middle]:
                low = middle
            else:
                high = middle
        return low // page_size * page_size
