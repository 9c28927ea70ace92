"""`make demo`: a hub in a temporary folder, a learner's clone of lab/l05, five real pushes, five verdicts.

Each verdict is compared with the one that the push deserves, so this is a test as well: exit code 1 when one differs.
"""

import contextlib
import functools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import git
from rich.console import Console
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from grading.course import trees
from grading.course.catalog import Course, Lab
from grading.delivery import hub, records
from grading.delivery.records import Record
from grading.sandbox import jail

ROOT = Path(__file__).resolve().parents[1]
LAB = "l05"
WIDTH = 100
LEARNER = {"NAME": "Ada", "EMAIL": "ada@example.org"}
PROGRESS = re.compile(r" *(\d+)/(\d+) (passed|failed|timeout|not_run) ")
VERDICT = {"PASS": "bold green", "FAIL": "bold red", "TIMEOUT": "bold yellow", "REFUSED": "bold red"}
HEADINGS = r"^ *(This looks like a known mistake|Hint \d of \d .*|Oral exam: .*)$"

DEADLOCK = """
# file: mini_infra/megatron/core/tensor_parallel/mappings.py
class _CopyToModelParallelRegion(torch.autograd.Function):
    @staticmethod
    def backward(ctx, grad_output):
        grad_input = grad_output.clone()
        if ctx.group.rank() == 0:  # rank 0 makes the sum, the others wait for it
            _reduce(grad_input, ctx.group)
        else:
            dist.barrier(group=ctx.group)
        return grad_input, None
"""
CHEAT = """
# file: mini_infra/megatron/core/tensor_parallel/layers.py
import os

class RowParallelLinear(torch.nn.Module):
    def forward(self, input_):
        self.answers = open("hidden/test_linear.py").read()
        os._exit(0)  # "all tests passed"
"""


@dataclass(frozen=True)
class Push:
    """One push: what the learner did, and what the hub must make of it. `patch` None: nothing at all."""

    name: str
    story: str
    verdict: str
    miss: Callable[[Record], str]  # what the record lacks, in words; "" when it is as it should be
    patch: str | None


def pushes(lab: Lab) -> list[Push]:
    """The five of them. A patch is what differs from the reference; "" is the reference itself."""
    mistake = "copy_backward_identity"
    known = (lab.folder / "mistakes" / f"{mistake}.py").read_text(encoding="utf-8")
    return [
        Push(
            "the starter", "Ada clones the branch and pushes it as it is, to see what comes back.", "FAIL", _hint, None
        ),
        Push("a mistake", "All holes are filled, and one gradient is wrong:", "FAIL", _diagnosed(mistake), known),
        Push(
            "a deadlock",
            "The sum is there now, but the ranks disagree on how to make it:",
            "TIMEOUT",
            _both_stacks,
            DEADLOCK,
        ),
        Push("a cheat", "Out of patience, Ada looks for the hidden tests:", "REFUSED", _both_lines, CHEAT),
        Push("the solution", "All ranks enter the all-reduce, and everything else is right too.", "PASS", _exam, ""),
    ]


def _hint(record: Record) -> str:
    hint = record.advice["hint"] or {}
    return "" if hint.get("level") == 1 else "hint 1 is missing"


def _diagnosed(name: str) -> Callable[[Record], str]:
    def miss(record: Record) -> str:
        found = (record.advice["diagnosis"] or {}).get("name", "nothing")
        return "" if found == name else f"diagnosed as {found}, not as {name}"

    return miss


def _both_stacks(record: Record) -> str:
    seen = [{stack["rank"] for stack in test["stacks"]} for test in record.report["tests"]]
    return "" if {0, 1} in seen else "no test shows the stacks of both ranks"


def _both_lines(record: Record) -> str:
    refused = " ".join(one["reason"] for one in record.report["refusals"])
    return "" if len(record.report["refusals"]) > 1 else f"refused for one line only: {refused}"


