import json
import subprocess
import sys

import pytest

from grading.cli.main import app
from grading.delivery import local

COMMANDS = ["adopt", "check", "doctor", "exam", "grade", "graft", "hint", "hub", "list", "new", "progress", "publish"]
COMMANDS += ["release", "show", "snapshots", "solution", "start", "submit", "test", "watch"]
SNAPSHOTS = ["diff", "drift", "fetch", "list", "verify"]


def test_every_command_has_help_with_an_example(labs):
    assert (
        sorted([one.name or one.callback.__name__ for one in app.registered_commands] + ["hub", "snapshots"])
        == COMMANDS
    )
    for command in [*COMMANDS, "hub init", "hub log", *(f"snapshots {one}" for one in SNAPSHOTS)]:
        said = labs(*command.split(), "--help")
        assert said.code == 0
        assert "Example: labs" in " ".join(said.out.split())


def test_help_and_list_load_nothing_heavy(tiny):
    code = (
        "import sys\nfrom grading.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('torch', 'git', 'numpy', 'pytest') if name in sys.modules], file=sys.stderr)\n"
    )
    for arguments in (["--help"], ["list", "--course", str(tiny.root)]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
        assert done.stderr == "[]\n"


def test_errors_of_the_user_are_one_line_and_4(labs, tmp_path, tiny):
    for arguments, says in [
        (["nonsense"], "No such command 'nonsense'."),
        (["show", "l99", "--course", tiny.root], "no lab l99 in this course; it has l01, l02"),
        (["show", "--course", tiny.root], "which lab? this is no lab's work tree"),
        (["list"], "no course here"),
        (["start", "l01", "--course", tiny.root], "is in no Git repository"),
        (["grade", "--course", tiny.root], "name one lab, or say --all"),
        (["grade", "l01", "--course", tiny.root], "say what to grade"),
        (["grade", "l01", "--impl", "mistake:x", "--course", tiny.root], "with offset, seven"),
        (["publish", "--to", "nowhere", "--course", tiny.root], "no repository, URL or remote"),
        (["hub", "log", "."], "is no working hub"),
        (["hint", "--lab"], "requires an argument"),
    ]:
        said = labs(*arguments, folder=tmp_path)
        assert said.code == 4, arguments
        assert said.out == ""
        assert said.err.startswith("labs: ")
        assert says in said.err
        assert said.err.count("\n") == 1
    (tiny.root / "challenges/course.yaml").write_text("title: x\nordr: []\n")
    assert "challenges/course.yaml:2: unknown key 'ordr' (did you mean 'order'?)" in labs("list", folder=tiny.root).err


def test_no_arguments_is_the_help(labs):
    said = labs()
    assert said.code == 4
    assert "Usage: labs" in said.out


def test_list_show_and_progress(labs, clone):
    with local.updating(clone / ".git", "l01") as state:
        state.seals["patch"] = local.now()
    said = labs("list", folder=clone)
    assert said.code == 0
    assert "To double" in said.out
    assert "\x1b" not in said.out
    listed = json.loads(labs("list", "--json", folder=clone).out)
    assert [(lab["id"], lab["seals"], lab["open"]) for lab in listed] == [("l01", ["patch"], False), ("l02", [], True)]
    assert "To double" in labs("show", "l01", folder=clone).out
    assert json.loads(labs("show", "l01", "--json", folder=clone).out)["branch"] == "lab/l01"
    assert "1 of 2 labs have the Patch seal" in labs("progress", folder=clone).out
    assert json.loads(labs("progress", "--json", folder=clone).out)["l01"]["seals"].keys() == {"patch"}


def test_a_damaged_state_is_set_aside(labs, clone):
    (clone / ".git/labs").mkdir()
    (clone / ".git/labs/state.json").write_text('{"l01": {"attempts": 3')
    assert labs("list", folder=clone).code == 0
    assert (clone / ".git/labs/state.broken").exists()
    assert local.load_here(clone) == {}


def test_publish_and_hub_print_what_branches_show(labs, clone, tmp_path, git):
    git(tmp_path, "init", "-q", "--bare", "bare")
    said = labs("publish", "--to", tmp_path / "bare", folder=clone)
    assert said.code == 0
    assert "mini_infra/tiny/ops.py::double" in said.out
    again = json.loads(labs("publish", "l01", "--to", tmp_path / "bare", "--json", folder=clone).out)
    assert [(one["lab"], one["changed"]) for one in again] == [("l01", False)]
    said = labs("hub", "init", tmp_path / "hub.git", "--no-jail", folder=clone)
    assert said.code == 0
    assert json.loads((tmp_path / "hub.git/labs.json").read_text())["jailed"] is False
    assert json.loads(labs("hub", "log", tmp_path / "hub.git", "--json").out) == []


@pytest.mark.parametrize(("held", "code"), [(True, 0), (None, 0), (False, 1)])
def test_doctor_says_what_is_missing_and_the_fix(labs, tmp_path, monkeypatch, held, code):
    from grading.sandbox import doctor

    monkeypatch.setattr(doctor, "run_checks", lambda course: [doctor.Check("jail", held, "bwrap", "install it")])
    said = labs("doctor", folder=tmp_path)
    assert said.code == code
    assert ("install it" in said.out) == (held is not True)
    assert json.loads(labs("doctor", "--json", folder=tmp_path).out)[0]["name"] == "jail"


def test_progress_writes_the_map_as_a_page(labs, clone, tmp_path):
    page = tmp_path / "map.html"
    assert f"{page} has the map of 2 labs" in labs("progress", "--html", page, folder=clone).out
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    missing = labs("progress", "--html", tmp_path / "no" / "map.html", folder=clone)
    assert (missing.code, missing.err.count("\n")) == (4, 1)
    assert f"cannot write {tmp_path / 'no' / 'map.html'}: No such file or directory" in missing.err
