"""A report becomes one comment, one check run and some labels, whatever GitHub does meanwhile."""

import re

import pytest
from fake_github import BOT
from github_examples import HEAD, parcel

from grading.delivery.github import memory as memories
from grading.delivery.github.forge import ForgeError
from grading.delivery.github.review import infra, review
from grading.feedback.advice import Attempt
from grading.judge.report import Frame, Refusal, TestResult

NEXT = "c" * 40
OPS = "mini_infra/tiny/ops.py"
PATCH = "@@ -6,3 +6,4 @@ def double(x):\n context\n-old\n+new\n+new\n context\n"


def sticky(github) -> str:
    (one,) = github.world.stickies()
    return one["body"]


def remembered(github) -> memories.Memory:
    return memories.parse(sticky(github))


def test_a_failure_is_told_in_comment_check_and_labels(tiny, lab, forge, github, pull):
    done = review(tiny, lab, forge, pull, parcel())
    assert (done.stale, done.verdict, done.warnings) == (False, "FAIL", [])
    assert sticky(github).splitlines()[:3] == ["<!-- labs:report -->", "", "## ❌ FAIL · l01 To double"]
    assert "attempt 1" in sticky(github)
    assert "### Hint 1 of 3 (sum)\n\nOnce more." in sticky(github)
    (check,) = github.world.checks
    assert (check["name"], check["head_sha"], check["conclusion"]) == ("labs / l01 verdict", HEAD, "failure")
    assert check["output"]["title"] == "❌ FAIL: 1 of 3 tests passed"
    assert github.world.labels[7] == ["lab: l01", "verdict: fail"]


def test_a_pass_earns_the_seal_and_asks_the_exam(tiny, lab, forge, github, pull):
    review(tiny, lab, forge, pull, parcel("PASS"))
    assert "🟢 Patch seal · ⚪ Exam seal" in sticky(github)
    assert sticky(github).count("- [ ] **") == 5
    assert "SECRET" not in sticky(github)
    assert github.world.labels[7] == ["lab: l01", "seal: patch", "verdict: pass"]
    assert github.world.checks[0]["conclusion"] == "success"


def test_twice_posts_once(tiny, lab, forge, github, pull):
    for _ in range(2):
        review(tiny, lab, forge, pull, parcel())
    assert len(github.world.comments) == 1
    assert len(github.world.checks) == 1
    assert [(one.n, one.commit) for one in remembered(github).attempts] == [(1, HEAD)]


def test_attempts_count_commits_and_raise_the_hint(tiny, lab, forge, github, pull):
    review(tiny, lab, forge, pull, parcel())
    for number, letter in enumerate("cd", 2):
        github.world.pull(7, letter * 40, base="lab/l01")
        review(tiny, lab, forge, forge.pull(7), parcel(head=letter * 40))
        assert f"attempt {number}" in sticky(github)
    assert "### Hint 2 of 3 (sum)" in sticky(github)
    assert len(github.world.comments) == 1


def test_a_stale_report_is_dropped(tiny, lab, forge, github, pull):
    github.world.pull(7, NEXT, base="lab/l01")
    assert review(tiny, lab, forge, forge.pull(7), parcel()).stale
    github.world.pull(7, HEAD, base="lab/l01", state="closed")
    assert review(tiny, lab, forge, forge.pull(7), parcel()).stale
    assert (github.world.comments, github.world.checks) == ([], [])


def test_of_two_racing_graders_the_newest_commit_wins(tiny, lab, forge, github, pull):
    """The old one is about to write its comment when the new one does all of its work."""

    def newer():
        github.world.pull(7, NEXT, base="lab/l01")
        github._lock.release()
        review(tiny, lab, forge, forge.pull(7), parcel("PASS", NEXT))
        github._lock.acquire()

    github.world.before.append((re.compile(r"POST /repos/.*/issues/7/comments"), newer))
    review(tiny, lab, forge, pull, parcel())
    assert len(github.world.stickies()) == 1
    assert "## ✅ PASS" in sticky(github)
    assert remembered(github).head == NEXT


def test_no_verdict_is_replaced_by_our_own_trouble(tiny, lab, forge, github, pull):
    review(tiny, lab, forge, pull, parcel("PASS"))
    review(tiny, lab, forge, pull, parcel("INFRA", tests=[], reason="no jail"))
    assert "## ✅ PASS" in sticky(github)
    assert github.world.checks[0]["conclusion"] == "neutral"
    assert "seal: patch" in github.world.labels[7]
    assert "verdict: pass" in github.world.labels[7]


def test_trouble_with_the_artifact_is_said_on_the_commit_alone(lab, forge, github, pull):
    assert infra(lab, forge, pull, "the report is no JSON").verdict == "INFRA"
    assert github.world.comments == []
    (check,) = github.world.checks
    assert check["conclusion"] == "neutral"
    assert "the report is no JSON" in check["output"]["summary"]


def test_memory_comes_back_from_the_check_when_the_comment_is_deleted(tiny, lab, forge, github, pull):
    review(tiny, lab, forge, pull, parcel())
    github.world.comments.clear()
    github.world.pull(7, NEXT, base="lab/l01")
    review(tiny, lab, forge, forge.pull(7), parcel(head=NEXT))
    assert [one.n for one in remembered(github).attempts] == [1, 2]


