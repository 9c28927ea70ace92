"""Loops for ever while it is imported.

lint: TIMEOUT
wall: TIMEOUT
defends: P6 P8
"""

while True:
    pass
