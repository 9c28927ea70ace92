"""The proc-receive hook with a judge that reads the verdict out of the answer: `# verdict: FAIL`."""

import re
import sys
import time
from pathlib import Path

from grading.course.submission import Refused
from grading.delivery import hub
from grading.judge.report import Report, TestResult, Verdict


def fake_grade(course, lab, submission, *, jailed, on_event, judge=None, starter=None):
    base = {"lab": lab.id, "title": lab.title, "commit": None, "base": "x", "seed": 7, "jail": "none", "seconds": 0.1}
    if isinstance(submission, Refused):
        return Report(**base, verdict=Verdict.REFUSED, counts=jailed, refusals=[vars(r) for r in submission.refusals])
    text = submission.blobs["mini_infra/tiny/ops.py"].decode()
    verdict = re.search(r"# verdict: (\w+)", text)[1]
    if edit := re.search(r"# edits: (\d+) (\S+)", text):
        _edit(course.root / "challenges" / edit[2], int(edit[1]))
    if verdict == "BROKEN":
        raise RuntimeError("the judge fell over")
    frame = {"path": "hidden/test_hidden.py", "line": 3, "function": "test_double", "text": "a hidden line"}
    kind = "ok" if verdict == "PASS" else "value"
    outcome = "passed" if verdict == "PASS" else "failed"
    test = TestResult(id="t.py::t", topic="sum", outcome=outcome, kind=kind, sentence="It doubles.", frames=[frame])
    on_event({"event": "start", "tests": 1})
    on_event({"event": "test", "index": 1, "of": 1, "id": test.id, "outcome": outcome, "sentence": test.sentence})
    time.sleep(float(re.search(r"# seconds: (\S+)", text)[1]) if "# seconds" in text else 0)
    return Report(**base, verdict=verdict, counts=jailed, tests=[test], moved=not submission.descends)


def _edit(path, times):
    """Somebody writes in the course, `times` times in all."""
    if path.read_text().count("# edited") < times:
        path.write_text(path.read_text() + "# edited\n")


if __name__ == "__main__":
    hub.grade = fake_grade
    hub.receive(Path.cwd(), sys.stdin.buffer, sys.stdout.buffer, sys.stderr)
