"""`make demo`: a hub in a temporary folder, a learner's clone of lab/l05, five real pushes, five verdicts.

Where the pinned Megatron is fetched, the last push is held against it too. Each verdict is compared with the one that
the push deserves, so this is a test as well: exit code 1 when one differs.
"""

import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import git
from demo_pushes import Push, pushes
from rich.console import Console
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from grading.course import cache, snapshots, trees
from grading.course.catalog import Course
from grading.delivery import hub, records
from grading.sandbox import jail

ROOT = Path(__file__).resolve().parents[1]
LAB = "l05"
WIDTH = 100
LEARNER = {"NAME": "Ada", "EMAIL": "ada@example.org"}
PROGRESS = re.compile(r" *(\d+)/(\d+) (passed|failed|timeout|not_run) ")
VERDICT = {"PASS": "bold green", "FAIL": "bold red", "TIMEOUT": "bold yellow", "REFUSED": "bold red"}
HEADINGS = r"^ *(This looks like a known mistake|Hint \d of \d .*|Oral exam: .*)$"


class Row(NamedTuple):
    """One line of the summary. `wrong`: what the demo did not expect, "" when all is as it should be."""

    name: str
    verdict: str
    seconds: float
    shows: str
    wrong: str


class Demo:
    """The stage: the course, a hub and a clone in `folder`, and the console that the audience sees."""

    def __init__(self, console: Console, folder: Path):
        self.console, self.folder = console, folder
        self.course = Course.load(ROOT)
        self.lab = self.course.lab(LAB)
        self.jail = jail.status()
        self.clone = folder / LAB

    def set_up(self) -> None:
        """A hub with the lab branches and Ada's clone of one of them."""
        heading(
            self.console,
            "Mainline",
            "One lab, five pushes. A lab is a branch, an answer is a push, the teacher is what it prints.",
        )
        published = hub.init(self.folder / "hub.git", ROOT, jailed=self.jail.ok)
        self.command("labs hub init hub.git", f"{len(published)} lab branches; hidden tests stay outside")
        self.git("clone", "--quiet", "-o", "hub", "-b", self.lab.branch, self.folder / "hub.git", self.clone)
        holes = f"{len(self.lab.holes)} holes to fill in {len(self.lab.editable_paths)} files"
        self.command(f"git clone -o hub -b {self.lab.branch} hub.git {LAB}", holes)
        self.console.print()
        self.console.print(self._protection())

    @functools.cached_property
    def has_upstream(self) -> bool:
        """Whether the releases that the lab's Mainline seal needs are in the cache."""
        names = [seal.snapshot for seal in self.lab.seals.mainline]
        return all(cache.have(lock) for lock in snapshots.pick(ROOT, names))

    def hold(self) -> Row:
        """The Mainline grading of what lies in the clone, and what came of it."""
        heading(
            self.console,
            "Against the real one",
            "Megatron's own layers get the same inputs as Ada's, on 2 and 4 ranks.",
        )
        self.command(f"labs grade {LAB} --commit HEAD --seal mainline")
        labs = [sys.executable, "-m", "grading.cli.main", "grade", LAB, "--course", ROOT]
        whole = [*labs, "--commit", "HEAD", "--seal", "mainline", *([] if self.jail.ok else ["--no-jail"])]
        begun = time.monotonic()
        run = subprocess.run(whole, cwd=self.clone, stdout=subprocess.PIPE, text=True)
        for line in run.stdout.split("\n  Oral exam", 1)[0].strip("\n").split("\n"):  # the push has shown the exam
            self.console.print(_coloured(line), soft_wrap=True)
        verdict = run.stdout.split()[1] if run.stdout else "none"
        wrong = f"exit code {run.returncode}, not 0" if run.returncode else ""
        return Row("Megatron itself", verdict, time.monotonic() - begun, "what upstream's own layers answer", wrong)

    def _protection(self) -> Text:
        if self.jail.ok:
            return Text("The hidden tests stay in the judge; Ada's code runs in a bubblewrap jail without them.", "dim")
        fix = "" if self.jail.fix in self.jail.reason else f" To mend it: {self.jail.fix}."
        return Text(
            f"NO JAIL here ({self.jail.reason}).{fix} Until then graded code runs with your rights, your files and "
            "network open to it, and no verdict counts.",
            "yellow",
        )

    def play(self, number: int, push: Push) -> Row:
        """One push, and what came of it."""
        heading(self.console, f"{number} of 5 · {push.name}", push.story)
        self._patch(push)
        begun = time.monotonic()
        self.command(f"git push hub HEAD:refs/for/{self.lab.branch}")
        self._push()
        seconds = time.monotonic() - begun
        found = records.of_commit(git.Repo(self.folder / "hub.git"), self.git("rev-parse", "HEAD").strip())
        if not found:
            return Row(push.name, "none", seconds, push.shows, "the hub noted no verdict")
        wrong = push.miss(found[-1]) if found[-1].verdict == push.verdict else f"not {push.verdict}"
        if wrong:
            self.console.print(Text(f"This is not what the demo expects: {found[-1].verdict}, {wrong}.", "bold red"))
        return Row(push.name, found[-1].verdict, seconds, push.shows, wrong)

    def _patch(self, push: Push) -> None:
        """Commit the learner's patch, and show what it is."""
        tree = self._tree(push.patch)
        for path in self.lab.editable_paths:
            (self.clone / path).write_bytes(tree[path])
        self.git("commit", "--quiet", "--allow-empty", "--all", "--message", push.name)
        if code := _code(push.patch or ""):
            shown = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(code)
            self.console.print(*(Text("    ") + line if line else line for line in shown.split()), sep="\n")
        stat = self.git("diff", "--shortstat", f"hub/{self.lab.branch}", "HEAD").strip()
        self.console.print(Text(f"  {stat or 'nothing changed'}\n", "dim"))

    def _tree(self, patch: str | None) -> trees.Tree:
        whole = trees.reference_tree if patch == "" else functools.partial(trees.patched_tree, patch=patch)
        return whole(self.course, self.lab)

    def _push(self) -> None:
        """Push for real; print what comes back as a learner sees it, the line a test folded to one."""
        command = ["git", "push", "hub", f"HEAD:refs/for/{self.lab.branch}"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        with self._waiting() as told, subprocess.Popen(command, cwd=self.clone, text=True, **pipes) as process:
            for line in process.stderr:
                if line.startswith(("remote:", "error:", "fatal:", " !")):
                    self._line(line.rstrip().removeprefix("remote:").removeprefix(" "), told)

    def _line(self, line: str, told: Callable[[str], None]) -> None:
        progress = PROGRESS.match(line)
        if progress:
            told(line)
            if progress[1] != "1" and progress[1] != progress[2]:
                return
        self._remote(line)
        if progress and progress[1] == "1":
            self._remote("       ⋮")

    def _remote(self, line: str) -> None:
        self.console.print(Text.assemble(("remote: ", "dim"), _coloured(line)), soft_wrap=True)

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[Callable[[str], None]]:
        """On a terminal the latest test's line while the push runs; nothing elsewhere."""
        if not self.console.is_terminal:
            yield lambda line: None
            return
        with self.console.status("grading …") as status:
            yield lambda line: status.update(Text(line.strip()[: self.console.width - 4]))

    def command(self, line: str, what: str = "") -> None:
        self.console.print(
            Text.assemble("  ", (f"$ {line}", "bold"), (f"   {what}" if what else "", "dim")), soft_wrap=True
        )

    def git(self, *arguments: str | Path) -> str:
        folder = self.clone if self.clone.exists() else self.folder
        return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def _coloured(line: str) -> Text:
    text = Text(line)
    for word, style in VERDICT.items():
        text.highlight_regex(rf"^\S {word}\b", style)
    text.highlight_regex(r"^ *\$ .*?(?=  )", "bold")
    text.highlight_regex(r"\S+\.py:\d+", "cyan")
    text.highlight_regex(HEADINGS, "bold")
    return text


def _code(patch: str) -> str:
    """A patch without the docstring of a mistake and without the line that names its file."""
    return re.sub(r'\A""".*?"""|^# file: [^\n]*$', "", patch, flags=re.MULTILINE | re.DOTALL).strip("\n")


def heading(console: Console, title: str, sentence: str) -> None:
    width = min(WIDTH, console.width)
    console.print()
    console.print(Rule(Text(title, "bold"), align="left", style="blue"), width=width)
    console.print(Text(sentence), width=width)


def summary(rows: list[Row]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
    for row in rows:
        sign = Text("✗", "red") if row.wrong else Text("✓", "green")
        what = Text(row.wrong, "red") if row.wrong else Text(row.shows, "dim")
        table.add_row(sign, row.name, Text(row.verdict, VERDICT.get(row.verdict, "")), f"{row.seconds:.1f} s", what)
    return table


def first_steps(lab: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
    for command, what in [
        ("source .venv/bin/activate", ""),
        (f"labs start {lab}", f"makes ../{lab}: go there, read README.md, fill the holes"),
        ("labs test", "the public tests, in there, as often as you like"),
        (f"git commit -am {lab} && labs submit", "the hidden tests, and a verdict like those above"),
    ]:
        table.add_row(Text(f"  $ {command}", "bold"), Text(what, "dim"))
    return table


def be_ada() -> None:
    """The user's git configuration, identity and surroundings (a hook's GIT_DIR) do not matter here."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    for role in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{role}_{key}": value for key, value in LEARNER.items()}
    os.environ |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def main() -> int:
    """0 when each verdict is the expected one, else 1. Nothing temporary is left, also when it is stopped."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    be_ada()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        results = play_all(console)
    except KeyboardInterrupt:
        return 130
    except subprocess.CalledProcessError as error:
        console.print(Text(f"git failed: {error.stderr.strip()}", "bold red"))
        return 1
    console.print(summary(results))
    if any(row.wrong for row in results):
        return 1
    heading(console, "Your turn", "The lab is yours in three commands, once this shell finds `labs`:")
    console.print(first_steps(LAB))
    return 0


def play_all(console: Console) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="mainline-demo-") as folder:
        demo = Demo(console, Path(folder))
        demo.set_up()
        rows = [demo.play(number, one) for number, one in enumerate(pushes(demo.lab), 1)]
        if demo.has_upstream:
            rows.append(demo.hold())
        heading(console, "What became of it", f"Five pushes, {sum(row.seconds for row in rows):.0f} s of grading.")
    return rows


if __name__ == "__main__":
    sys.exit(main())
