"""A world of real ranks in a real jail: each way to answer badly ends in data, and the next world is clean."""

import os
import time
from pathlib import Path

import pytest
import torch

from grading.course.models import Limits
from grading.judge.events import claimed_nbytes, events_of
from grading.judge.rank import signal_name
from grading.judge.sandbox import Sandbox
from grading.judge.stacks import read_stack
from grading.judge.world import Request
from grading.sandbox import jail

PROBES = '''
import json, os, socket, sys, time, torch
import torch.distributed as dist

def total(x):
    dist.all_reduce(x)
    return {"sum": x, "rank": dist.get_rank()}

def record(x, lab_record):
    with lab_record.phase("backward"), lab_record.ops() as ops:
        work = dist.all_reduce(x, async_op=True)
        y = x @ x.T
        work.wait()
    full = torch.empty(2 * x.numel())
    dist.all_gather_single(full, x.flatten())
    dist.all_gather_into_tensor(full, x.flatten())
    return ops.names

def old_name(x):
    full = torch.empty(2 * x.numel())
    dist.all_gather_into_tensor(full, x.flatten(), async_op=True).wait()

def one_hangs(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    return x

def one_raises(x):
    if dist.get_rank() == 0:
        raise ValueError("rank 0 does not like it")
    dist.all_reduce(x)

def both_raise(x):
    raise KeyError("both")

def leave(code):
    os._exit(code)

def segfault():
    import ctypes
    ctypes.string_at(0)

def shout():
    print("x" * 10_000_000, flush=True)
    return 1

def handle(x):
    return dist.all_reduce(x, async_op=True)

def descriptor():
    """The rank's own end of the answer channel."""
    for fd in range(3, 64):
        try:
            socket.socket(fileno=os.dup(fd)).getpeername()
            return fd
        except OSError:
            pass

def forge(times, data=None):
    from grading.sandbox.wire import encode
    fd = descriptor()
    for _ in range(times):
        os.write(fd, data.encode() if data else encode({"id": 999, "value": 1}))
    os._exit(0)

def twice():
    from grading.sandbox.wire import encode
    request = sys._getframe(1).f_locals["request"]
    os.write(descriptor(), encode({"id": request["id"], "value": 1}) * 2)
    return 3

def leave_child():
    if os.fork() == 0:
        time.sleep(600)
    return os.getpid()

def alive(pid):
    return os.path.exists(f"/proc/{pid}")

def write(name):
    os.mkdir("/tmp/" + name)
    return sorted(os.listdir("/tmp"))

def touch(folder, text=None):
    if text is not None:
        with open(folder + "/note", "w") as note:
            note.write(text)
        os.symlink("/etc/passwd", folder + "/link")
        os.mkfifo(folder + "/pipe")
    return sorted(os.listdir(folder))

def spin(n):
    while True:
        n += 1

def timed(x, lab_scalar):
    return float((x + lab_scalar).sum())

def timed_once(end, lab_scalar):
    if lab_scalar:
        os._exit(3) if end == "dies" else [][0]
    return 1.0

def environment():
    return [os.environ.get("LAB_X"), len(sys.argv)]

def ranks(lab_rank, lab_world, lab_store):
    lab_store.set(f"r{lab_rank}", str(lab_rank))
    return [lab_world, lab_store.get(f"r{1 - lab_rank}").decode(), dist.is_initialized()]

def saved(x, lab_record):
    w = torch.ones(4, 4, requires_grad=True)
    with lab_record.saved() as log:
        (x.requires_grad_() @ w).exp().sum()
    return [log.numel, log.nbytes]
'''


