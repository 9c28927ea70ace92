"""What no local runner can try is read off the YAML: triggers, permissions, pins, what a script is made of."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: path for path in sorted((GITHUB / "workflows").glob("*.yml"))}
FILES = [*WORKFLOWS.values(), *sorted((GITHUB / "actions").glob("*/action.yml"))]
PINNED = re.compile(r"uses: (\./|actions/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$)")
SECRET = re.compile(r"secrets\.(\w+)")
PERMISSIONS = {
    ("grade", "grade"): {"contents": "read", "pull-requests": "read"},
    ("grade", "review"): {"contents": "read", "pull-requests": "write", "checks": "write"},
    ("chatops", "command"): {"contents": "read", "pull-requests": "write", "checks": "write"},
    ("chatops", "regrade"): {"contents": "read", "actions": "write"},
    ("ci", "test"): {"contents": "read"},
    ("course", "shard"): {"contents": "read"},
    ("course", "merge"): {"contents": "read"},
    ("gpu", "admit"): {"contents": "read", "pull-requests": "read"},
    ("gpu", "gpu"): {"contents": "read"},
    ("gpu", "review"): {"contents": "read", "pull-requests": "read", "checks": "write"},
    ("gpu", "withdraw"): {"contents": "read", "pull-requests": "write"},
    ("upstream-drift", "look"): {"contents": "read"},
    ("upstream-drift", "report"): {"contents": "read", "issues": "write"},
    ("release", "verify"): {"contents": "read"},
    ("release", "release"): {"contents": "write"},
    ("cache", "save"): {"contents": "read"},
    ("publish", "open"): {"contents": "write"},
    ("publish", "sealed"): {"contents": "read"},
}
DEFAULT_BRANCH = "${{ github.event.repository.default_branch }}"
TRIGGERS = {
    "grade": {
        "pull_request_target": {"branches": ["lab/**"], "types": ["opened", "synchronize", "reopened"]},
        "workflow_dispatch": {"inputs": {"pr": {"description": "The number of the pull request", "required": True}}},
    },
    "gpu": {"pull_request_target": {"branches": ["lab/**"], "types": ["labeled", "synchronize"]}},
    "chatops": {"issue_comment": {"types": ["created"]}},
    "release": {"push": {"tags": ["ref/**"]}},
    "ci": {"push": {"branches": ["main"]}, "pull_request": {"branches": ["main"]}},
    "upstream-drift": {"schedule": [{"cron": "41 4 * * 1"}], "workflow_dispatch": ""},
    "course": {"schedule": [{"cron": "17 3 * * *"}], "workflow_dispatch": ""},
}


def loaded(path: Path) -> dict:
    return yaml.load(path.read_text(), Loader=yaml.BaseLoader)  # BaseLoader: `on` is a string, not True


def steps(path: Path) -> list[dict]:
    data = loaded(path)
    lists = [job["steps"] for job in data["jobs"].values()] if "jobs" in data else [data["runs"]["steps"]]
    return [step for steps in lists for step in steps]


def test_the_permissions_are_those_of_the_table_and_nothing_at_the_top():
    found = {}
    for name, path in WORKFLOWS.items():
        data = loaded(path)
        assert data["permissions"] == {}, name
        found |= {(name, job): given["permissions"] for job, given in data["jobs"].items()}
    assert found == PERMISSIONS


@pytest.mark.parametrize("name", TRIGGERS)
def test_the_triggers(name):
    found = loaded(WORKFLOWS[name])["on"]
    assert set(found) == set(TRIGGERS[name])
    for event, wanted in TRIGGERS[name].items():
        if event != "workflow_dispatch":
            assert found[event] == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_script_is_fixed_text(path):
    assert [step["run"] for step in steps(path) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_action_is_pinned_and_its_version_is_said(path):
    used = [line.strip().removeprefix("- ") for line in path.read_text().splitlines() if "uses: " in line]
    assert [line for line in used if not PINNED.match(line)] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_checkouts_keep_no_credentials_and_never_take_a_head(path):
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"
            if path.parent.name == "course":  # of another repository, a private one
                assert set(step["with"]) >= {"repository", "ref", "ssh-key"}
                continue
            wanted = DEFAULT_BRANCH if path.stem == "release" else None  # by itself it would take the tagged commit
            assert step["with"].get("ref") == wanted
            assert not {"repository", "ssh-key"} & set(step["with"])
    assert "allow-unsafe-pr-checkout" not in path.read_text()


@pytest.mark.parametrize("path", WORKFLOWS.values(), ids=lambda path: path.name)
def test_each_workflow_says_who_starts_it_and_what_it_trusts(path):
    header = path.read_text().partition("\nname:")[0]
    assert all(line.startswith("#") for line in header.splitlines())
    assert "Who starts it:" in header
    assert "What it trusts:" in header
    assert "concurrency" in loaded(path)
    assert all("timeout-minutes" in job for job in loaded(path)["jobs"].values())


@pytest.mark.parametrize("name", ["grade", "gpu"])
def test_no_step_that_runs_a_learners_code_has_a_token(name):
    workflow = loaded(WORKFLOWS[name])
    job = workflow["jobs"][name]
    (step,) = [step for step in job["steps"] if "labs github grade" in step.get("run", "")]
    assert "env" not in step
    assert "GITHUB_TOKEN" not in str(job.get("env", "")) + str(workflow.get("env", ""))


def test_a_learners_code_meets_a_card_only_behind_two_gates_and_as_labelled():
    """The label by someone who may write (job admit), the environment's reviewers, and the commit of the event."""
    workflow = loaded(WORKFLOWS["gpu"])
    jobs = workflow["jobs"]
    assert jobs["admit"]["if"] == "github.event.action == 'labeled' && github.event.label.name == 'gpu'"
    assert (jobs["gpu"]["needs"], jobs["gpu"]["if"]) == ("admit", "needs.admit.outputs.head != ''")
    assert (jobs["gpu"]["runs-on"], jobs["gpu"]["environment"]) == (["self-hosted", "gpu"], "gpu")
    assert "github.token" not in str(jobs["gpu"])
    (grade,) = [step["run"] for step in jobs["gpu"]["steps"] if "labs github grade" in step.get("run", "")]
    assert '--gpu --event "$GITHUB_EVENT_PATH"' in grade  # the payload says which commit was labelled
    assert workflow["run-name"] == "gpu ${{ github.event.pull_request.head.sha }}"
    others = [job for name, path in WORKFLOWS.items() for job in loaded(path)["jobs"].values() if name != "gpu"]
    assert {job["runs-on"] for job in [*others, jobs["admit"], jobs["review"], jobs["withdraw"]]} == {"ubuntu-24.04"}


