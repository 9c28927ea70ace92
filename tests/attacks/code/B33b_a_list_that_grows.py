"""A list that grows for ever.

lint: FAIL or TIMEOUT
wall: FAIL or TIMEOUT
defends: P6
says: allocate|over 1024 MB|no answer
"""


def _hole(grad_output, ctx):
    grown = []
    while True:
        grown.append(torch.ones(4 << 20, dtype=torch.float64))
