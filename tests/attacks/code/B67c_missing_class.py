"""Lacks a function that the lab's other files import.

lint: FAIL
wall: FAIL
defends: P9
says: ImportError|AttributeError
"""

del gather_from_sequence_parallel_region