def test_only_the_bots_own_comment_is_believed(tiny, lab, forge, github, pull):
    forged = memories.Memory(lab="l01", hints={"sum": 3}).block()
    other = {"id": 9, "login": "mallory", "type": "User"}
    github.world.comments.append({"id": 50, "user": other, "issue": 7, "body": f"<!-- labs:report -->\n{forged}"})
    review(tiny, lab, forge, pull, parcel())
    assert len(github.world.stickies()) == 2
    assert github.world.comments[0]["body"] == f"<!-- labs:report -->\n{forged}"
    assert remembered_of_bot(github).hints == {}


def remembered_of_bot(github) -> memories.Memory:
    (mine,) = [one for one in github.world.stickies() if one["user"] == BOT]
    return memories.parse(mine["body"])


def test_a_locked_conversation_leaves_the_check_and_a_warning(tiny, lab, forge, github, pull):
    github.world.locked = True
    done = review(tiny, lab, forge, pull, parcel())
    assert "locked" in done.warnings[0]
    assert github.world.checks[0]["conclusion"] == "failure"


def test_a_403_on_labels_is_a_warning(tiny, lab, forge, github, pull):
    github.break_next("POST", "/labels", 403, body=b'{"message": "Resource not accessible by integration"}')
    done = review(tiny, lab, forge, pull, parcel())
    assert "labels were not set" in done.warnings[0]
    assert len(github.world.stickies()) == 1


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_5xx_on_the_comment_makes_no_second_one(tiny, lab, forge, github, pull, done):
    github.break_next("POST", "/issues/7/comments", 502, done=done)
    review(tiny, lab, forge, pull, parcel())
    assert len(github.world.stickies()) == 1


@pytest.mark.parametrize(("status", "headers"), [(429, {"Retry-After": "0"}), (403, {"Retry-After": "0"}), (502, {})])
def test_limits_and_outages_are_waited_for(tiny, lab, forge, github, pull, status, headers):
    github.break_next("GET", "/issues/7/comments", status, headers, times=2)
    assert review(tiny, lab, forge, pull, parcel()).verdict == "FAIL"


def test_an_outage_that_stays_is_one_line(tiny, lab, forge, github, pull):
    github.break_next("GET", "/issues/7/comments", 502, times=10)
    with pytest.raises(ForgeError, match="GitHub"):
        review(tiny, lab, forge, pull, parcel())
    github.faults.clear()


def test_annotations_stand_on_changed_lines_only(tiny, lab, forge, github, pull):
    github.world.files[7] = [{"filename": OPS, "patch": PATCH, "sha": "0" * 40, "status": "modified"}]
    frames = [Frame(path=OPS, line=line, function="double") for line in (8, 40)]
    wrong = TestResult(id="t", outcome="failed", kind="value", sentence="S.", message="6 is not 4", frames=frames)
    refusals = [Refusal(path=OPS, line=7, reason="no eval"), Refusal(path=OPS, line=99, reason="unchanged")]
    review(tiny, lab, forge, pull, parcel(tests=[wrong], refusals=refusals))
    said = [(one["start_line"], one["title"], one["message"]) for one in github.world.checks[0]["annotations"]]
    assert said == [(7, "Refused", "no eval"), (8, "S.", "6 is not 4")]


def test_more_annotations_than_a_request_takes(tiny, lab, forge, github, pull):
    patch = "@@ -1,0 +1,200 @@\n"
    github.world.files[7] = [{"filename": OPS, "patch": patch, "sha": "0" * 40, "status": "modified"}]
    refusals = [Refusal(path=OPS, line=line, reason="no") for line in range(1, 121)]
    review(tiny, lab, forge, pull, parcel("REFUSED", tests=[], refusals=refusals))
    assert [one["start_line"] for one in github.world.checks[0]["annotations"]] == list(range(1, 121))


def test_the_largest_comment_fits_beside_the_memory(tiny, lab, forge, github, pull):
    huge = [
        TestResult(id=f"t{n}", outcome="failed", kind=f"error:E{n}", sentence=f"S{n}", message="x" * 9000)
        for n in range(300)
    ]
    memory = memories.Memory(lab="l01")
    for number in range(44):
        attempt = Attempt(n=0, user="7", commit=f"{number:040x}", verdict="FAIL", topics=["sum"])
        memory = memory.with_attempt(attempt)
    github.world.comments.append({"id": 90, "user": BOT, "issue": 7, "body": f"<!-- labs:report -->\n{memory.block()}"})
    review(tiny, lab, forge, pull, parcel(tests=huge))
    assert len(sticky(github)) <= 65_535
    assert remembered(github).tries == 45
    assert len(remembered(github).attempts) == 40


def test_the_step_summary_is_the_comment(tiny, lab, forge, github, pull, tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    review(tiny, lab, forge, pull, parcel())
    assert (tmp_path / "summary").read_text().rstrip("\n") == sticky(github).rstrip("\n")