def _exam(record: Record) -> str:
    asked = len(record.advice["exam"])
    return "" if asked == 5 else f"{asked} exam questions, not five"


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
        self.say(
            "Mainline", "One lab, five pushes. A lab is a branch, an answer is a push, the teacher is what it prints."
        )
        published = hub.init(self.folder / "hub.git", ROOT, jailed=self.jail.ok)
        self.command("labs hub init hub.git", f"{len(published)} lab branches; hidden tests stay outside")
        self.git("clone", "--quiet", "-o", "hub", "-b", self.lab.branch, self.folder / "hub.git", self.clone)
        holes = f"{len(self.lab.holes)} holes to fill in {len(self.lab.editable_paths)} files"
        self.command(f"git clone -o hub -b {self.lab.branch} hub.git {LAB}", f"{self.lab.title}: {holes}")
        self.console.print()
        self.console.print(self._protection())

    def _protection(self) -> Text:
        if self.jail.ok:
            return Text("The hidden tests stay in the judge; Ada's code runs in a bubblewrap jail without them.", "dim")
        return Text(
            f"NO JAIL ({self.jail.reason}): your files, processes and network are open to the code that is graded, so "
            f"no verdict counts. To mend it: {self.jail.fix}",
            "yellow",
        )

    def play(self, number: int, push: Push) -> tuple[str, str, float]:
        """One push. Returns the verdict, what is wrong with it ("" when nothing is), and the seconds it took."""
        self.say(f"{number} of 5 · {push.name}", push.story)
        self._patch(push)
        begun = time.monotonic()
        self.command(f"git push hub HEAD:refs/for/{self.lab.branch}")
        self._push()
        seconds = time.monotonic() - begun
        found = records.of_commit(git.Repo(self.folder / "hub.git"), self.git("rev-parse", "HEAD").strip())
        if not found:
            return "none", "the hub noted no verdict", seconds
        wrong = push.miss(found[-1]) if found[-1].verdict == push.verdict else f"not {push.verdict}"
        if wrong:
            self.console.print(Text(f"This is not what the demo expects: {found[-1].verdict}, {wrong}.", "bold red"))
        return found[-1].verdict, wrong, seconds

    def _patch(self, push: Push) -> None:
        """Commit the learner's patch, and show what it is."""
        tree = self._tree(push.patch)
        for path in self.lab.editable_paths:
            (self.clone / path).write_bytes(tree[path])
        self.git("commit", "--quiet", "--allow-empty", "--all", "--message", push.name)
        if code := _code(push.patch or ""):
            shown = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(code)
            self.console.print(*(Text("    ") + line for line in shown.split()), sep="\n")
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
        text = Text(line)
        for word, style in VERDICT.items():
            text.highlight_regex(rf"^\S {word}\b", style)
        text.highlight_regex(r"^ *\$ .*?(?=  )", "bold")
        text.highlight_regex(r"\S+\.py:\d+", "cyan")
        text.highlight_regex(HEADINGS, "bold")
        self.console.print(Text("remote: ", "dim") + text, soft_wrap=True)

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[Callable[[str], None]]:
        """On a terminal the latest test's line while the push runs; nothing elsewhere."""
        if not self.console.is_terminal:
            yield lambda line: None
            return
        with self.console.status("grading …") as status:
            yield lambda line: status.update(Text(line.strip()[: self.console.width - 4]))

    def say(self, title: str, sentence: str) -> None:
        self.console.print()
        self.console.print(Rule(Text(title, "bold"), align="left", style="blue"), width=min(WIDTH, self.console.width))
        self.console.print(Text(sentence), width=min(WIDTH, self.console.width))

    def command(self, line: str, what: str = "") -> None:
        self.console.print(
            Text.assemble("  ", (f"$ {line}", "bold"), (f"   {what}" if what else "", "dim")), soft_wrap=True
        )

    def git(self, *arguments: str | Path) -> str:
        folder = self.clone if self.clone.exists() else self.folder
        return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def _code(patch: str) -> str:
    """A patch without the docstring of a mistake and without the line that names its file."""
    return re.sub(r'\A""".*?"""|^# file: [^\n]*$', "", patch, flags=re.MULTILINE | re.DOTALL).strip("\n")


def summary(results: list[tuple[Push, str, str, float]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
    for push, verdict, wrong, seconds in results:
        sign = Text("✗", "red") if wrong else Text("✓", "green")
        table.add_row(sign, push.name, Text(verdict, VERDICT.get(verdict, "")), f"{seconds:.1f} s", wrong)
    return table


def first_steps(lab: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
    for command, what in [
        ("source .venv/bin/activate", "once a shell, so that `labs` is found"),
        (f"labs start {lab}", f"a work tree in ../{lab}: go there and read README.md"),
        ("labs test", "in there, after every hole: the public tests"),
        ("git commit -am 'l05' && labs submit", "the hidden tests, and a verdict like those above"),
    ]:
        table.add_row(Text(f"  $ {command}", "bold"), Text(what, "dim"))
    return table


def main() -> int:
    """Nobody's git configuration matters, and nothing temporary is left."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    for role in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{role}_{key}": value for key, value in LEARNER.items()}
    os.environ |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
    with tempfile.TemporaryDirectory(prefix="mainline-demo-") as folder:
        demo = Demo(console, Path(folder))
        demo.set_up()
        results = [(one, *demo.play(number, one)) for number, one in enumerate(pushes(demo.lab), 1)]
    demo.say("What the hub said", "")
    console.print(summary(results))
    demo.say("Your turn", "The lab is yours in three commands:")
    console.print(first_steps(LAB))
    return 1 if any(wrong for _, _, wrong, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
