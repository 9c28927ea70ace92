"""The oral exam on the learner's side: the examiner's script, and the outcome that an examiner wrote down."""

from pathlib import Path

import git
import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from grading.course import snapshots
from grading.course.catalog import Course, Lab
from grading.delivery import local, plumbing
from grading.delivery.clone import CloneError, patch
from grading.feedback import exam


class Answered(BaseModel):
    """How one question went."""

    model_config = ConfigDict(extra="forbid")
    passed: bool
    note: str = ""


class Form(BaseModel):
    """What an examiner fills in."""

    model_config = ConfigDict(extra="forbid")
    lab: str
    examiner: str
    passed: bool
    questions: dict[str, Answered]


def script(repo: git.Repo, course: Course, lab: Lab, answers: bool) -> str:
    """Markdown: the protocol, five questions drawn by the commit, the learner's diff."""
    questions = exam.draw(exam.load(lab), repo.head.commit.hexsha)
    if not questions:
        raise CloneError(f"{lab.id} has no exam yet")
    return exam.examiner_script(lab, questions, patch(repo, lab), answers, snapshots.load(course.root))


def keep(repo: git.Repo, lab: Lab, file: Path) -> bool:
    """Record a filled-in form in the clone's state; CloneError says what is missing. True when it was passed."""
    form = _read(file)
    if form.lab != lab.id:
        raise CloneError(f"{file}: this is the form of {form.lab}, not of {lab.id}")
    failed = [name for name, one in form.questions.items() if not one.passed]
    if form.passed and (failed or not form.questions):
        raise CloneError(f"{file}: passed, but not in each question ({', '.join(failed) or 'none is filled in'})")
    with local.updating(plumbing.common_dir(repo), lab.id) as state:
        state.exam = {"commit": repo.head.commit.hexsha, "when": local.now(), **form.model_dump()}
        if form.passed:
            state.seals.setdefault("exam", local.now())
    return form.passed


def _read(file: Path) -> Form:
    try:
        return Form.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        raise CloneError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise CloneError(f"{file}: {error}") from None
