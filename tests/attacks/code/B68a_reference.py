"""Control: the reference, and nothing else.

lint: PASS
wall: PASS
defends: P9
"""

# nothing