def test_a_push_takes_the_label_off_and_ends_the_older_commits_run():
    workflow = loaded(WORKFLOWS["gpu"])
    group = " ".join(workflow["concurrency"]["group"].split())
    chosen = "(github.event.action == 'synchronize' || github.event.label.name == 'gpu') && 'run' || github.run_id"
    assert group == f"gpu-${{{{ github.event.pull_request.number }}}}-${{{{ {chosen} }}}}"
    assert workflow["concurrency"]["cancel-in-progress"] == "true"
    labelled = "contains(github.event.pull_request.labels.*.name, 'gpu')"
    assert workflow["jobs"]["withdraw"]["if"] == f"github.event.action == 'synchronize' && {labelled}"


def test_no_verdict_waits_for_a_card():
    grade = loaded(WORKFLOWS["grade"])["jobs"]
    assert {job["runs-on"] for job in grade.values()} == {"ubuntu-24.04"}
    assert grade["review"]["needs"] == "grade"


def test_a_tag_is_held_against_the_course_by_a_job_without_a_token():
    jobs = loaded(WORKFLOWS["release"])["jobs"]
    assert "token" not in str(jobs["verify"]).lower()
    assert jobs["release"]["needs"] == "verify"
    assert "if" not in jobs["release"]  # so it is skipped where `verify` is not green


