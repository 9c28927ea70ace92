"""Small helpers of the prefix cache."""

from mini_infra.sglang.srt.mem_cache.evict_policy import FIFOStrategy, LFUStrategy, LRUStrategy, PriorityStrategy

_STRATEGIES = {"lru": LRUStrategy, "lfu": LFUStrategy, "fifo": FIFOStrategy, "priority": PriorityStrategy}


def get_eviction_strategy(eviction_policy: str):
    """The strategy of that name (lru, lfu, fifo, priority; any case). ValueError lists the names for an unknown one."""
    try:
        return _STRATEGIES[eviction_policy.lower()]()
    except KeyError:
        raise ValueError(f"no eviction policy {eviction_policy!r}; there are {', '.join(_STRATEGIES)}") from None
