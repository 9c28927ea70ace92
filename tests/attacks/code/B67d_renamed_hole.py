"""Has the hole under another name.

lint: FAIL
wall: FAIL
defends: P9
says: NameError
"""

_GatherFromSequenceParallelRegionV2 = _GatherFromSequenceParallelRegion
del _GatherFromSequenceParallelRegion
