"""What the workflows call. Each command takes an event file and the environment, so each runs anywhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from grading.cli.common import CourseOption, JsonOption, course_here, show, show_json

app = typer.Typer(help="What the GitHub workflows call.", no_args_is_help=True, rich_markup_mode=None)
EventOption = Annotated[
    Path, typer.Option("--event", metavar="FILE", envvar="GITHUB_EVENT_PATH", help="The payload of the event.")
]
GpuOption = Annotated[bool, typer.Option("--gpu", help="The tests marked gpu, and nothing else.")]


@app.command()
def resolve(
    event: EventOption,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the event goes, whole.")],
) -> None:
    """The event with its pull request, looked up for a dispatch. Example: labs github resolve --out event.json"""
    from grading.course.files import write_whole
    from grading.delivery.github import workflow
    from grading.delivery.github.event import PullEvent, read

    told = read(event, PullEvent)
    if told.pull_request is None:
        told = told.model_copy(update={"pull_request": _forge(told).pull(told.number)})
    write_whole(out, told.model_dump_json())
    workflow.output("head", told.pull_request.head.sha)


@app.command()
def grade(
    event: EventOption,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the artifact goes.")],
    repo: Annotated[Path, typer.Option("--repo", metavar="DIR", help="A clone whose origin has the pull request.")],
    no_jail: Annotated[bool, typer.Option("--no-jail", help="Run without a jail; the verdict does not count.")] = False,
    gpu: GpuOption = False,
    course: CourseOption = None,
) -> None:
    """Grade a pull request's head. Example: labs github grade --event event.json --repo . --out report"""
    from grading.delivery.github import gradejob, workflow
    from grading.delivery.github.event import EventError, PullEvent, read

    told = read(event, PullEvent)
    pull = told.pull_request
    if pull is None:
        raise EventError(f"{event} has no pull request: `labs github resolve` looks it up")
    how = {"jailed": not no_jail, "seal": "gpu" if gpu else "patch"}
    done = gradejob.run(course_here(course), repo, told.repository.full_name, pull, out, _run_id(), **how)
    workflow.output("graded", "false" if done.report is None else "true")
    if done.report is None:
        workflow.notice(done.nothing)
        workflow.summary(done.nothing)
    else:
        show(f"{done.report.lab} {pull.head.sha[:10]}: {done.report.verdict} in {done.report.seconds:.1f} s")


@app.command()
def review(
    event: EventOption,
    artifact: Annotated[Path, typer.Option("--artifact", metavar="PATH", help="The folder or zip of the report.")],
    head: Annotated[str, typer.Option("--head", metavar="SHA", help="The commit that was to be graded.")] = "",
    gpu: GpuOption = False,
    course: CourseOption = None,
) -> None:
    """Post a report. Example: labs github review --event event.json --artifact report"""
    from grading.delivery.github import parcel, workflow
    from grading.delivery.github import review as reviewing
    from grading.delivery.github.event import EventError, PullEvent, read

    told, found = read(event, PullEvent), course_here(course)
    forge = _forge(told)
    pull = forge.pull(told.number)
    if pull.lab_id is None:
        raise EventError(f"pull request {pull.number} is for no lab")
    lab, head = found.lab(pull.lab_id), head or (told.pull_request or pull).head.sha
    try:
        whose = (told.repository.full_name, pull.number, head, _run_id())
        read_parcel = parcel.read(artifact, lab, *whose, "gpu" if gpu else "patch")
        done = (reviewing.gpu if gpu else reviewing.review)(found, lab, forge, pull, read_parcel)
    except parcel.ParcelError as error:
        if gpu:
            raise EventError(f"nothing is posted of the GPU tests: {error}") from None
        done = reviewing.infra(lab, forge, pull, str(error))
    for warning in done.warnings:
        workflow.warning(warning)
    show("the pull request has moved on: nothing is posted" if done.stale else f"posted {done.verdict}")
    raise typer.Exit(3 if done.verdict == "INFRA" else 0)


@app.command()
def admit(event: EventOption, course: CourseOption = None) -> None:
    """Whether this commit may go onto the GPU runner. Example: labs github admit --event event.json"""
    from grading.delivery.github import admission, workflow
    from grading.delivery.github.event import LabelEvent, read

    told = read(event, LabelEvent)
    try:
        head = admission.admit(course_here(course), _forge(told), told)
    except admission.NotAdmitted as error:
        workflow.notice(str(error))
        workflow.summary(str(error))
    else:
        workflow.output("head", head)
        show(f"{head[:10]} may go onto the GPU runner")


@app.command()
def withdraw(event: EventOption) -> None:
    """Take the label gpu off after a push. Example: labs github withdraw --event event.json"""
    from grading.delivery.github import admission
    from grading.delivery.github.event import EventError, PullEvent, read

    told = read(event, PullEvent)
    if told.pull_request is None:
        raise EventError(f"{event} has no pull request")
    admission.withdraw(_forge(told), told.pull_request)
    show("the label is off")


