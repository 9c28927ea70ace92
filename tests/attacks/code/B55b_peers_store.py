"""Connects to the world's store by its port and fills it with nonsense; the next world has its own.

lint: REFUSED
wall: PASS or FAIL or TIMEOUT
defends: P12 P4
"""

import gc


def _hole(grad_output, ctx):
    part = _right(grad_output, ctx)
    for store in [thing for thing in gc.get_objects() if isinstance(thing, dist.TCPStore)]:
        mine = dist.TCPStore("127.0.0.1", store.port, is_master=False, wait_for_workers=False)
        for name in ("init/", "0//cpu//0/0", "default_pg/0//cpu//rank_0", "store_based_barrier_key:0"):
            mine.set(name, b"\0" * 4096)
            mine.delete_key(name + "x")
    return part
