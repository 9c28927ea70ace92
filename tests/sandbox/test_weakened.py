"""A doctor that always says "held" is worthless: each protection is taken away in turn, and its check must notice."""

import os

import pytest

from grading.sandbox import doctor, jail, protections, trial
from grading.sandbox.jail import JailStatus
from grading.sandbox.trial import Trial

STATUS = jail.status()
pytestmark = pytest.mark.skipif(not STATUS.ok, reason=f"no jail here: {STATUS.reason} ({STATUS.fix})")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def without(*options: str):
    """A jail whose bwrap does not get these options."""
    return lambda args: [arg for arg in args if arg not in options]


def with_more(*options: str):
    """Binds, made after everything but the last: root and /dev read-only, and the folder to start in."""
    return lambda args: [*args[:-6], *options, *args[-6:]]


def open_network(args: list[str]) -> list[str]:
    return without("--unshare-net")(args)


def writable_lab(args: list[str]) -> list[str]:
    at = args.index("/lab") - 2
    return [*args[:at], "--bind", *args[at + 1 :]]


def roomy_disk(args: list[str]) -> list[str]:
    return [str(64 << 20) if args[at - 1] == "--size" else arg for at, arg in enumerate(args)]


ARGUMENTS = {
    "network": open_network,
    "hidden tests": with_more("--ro-bind", "/tmp", "/tmp", "--ro-bind", ROOT, ROOT),
    "host files": with_more("--ro-bind", "/etc", "/etc"),
    "writing outside": writable_lab,
    "disk": roomy_disk,
}


def check(name: str) -> protections.Outcome:
    memory = protections.BOMB_MEMORY_MB if name == "memory bomb" else 512
    attempt = {"memory bomb": protections._memory_bomb, "surviving child": protections._survivor}
    with Trial(memory_mb=memory) as tried:
        tried.tree.chmod(0o777)
        return protections._outcome(name, attempt.get(name) or protections.ATTEMPTS[name], tried)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_bind_or_namespace_that_is_missing_is_noticed(monkeypatch, name):
    assert check(name).held
    whole = jail.arguments
    monkeypatch.setattr(jail, "arguments", lambda spec: ARGUMENTS[name](whole(spec)))
    found = check(name)
    assert (found.held, bool(found.fix)) == (False, True), found.detail


def test_an_environment_that_is_handed_down_is_noticed(monkeypatch):
    monkeypatch.setenv(protections.CANARY, protections.CANARY)
    assert check("environment").held
    whole, popen = jail.arguments, jail._popen
    monkeypatch.setattr(jail, "arguments", lambda spec: without("--clearenv")(whole(spec)))
    monkeypatch.setattr(jail, "_popen", lambda command, env, *more: popen(command, {**os.environ}, *more))
    assert not check("environment").held


def test_a_zygote_that_stays_dumpable_is_noticed(monkeypatch):
    again = "confine(**json.loads(lines.readline()))\nimport ctypes; ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)"
    monkeypatch.setattr(trial, "PROGRAM", trial.PROGRAM.replace("confine(**json.loads(lines.readline()))", again))
    found = check("zygote")
    assert not found.held
    assert "mem" in found.detail


def test_a_zygote_that_keeps_its_rights_is_noticed(monkeypatch):
    kept = "json.loads(lines.readline())"
    monkeypatch.setattr(trial, "PROGRAM", trial.PROGRAM.replace("confine(**json.loads(lines.readline()))", kept))
    assert not check("rights").held


def test_forks_without_a_limit_are_noticed(monkeypatch):
    monkeypatch.setattr(jail, "make_group", lambda *_: None)
    limits = jail.rlimits
    monkeypatch.setattr(jail, "rlimits", lambda spec: {k: v for k, v in limits(spec).items() if k != "nproc"})
    found = check("fork bomb")
    assert (found.held, found.detail) == (False, "stopped after 1000 forks")


def test_memory_without_a_group_is_noticed(monkeypatch):
    monkeypatch.setattr(jail, "make_group", lambda *_: None)
    found = check("memory bomb")
    assert (found.held, found.fix) == (False, protections.NEEDS_GROUP)


def test_without_a_jail_nothing_but_the_deadline_is_said_to_hold(monkeypatch):
    """Tried with a plain process: the judge stands open to it, and a daemon outlives it."""
    missing = JailStatus(False, "", "bubblewrap is not installed", "apt-get install bubblewrap")
    monkeypatch.setattr(doctor.jail, "status", lambda: missing)
    checks = {one.name.removeprefix("no jail: "): one for one in doctor._jail()}
    held = {name for name, one in checks.items() if one.held}
    assert held - {"environment"} == {"deadline"}  # root without capabilities does not read what root with them has
    tried = [checks[name].detail for name in ("network", "hidden tests", "judge", "surviving child")]
    assert tried[0].startswith("reached [")
    assert tried[1].startswith("reads [")
    assert "signals it" in tried[2]
    assert tried[3] == "a process outlived the grading"
    assert all(one.fix for one in checks.values() if one.held is False)


def test_labs_grade_refuses_without_a_jail_in_one_line(monkeypatch, tiny, capsys):
    from grading.cli import main

    missing = JailStatus(False, "", "bubblewrap is not installed", "apt-get install bubblewrap")
    monkeypatch.setattr(jail, "status", lambda: missing)
    argv = ["labs", "grade", "l01", "--impl", "reference", "--course", str(tiny.root)]
    monkeypatch.setattr("sys.argv", argv)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 3
    said = capsys.readouterr()
    assert "no jail on this machine: bubblewrap is not installed" in " ".join((said.out + said.err).split())
    assert "PASS" not in said.out
