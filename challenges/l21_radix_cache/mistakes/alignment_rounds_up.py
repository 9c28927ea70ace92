"""A partial page was promised to be there. Only whole pages that agree count."""


class RadixKey:
    def match(self, other: RadixKey, page_size: int = 1) -> int:
        if self.extra_key != other.extra_key:
            raise ValueError(f"keys of different namespaces do not compare: {self.extra_key!r}, {other.extra_key!r}")
        mine, theirs = self.token_ids, other.token_ids
        # All tokens below `low` agree, and fewer than `high` do: bisect, comparing only what is still open.
        low, high = 0, min(len(mine), len(theirs)) + 1
        while high - low > 1:
            middle = (low + high) // 2
            if mine[low:middle] == theirs[low:middle]:
                low = middle
            else:
                high = middle
        return -(-low // page_size) * page_size
