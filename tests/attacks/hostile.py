"""Table B as files: a case is hostile code for one lab, with its verdicts in a header, and the ground around it.

The docstring of a case is its header: the first line says the attack, then `key: value` lines.
  lint, wall   the verdict on the whole path, and with the lint skipped ("FAIL or TIMEOUT": either is right)
  defends      the properties of SECURITY.md that it attacks
  says         optional: a regular expression that the report with the lint skipped must hold
  lab          optional, l05 when absent
The rest is appended to the reference of the lab's hooked file. Where it defines `_hole`, that answers for the hooked
hole; `_right` is the reference's answer, so that a case can be hostile and right at once.
"""

import ast
import os
import re
from dataclasses import dataclass
from pathlib import Path

from grading.course.catalog import Course, Lab
from grading.course.submission import Refused, Submission, from_tree
from grading.course.trees import reference_tree, starter_tree
from grading.course.vetting import vet
from grading.judge.process import Judge
from grading.judge.report import Report

FOLDER = Path(__file__).parent / "code"
BUSY = min(4.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))  # an honest probe has to fit, too
MEMORY_MB = 1024  # and this instead of its memory: filling it takes time
PROBE_S = 2.0 * BUSY  # instead of the lab's own limit: a third of the cases uses it up


@dataclass(frozen=True)
class Hook:
    """Where a lab lets a case in: the file, the hole's own lines, the lines that call `_hole` instead, and `_right`."""

    path: str
    lines: str
    call: str
    right: str
    select: str
    wrong: str


HOOKS = {
    "l05": Hook(
        path="mini_infra/megatron/core/tensor_parallel/mappings.py",
        lines="""\
        if ctx.tensor_parallel_output_grad:
            return _reduce_scatter_along_first_dim(grad_output, ctx.group), None, None
        return _split_along_first_dim(grad_output, ctx.group), None, None
""",
        call="        return _hole(grad_output, ctx), None, None\n",
        right="""\
def _right(grad_output, ctx):
    if ctx.tensor_parallel_output_grad:
        return _reduce_scatter_along_first_dim(grad_output, ctx.group)
    return _split_along_first_dim(grad_output, ctx.group)
""",
        select="test_gather_seq_flag",
        wrong="def _hole(grad_output, ctx):\n    return 2 * _right(grad_output, ctx)\n",
    ),
    "l21": Hook(
        path="mini_infra/sglang/srt/mem_cache/radix_cache.py",
        lines="""\
        # All tokens below `low` agree, and fewer than `high` do: bisect, comparing only what is still open.
        low, high = 0, min(len(mine), len(theirs)) + 1
        while high - low > 1:
            middle = (low + high) // 2
            if mine[low:middle] == theirs[low:middle]:
                low = middle
            else:
                high = middle
        return low // page_size * page_size
""",
        call="        return _hole(mine, theirs) // page_size * page_size\n",
        right="",
        select="test_match_key or test_match_speed",
        wrong="def _hole(mine, theirs):\n    return 0\n",
    ),
    "l29": Hook(
        path="mini_infra/slime/utils/ppo_utils.py",
        lines="""\
        advantages = chunked_discounted_returns(deltas, gamma * lambd, chunk_size)
        return advantages.to(values.dtype), (advantages + value).to(values.dtype)
""",
        call="        return _hole(rewards, values, deltas, gamma * lambd, chunk_size)\n",
        right="""\
def _right(rewards, values, deltas, discount, chunk_size):
    advantages = chunked_discounted_returns(deltas, discount, chunk_size)
    return advantages.to(values.dtype), (advantages + values.to(advantages.dtype)).to(values.dtype)
""",
        select="test_scan and (test_gae_definition or test_manners or test_op_count)",
        wrong="def _hole(rewards, values, deltas, discount, chunk_size):\n    return values * 2, values * 2\n",
    ),
}


@dataclass(frozen=True)
class Case:
    """One file of code/."""

    id: str
    attack: str
    lint: frozenset[str]
    wall: frozenset[str]
    defends: tuple[str, ...]
    says: str
    lab: str
    source: str


def cases() -> list[Case]:
    return [read(path) for path in sorted(FOLDER.glob("*.py"))]


def read(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    docstring = ast.parse(text).body[0]
    attack, *rest = ast.get_docstring(ast.parse(text)).splitlines()
    header = dict(line.split(": ", 1) for line in rest if line)
    source = "".join(text.splitlines(keepends=True)[docstring.end_lineno :])
    return Case(
        id=path.stem,
        attack=attack,
        lint=frozenset(header["lint"].split(" or ")),
        wall=frozenset(header["wall"].split(" or ")),
        defends=tuple(header["defends"].split()),
        says=header.get("says", ""),
        lab=header.get("lab", "l05"),
        source=source,
    )


def patched(course: Course, lab: Lab, source: str) -> Submission | Refused:
    """The reference of `lab` with `source` let in at the hook, as a learner's submission."""
    hook, starter = HOOKS[lab.id], starter_tree(course, lab)
    text = reference_tree(course, lab)[hook.path].decode()
    assert hook.lines in text, f"the reference of {lab.id} has changed: mend HOOKS"
    if re.search(r"^def _hole\b", source, re.M):
        text = text.replace(hook.lines, hook.call)
    whole = f"{text}\n\n{hook.right}\n\n{source}".encode()
    submission = from_tree(lab, reference_tree(course, lab) | {hook.path: whole}, starter)
    refusals = vet({hook.path: whole})
    return Refused(refusals) if refusals else submission


def told(report: Report) -> str:
    """All that a report says, for a regular expression to look at."""
    return report.model_dump_json()


class Ground:
    """What must be the same before and after a case: processes below the judge, and files on either side."""

    def __init__(self, judge: Judge):
        self.judge = judge
        self.slack_s = 0.0
        self.processes = len(descendants(judge._pid))
        self.files = self._files()

    def changes(self) -> list[str]:
        """One line for each thing that a case has left."""
        alive = descendants(self.judge._pid)
        left = [f"{len(alive)} processes, not {self.processes}"] if len(alive) > self.processes else []
        left += [f"file {path}" for path in sorted(self._files() - self.files)]
        return left + [f"in the jail: {path}" for pid in alive for path in scratch(pid)]

    def _files(self) -> set[str]:
        """Everything in the folder that this session's temporary files lie in, but the tree that is graded."""
        root = self.judge._scratch.path.parent
        return {str(path.relative_to(root)) for path in root.rglob("*") if "submission" not in path.parts}


def descendants(ancestor: int) -> list[int]:
    """Process ids below `ancestor`, from /proc."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [ancestor]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def scratch(pid: int) -> list[str]:
    """What lies in a jail's writable folders, seen from outside; nothing for a process that is in no jail."""
    root = Path(f"/proc/{pid}/root")
    try:
        if not os.path.isdir(root / "engine"):
            return []
        return [str(path) for place in ("tmp", "dev/shm") for path in (root / place).iterdir()]
    except OSError:
        return []
