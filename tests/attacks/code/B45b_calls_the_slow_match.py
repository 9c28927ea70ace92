"""Compares token by token: right lengths at the wrong cost.

lint: FAIL
wall: FAIL or TIMEOUT
defends: P12
says: the loop over the tokens|no answer within
lab: l21
"""


def _hole(mine, theirs):
    low = 0
    while low < min(len(mine), len(theirs)) and mine[low] == theirs[low]:
        low += 1
    return low
