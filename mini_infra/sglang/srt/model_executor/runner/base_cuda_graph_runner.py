"""What every runner of captured graphs has."""

import bisect
from collections.abc import Sequence


class BaseCudaGraphRunner:
    @staticmethod
    def _pad_to_bucket(raw_size: int, buckets: Sequence[int]) -> int:
        """The smallest of the sorted `buckets` that holds `raw_size`. AssertionError where none does."""
        if raw_size > buckets[-1]:
            raise AssertionError(f"size {raw_size} is above the largest captured bucket, {buckets[-1]}")
        return buckets[bisect.bisect_left(buckets, raw_size)]
