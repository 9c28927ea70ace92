"""The machine's lock: probes share it, the clock has it alone and is not kept waiting by probes that overlap."""

import threading

from grading.judge.stopwatch import machine_lock


def test_the_clock_comes_before_probes_that_asked_later(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    order: list[str] = []
    running, leave = threading.Event(), threading.Event()

    def probe(name: str, wait: bool = False) -> None:
        with machine_lock(exclusive=False):
            order.append(name)
            running.set()
            if wait:
                leave.wait(10)

    def clock() -> None:
        with machine_lock(exclusive=True):
            order.append("clock")

    first = threading.Thread(target=probe, args=("first", True))
    first.start()
    running.wait(10)
    probe("beside it")
    waiting = threading.Thread(target=clock)
    waiting.start()
    late = threading.Thread(target=probe, args=("late",))
    while not _gate_is_shut(tmp_path):
        pass
    late.start()
    leave.set()
    for thread in (first, waiting, late):
        thread.join(10)
    assert order == ["first", "beside it", "clock", "late"]


def _gate_is_shut(folder) -> bool:
    import fcntl
    import os

    with (folder / f"labs-gate-{os.getuid()}").open("r+") as gate:
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