@app.command()
def chatops(event: EventOption, course: CourseOption = None) -> None:
    """Answer a comment that is a command. Example: labs github chatops --event event.json"""
    from grading.delivery.github import chatops as desk
    from grading.delivery.github import workflow
    from grading.delivery.github.event import CommentEvent, read

    told = read(event, CommentEvent)
    done = desk.answer(course_here(course), _forge(told), told)
    if done.regrade:
        workflow.output("regrade", str(done.regrade))
    show(f"answered with {done.reaction}" if done.reaction else "not a command")


@app.command()
def regrade(event: EventOption, pr: Annotated[int, typer.Option("--pr", metavar="N", min=1)]) -> None:
    """Start a new grading of a pull request. Example: labs github regrade --event event.json --pr 7"""
    from grading.delivery.github.event import CommentEvent, read

    told = read(event, CommentEvent)
    _forge(told).dispatch("grade.yml", told.repository.default_branch, {"pr": str(pr)})
    show(f"pull request {pr} is graded again")


@app.command()
def drift(
    rows: Annotated[Path, typer.Argument(metavar="FILE", help="What `labs snapshots drift --json` printed.")],
    repository: Annotated[str, typer.Option("--repository", metavar="OWNER/NAME", envvar="GITHUB_REPOSITORY")],
    course: CourseOption = None,
) -> None:
    """Keep one issue about newer upstream releases. Example: labs github drift drift.json --repository owner/course"""
    from grading.delivery.github import drift as drifting
    from grading.delivery.github.forge import Forge

    found, read_rows = course_here(course), drifting.read(rows)
    show(f"the issue: {drifting.report(found, Forge.here(repository), read_rows)}")
    missed = drifting.unseen(found, read_rows)
    for name in missed:
        show(f"{name} could not be looked at")
    raise typer.Exit(3 if missed else 0)


@app.command()
def merge(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="JSON files, or folders of them.")],
    course: CourseOption = None,
    as_json: JsonOption = False,
) -> None:
    """One table of what the shards of a course found. Example: labs github merge results"""
    from grading.delivery.github import shards, workflow

    merged = shards.merge(course_here(course), paths)
    workflow.summary(merged.markdown())
    show_json(merged.as_json()) if as_json else show(merged.markdown())
    raise typer.Exit(merged.exit_code)


@app.command()
def verify(
    event: EventOption,
    repo: Annotated[Path, typer.Option("--repo", metavar="DIR", help="A clone whose origin has the tag.")],
    at_once: Annotated[int, typer.Option("-n", min=1, help="So many gradings at once.")] = 1,
    course: CourseOption = None,
) -> None:
    """Hold a new tag ref/** against the course. Example: labs github verify --event event.json --repo ."""
    from grading.authoring import gate
    from grading.course.catalog import CourseError
    from grading.delivery.github import reference, workflow
    from grading.delivery.github.event import TagEvent, read
    from grading.delivery.remote import PublishError
    from grading.judge.shared import Judges

    told, found = read(event, TagEvent), course_here(course)
    try:
        held = reference.verify(found, told, repo)
        with Judges(jailed=True, at_once=at_once) as judges:
            checked = gate.check(found, held.lab, judges, write=False, mutants=None, say=lambda *told: None)
        misses = [f"the author gate: {miss}" for miss in checked.misses]
        if misses and found.mode == "sealed":  # a miss can name a mistake, or show a mutant of the reference
            misses = [f"the author gate does not pass: `labs check {held.lab.id}` in the private course says why"]
    except (CourseError, PublishError) as error:
        misses = [str(error)]
    if misses:
        reference.refuse(told, misses)
        raise typer.Exit(1)
    workflow.output("tag", held.tag.sha)
    show(f"{told.tag} holds: {held.report.passed_count} hidden tests passed, and the author gate")


@app.command()
def release(
    event: EventOption,
    repo: Annotated[Path, typer.Option("--repo", metavar="DIR", help="A clone whose origin has the tag.")],
    verified: Annotated[str, typer.Option("--verified", metavar="SHA", help="The tag object that was verified.")],
    course: CourseOption = None,
) -> None:
    """Announce a verified tag. Example: labs github release --event event.json --repo . --verified SHA"""
    from grading.delivery.github import reference
    from grading.delivery.github.event import TagEvent, read

    told = read(event, TagEvent)
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    run = f"{server}/{told.repository.full_name}/actions/runs/{_run_id()}"
    show(reference.announce(course_here(course), told, repo, verified, run, _forge(told)))


def _forge(told):
    from grading.delivery.github.forge import Forge

    return Forge.here(told.repository.full_name)


def _run_id() -> str:
    return os.environ.get("GITHUB_RUN_ID", "")
