"""Who may send which commit to the GPU runner, and where its verdict goes."""

import pytest
from fake_github import REPO
from github_examples import HEAD, RUN, parcel

from grading.delivery.github import admission
from grading.delivery.github import parcel as parcels
from grading.delivery.github.event import LabelEvent
from grading.delivery.github.parcel import ParcelError
from grading.delivery.github.review import gpu, review

MAINTAINER, AUTHOR = 9, 7
MARKED = "\n\n@lab.gpu\ndef test_on_the_device(lab):\n    '''It runs on a card.'''\n"


@pytest.fixture
def marked(tiny):
    hidden = tiny.lab("l01").folder / "hidden/test_hidden.py"
    hidden.write_text(hidden.read_text() + MARKED)
    return tiny


@pytest.fixture
def event(github, pull):
    """event(by, label, action): the label was set on pull request 7 at HEAD."""
    github.world.permissions["user9"] = "write"
    github.world.permissions["user8"] = "triage"

    def labelled(by: int = MAINTAINER, label: str = "gpu", action: str = "labeled") -> LabelEvent:
        return LabelEvent.model_validate(
            {
                "action": action,
                "repository": {"full_name": REPO},
                "pull_request": github.world.pulls[7],
                "label": {"name": label},
                "sender": {"id": by, "login": f"user{by}"},
            }
        )

    return labelled


def test_a_maintainers_label_admits_the_commit_that_it_was_put_on(marked, forge, event):
    assert admission.admit(marked, forge, event()) == HEAD


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"by": AUTHOR}, "user7 may not write"),
        ({"by": 8}, "user8 may not write"),  # triage may set labels, and no more
        ({"label": "lab: l01"}, "only the label 'gpu'"),
        ({"action": "synchronize"}, "only the label 'gpu'"),
    ],
)
def test_nothing_else_does(marked, forge, event, given, says):
    with pytest.raises(admission.NotAdmitted, match=says):
        admission.admit(marked, forge, event(**given))


def test_a_commit_pushed_after_the_label_is_not_admitted(marked, forge, event, github):
    labelled = event()
    github.world.pull(7, "d" * 40, base="lab/l01")
    with pytest.raises(admission.NotAdmitted, match="moved on since it was labelled"):
        admission.admit(marked, forge, labelled)


def test_neither_is_a_lab_without_such_tests_or_a_closed_pull_request(tiny, forge, event, github):
    with pytest.raises(admission.NotAdmitted, match="l01 has no tests for a GPU"):
        admission.admit(tiny, forge, event())
    github.world.pull(7, HEAD, base="main")
    with pytest.raises(admission.NotAdmitted, match="this branch has no tests"):
        admission.admit(tiny, forge, event())
    github.world.pull(7, HEAD, base="lab/l01", state="closed")
    with pytest.raises(admission.NotAdmitted, match="moved on"):
        admission.admit(tiny, forge, event())


def test_a_push_takes_the_label_off_and_no_other(forge, github, pull):
    github.world.labels[7] = ["lab: l01", "gpu", "verdict: fail"]
    admission.withdraw(forge, pull)
    admission.withdraw(forge, pull)  # gone already
    assert github.world.labels[7] == ["lab: l01", "verdict: fail"]


def test_its_verdict_is_a_check_run_of_its_own(tiny, lab, forge, github, pull):
    review(tiny, lab, forge, pull, parcel("PASS"))
    before = (github.world.stickies()[0]["body"], list(github.world.labels[7]))
    assert gpu(tiny, lab, forge, pull, parcel("FAIL", seal="gpu")).verdict == "FAIL"
    assert (github.world.stickies()[0]["body"], github.world.labels[7]) == before
    assert len(github.world.comments) == 1
    checks = {one["name"]: one["conclusion"] for one in github.world.checks_of(HEAD)}
    assert checks == {"labs / l01 verdict": "success", "labs / l01 gpu": "failure"}
    assert "(GPU tests)" in github.world.checks[-1]["output"]["summary"]


def test_a_stale_one_posts_nothing(tiny, lab, forge, github, pull):
    github.world.pull(7, "d" * 40, base="lab/l01")
    assert gpu(tiny, lab, forge, forge.pull(7), parcel("PASS", seal="gpu")).stale
    assert github.world.checks == []


@pytest.mark.parametrize(("written", "wanted"), [("gpu", "patch"), ("patch", "gpu"), ("mainline", "patch")])
def test_a_report_of_other_tests_is_not_taken_for_the_verdict(lab, tmp_path, written, wanted):
    parcels.write(parcel("PASS", seal=written), tmp_path / "report")
    whose = (REPO, 7, HEAD, RUN)
    with pytest.raises(ParcelError, match="another lab, commit or seal"):
        parcels.read(tmp_path / "report", lab, *whose, wanted)
    assert parcels.read(tmp_path / "report", lab, *whose, written).report.seal == written
