"""The hole raises SystemExit without naming sys.

lint: FAIL
wall: FAIL
defends: P9
says: SystemExit
"""


def _hole(grad_output, ctx):
    raise SystemExit
