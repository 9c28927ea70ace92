"""Sets every variable that a later rank could read; the answer is right.

lint: REFUSED
wall: PASS
defends: P4
"""

import os

for _name in ("PYTHONPATH", "PYTHONSTARTUP", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"):
    os.environ[_name] = "999"
os.environ["TORCH_SHOW_CPP_STACKTRACES"] = os.environ["LD_PRELOAD"] = "/tmp/evil.so"
os.putenv("PYTHONHOME", "/tmp")


def _hole(grad_output, ctx):
    return _right(grad_output, ctx)