def make_sandbox(folder: Path, files: bool = False, probe_s: float = 1.0) -> Sandbox:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "probes.py").write_text(PROBES)
    folder.chmod(0o755)
    engine = Path(jail.__file__).parents[1]
    spec = jail.JailSpec(folder, engine, [], Limits(probe_s=probe_s, memory_mb=2048), files)
    return Sandbox(spec, [], jailed=jail.status().ok)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    made = make_sandbox(tmp_path_factory.mktemp("tree"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def with_files(tmp_path_factory):
    made = make_sandbox(tmp_path_factory.mktemp("tree"), files=True)
    yield made
    made.close()


def ask(sandbox, probe, ranks=1, cases=None, **options):
    given = [[case] * ranks for case in (cases or [{}])]
    return sandbox.ask(Request(probe, ranks, given, **options))


def x():
    return {"x": torch.ones(2, 3)}


def test_ranks_reduce_over_gloo_and_answer_case_by_case(sandbox):
    outcome = ask(sandbox, "total", 2, [{"x": torch.full((2,), float(k))} for k in range(3)])
    for rank in outcome.ranks:
        values = [answer.value for answer in rank.answers]
        assert [value["rank"] for value in values] == [rank.number] * 3
        assert [value["sum"].tolist() for value in values] == [[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]]


def test_events_are_canonical_in_order_and_never_nested(sandbox):
    outcome = ask(sandbox, "record", 2, [x()])
    events = events_of(outcome.ranks[1])
    assert [(event.kind, event.op, event.numel) for event in events if event.op != "empty"] == [
        ("post", "all_reduce", 6),
        ("op", "permute", 6),
        ("op", "mm", 4),
        ("wait", "all_reduce", 6),
        ("post", "all_gather", 6),
        ("post", "all_gather", 6),
    ]
    assert [event.phase for event in events][:4] == ["backward"] * 4
    assert events[0].async_op
    assert events[0].group == (0, 1)
    assert (events[0].file, events[0].dtype) == ("probes.py", "float32")
    assert outcome.ranks[0].answers[0].value == ["permute", "mm"]


def test_an_old_name_waits_once(sandbox):
    events = events_of(ask(sandbox, "old_name", 2, [x()]).ranks[0])
    assert [(event.kind, event.op) for event in events] == [("post", "all_gather"), ("wait", "all_gather")]


@pytest.mark.skipif(not jail.status().ok, reason="counters are the jail's")
@pytest.mark.parametrize("ranks", [2, 4])
def test_claimed_bytes_are_the_bytes_on_the_wire(sandbox, ranks):
    outcome = ask(sandbox, "total", ranks, [{"x": torch.ones(1 << 19)}])
    claimed = claimed_nbytes([events_of(rank) for rank in outcome.ranks])
    assert claimed == 2 * (ranks - 1) * 4 * (1 << 19)
    assert claimed <= outcome.wire_nbytes <= 1.2 * claimed + (64 << 10)


def test_deadlock_names_each_rank(sandbox):
    outcome = ask(sandbox, "one_hangs", 2, [x()])
    assert outcome.timeout
    says = [read_stack(rank, sandbox.tree, Path("/")).says for rank in outcome.ranks]
    line = PROBES[: PROBES.index("def one_hangs")].count("\n") + 3
    assert says == [f"rank 0 waits for all_reduce at probes.py:{line}", "rank 1 has left the function"]


def test_an_error_of_one_rank_does_not_wait_for_the_deadline(sandbox):
    outcome = ask(sandbox, "one_raises", 2, [x()])
    assert not outcome.timeout
    error = outcome.ranks[0].answers[0].error
    assert (error["type"], error["message"]) == ("ValueError", "rank 0 does not like it")
    assert error["frames"][-1]["function"] == "one_raises"
    assert not outcome.ranks[1].answers[0].arrived


def test_errors_that_were_asked_for_leave_the_world_going(sandbox):
    outcome = ask(sandbox, "both_raise", 2, [x(), x()], errors=True)
    assert [len(rank.answers) for rank in outcome.ranks] == [2, 2]
    assert outcome.ranks[1].answers[1].error["bases"][:2] == ["KeyError", "LookupError"]


@pytest.mark.parametrize(
    ("probe", "inputs", "end"), [("leave", {"code": 0}, "exit status 0"), ("segfault", {}, "SIGSEGV")]
)
def test_an_end_without_an_answer_is_no_answer(sandbox, probe, inputs, end):
    rank = ask(sandbox, probe, 1, [inputs]).ranks[0]
    assert not rank.answers[0].arrived
    assert signal_name(rank.exit_code) == end


def test_a_flood_of_output_neither_blocks_nor_counts(sandbox):
    rank = ask(sandbox, "shout").ranks[0]
    assert rank.answers[0].value == 1
    assert len(rank.output) == 64 << 10


def test_a_handle_is_no_answer(sandbox):
    rank = ask(sandbox, "handle", 2, [x()]).ranks[0]
    assert "RecordedWork" in rank.answers[0].refused


@pytest.mark.parametrize(
    ("probe", "inputs", "words"),
    [
        ("forge", {"times": 1}, "belongs to no request"),
        ("forge", {"times": 100_000}, "belongs to no request"),
        ("forge", {"times": 1, "data": "no frame at all"}, "bytes outside a frame"),
        ("twice", {}, "twice"),
    ],
)
def test_forged_bytes_are_tampering(sandbox, probe, inputs, words):
    assert words in ask(sandbox, probe, 1, [inputs]).tamper


def test_half_a_frame_is_no_answer(sandbox):
    outcome = ask(sandbox, "forge", 1, [{"times": 1, "data": "LABF"}])
    assert not outcome.ranks[0].answers[0].arrived


@pytest.mark.skipif(not jail.status().ok, reason="without a jail a child in a session of its own can escape")
def test_a_child_does_not_outlive_its_probe(sandbox):
    pid = ask(sandbox, "leave_child").ranks[0].answers[0].value
    assert ask(sandbox, "alive", 1, [{"pid": pid + 1}]).ranks[0].answers[0].value is False


def test_an_endless_loop_ends_at_the_deadline(sandbox):
    begun = time.monotonic()
    outcome = ask(sandbox, "spin", 1, [{"n": 0}])
    assert outcome.timeout
    assert time.monotonic() - begun < 1.0 + 2.0
    assert read_stack(outcome.ranks[0], sandbox.tree, Path("/")).frames[-1].function == "spin"


def test_what_one_probe_writes_the_next_does_not_find(with_files):
    assert ask(with_files, "write", 1, [{"name": "a"}]).ranks[0].answers[0].value == ["a"]
    assert ask(with_files, "write", 1, [{"name": "b"}]).ranks[0].answers[0].value == ["b"]


def test_a_kept_folder_lasts_and_gives_up_plain_files_only(with_files):
    folder = with_files.keep_folder()
    ask(with_files, "touch", 1, [{"folder": folder, "text": "hello"}])
    again = ask(with_files, "touch", 1, [{"folder": folder}]).ranks[0].answers[0].value
    assert again == ["link", "note", "pipe"]
    assert with_files.collect(folder) == {"note": b"hello"}
    with_files.drop_folder(folder)


def test_without_files_a_rank_cannot_write(sandbox):
    folder = sandbox.keep_folder()
    error = ask(sandbox, "touch", 1, [{"folder": folder, "text": "hello"}]).ranks[0].answers[0].error
    assert error["type"] == "OSError"
    sandbox.drop_folder(folder)


def test_timed_repetitions_carry_fresh_scalars(sandbox):
    sandbox.wait_ready()
    deadline = time.monotonic() + 10
    with sandbox.timed(Request("timed", 1, [[{}]], timed=True)) as world:
        assert world.start({"x": torch.zeros(4)}, deadline)
        digests = [world.repeat(scalar, deadline)[1] for scalar in (0.5, 2.0)]
    assert digests == [2.0, 8.0]


@pytest.mark.parametrize("end", ["dies", "raises"])
def test_a_timed_call_that_fails_is_a_failure_and_no_tampering(sandbox, end):
    sandbox.wait_ready()
    deadline = time.monotonic() + 10
    with sandbox.timed(Request("timed_once", 1, [[{}]], timed=True)) as world:
        assert world.start({"end": end}, deadline)
        assert world.repeat(1.0, deadline) is None
        assert world.failed
    assert (world.rank.tamper, world.rank.closed) == ("", end == "dies")
    assert (world.rank.answers[-1].error or {}).get("type") == (None if end == "dies" else "IndexError")


def test_every_signal_has_a_name():
    assert [signal_name(code) for code in (-9, -40, 3, 0)] == ["SIGKILL", "signal 40", "exit status 3", "exit status 0"]


def test_a_fresh_interpreter_reads_its_environment(sandbox):
    outcome = ask(sandbox, "environment", 1, [{}], env={"LAB_X": "yes"})
    if outcome.timeout:
        pytest.skip("a fresh torch import outlasts this test's short deadline on a busy machine")
    assert outcome.ranks[0].answers[0].value[0] == "yes"


def test_without_a_group_a_probe_gets_the_store(sandbox):
    outcome = ask(sandbox, "ranks", 2, group=False)
    assert [rank.answers[0].value for rank in outcome.ranks] == [[2, "1", False], [2, "0", False]]


def test_saved_counts_each_tensor_once(sandbox):
    assert ask(sandbox, "saved", 1, [{"x": torch.ones(2, 4)}]).ranks[0].answers[0].value == [8 + 16 + 8, 4 * 32]


def test_nothing_is_left_open(sandbox):
    ask(sandbox, "total", 2, [x()])
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(3):
        ask(sandbox, "total", 2, [x()])
        ask(sandbox, "leave", 2, [{"code": 1}])
    assert len(os.listdir("/proc/self/fd")) == len(before)