def test_each_secret_is_given_to_one_step_and_no_workflow_has_another():
    found = [(name, secret) for name, path in WORKFLOWS.items() for secret in SECRET.findall(path.read_text())]
    key = "COURSE_DEPLOY_KEY"
    assert found == [("grade", key), ("publish", "PUBLIC_DEPLOY_KEY"), ("release", key)]
    for name in ("grade", "release"):
        (course,) = [step for step in steps(WORKFLOWS[name]) if step.get("uses") == "./.github/actions/course"]
        assert course["with"] == {"repository": "${{ vars.COURSE_REPOSITORY }}", "key": f"${{{{ secrets.{key} }}}}"}
    assert [list(step["env"]) for step in steps(WORKFLOWS["publish"]) if "secrets." in str(step)] == [["KEY", "PUBLIC"]]


def test_one_workflow_writes_the_cache_and_it_sees_no_private_course():
    assert [name for name, path in WORKFLOWS.items() if "save:" in path.read_text()] == ["cache"]
    assert set(loaded(WORKFLOWS["cache"])["on"]) == {"push", "schedule", "workflow_dispatch"}
    assert "actions/course" not in WORKFLOWS["cache"].read_text()
    assert not any("actions/cache@" in path.read_text() for path in FILES)  # it saves by itself
    assert [name for name, path in WORKFLOWS.items() if "torch:" in path.read_text()] == ["gpu"]  # its own key, unsaved
    kept = [step["with"]["path"] for path in FILES for step in steps(path) if "actions/cache/" in step.get("uses", "")]
    assert kept == [".venv", ".venv"]


def test_what_leaves_the_job_that_sees_the_private_course_is_one_file():
    uploads = [step["with"]["path"] for step in steps(WORKFLOWS["grade"]) if "upload-artifact" in step.get("uses", "")]
    assert uploads == ["report/report.json"]


def test_a_newer_push_cancels_the_older_run_and_no_command_is_lost():
    assert loaded(WORKFLOWS["grade"])["concurrency"] == {
        "group": "grade-${{ github.event.pull_request.number || inputs.pr }}",
        "cancel-in-progress": "true",
    }
    assert loaded(WORKFLOWS["chatops"])["concurrency"] == {"group": "chatops-${{ github.event.comment.id }}"}


def test_the_shards_of_the_course_are_all_of_it_and_one_table():
    shard, merge = (loaded(WORKFLOWS["course"])["jobs"][name] for name in ("shard", "merge"))
    numbers = shard["strategy"]["matrix"]["n"]
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert shard["env"]["SHARD"] == f"${{{{ matrix.n }}}}/{len(numbers)}"
    assert shard["strategy"]["fail-fast"] == "false"
    assert (merge["needs"], merge["if"]) == ("shard", "!cancelled()")  # a red shard has its rows, too


@pytest.mark.parametrize(
    "command",
    [
        ["zizmor", "--offline", "--no-progress", ROOT],
        ["actionlint", *WORKFLOWS.values()],
        ["yamllint", "-s", "-c", ROOT / ".yamllint.yml", GITHUB],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS.values()],
        [
            "check-jsonschema",
            "--builtin-schema",
            "vendor.github-actions",
            *(p for p in FILES if p.name == "action.yml"),
        ],
    ],
    ids=lambda command: command[0],
)
def test_linters_are_clean(command):
    name, *arguments = command
    tool = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_suppression_gives_its_reason():
    for path in FILES:
        for line in path.read_text().splitlines():
            if "zizmor: ignore" in line:
                assert re.search(r"ignore\[[\w-]+\] \w+", line), line
