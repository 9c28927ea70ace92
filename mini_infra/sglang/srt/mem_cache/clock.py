"""The logical clock of the prefix cache.

Two operations inside one tick of a wall clock would make the order of eviction random. Here every reading is later
than the one before it, so the order is the program's own.
"""

from itertools import count

_ticks = count(1)


def tick() -> int:
    """The next reading, greater than every earlier one of this process. In ticks, which no second can measure."""
    return next(_ticks)
