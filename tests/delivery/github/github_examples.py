"""Reports and parcels about the synthetic course's first lab, as the grade job writes them."""

from fake_github import REPO

from grading.delivery.github.parcel import Parcel
from grading.judge.report import Report, TestResult

HEAD = "a" * 40
RUN = "11"
IDS = ["test_hidden.py::test_double", "test_hidden.py::test_zero", "test_hidden.py::test_negated"]


def report(verdict: str = "FAIL", head: str = HEAD, **more) -> Report:
    """A report of l01: everything passed, or nothing but the guard."""
    bad = {"outcome": "failed", "kind": "value", "message": "the values differ", "topic": "sum"}
    outcome = {"outcome": "passed", "kind": "ok", "topic": "sum"} if verdict == "PASS" else bad
    tests = [TestResult(id=name, contract=[1], sentence=f"Sentence of {name}.", **outcome) for name in IDS[:2]]
    tests.append(TestResult(id=IDS[2], guard=True, outcome="passed", kind="ok", sentence="Still negates."))
    given = {"lab": "l01", "title": "To double", "commit": head, "base": "b" * 40, "seed": 5, "verdict": verdict}
    given |= {"counts": True, "jail": "root", "tests": tests, "seconds": 1.0}
    return Report(**{**given, **more})


def parcel(verdict: str = "FAIL", head: str = HEAD, **more) -> Parcel:
    return Parcel(repository=REPO, pull=7, head=head, run=RUN, report=report(verdict, head, **more))
