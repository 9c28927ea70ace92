"""The catalogue: what the main branch of a sealed course's public repository holds, and nothing else of the course."""

from collections.abc import Iterator
from pathlib import Path

import git
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grading.course.catalog import Course, CourseError, Lab
from grading.delivery import plumbing
from grading.delivery.plumbing import Tree

WORKFLOWS = ["cache", "chatops", "grade", "release"]  # those that serve learners; the others need the whole course
WHOLE = [".github/actions", *(f".github/workflows/{name}.yml" for name in WORKFLOWS), "grading", "upstream_snapshots"]
WHOLE += [".gitignore", "LICENSE", "SECURITY.md", "challenges/course.yaml", "docs/learner.md", "pyproject.toml"]
WHOLE += [":(exclude)grading/authoring/blank"]  # what `labs new` starts from
OF_A_LAB = ["task.md", "hints.yaml", "tickets"]
LOCK = "course.lock"  # names the commit of the private course that grades
Data = dict | list


def catalogue_tree(course: Course) -> Tree:
    """The catalogue of the commit that is checked out; CourseError unless the work tree is exactly that commit."""
    repo = _clean(course)
    listed = repo.git.ls_files("-z", "--", *WHOLE, *(f"{_name(lab)}/{one}" for lab in course.labs for one in OF_A_LAB))
    tree = {path: (course.root / path).read_bytes() for path in listed.split("\0") if path}
    for lab in course.labs:
        tree |= dict(_cut(lab))
    tree["README.md"] = _readme(course).encode()
    tree[LOCK] = f"{repo.head.commit.hexsha}\n".encode()
    return dict(sorted(tree.items()))


def _clean(course: Course) -> git.Repo:
    """The grader checks a commit out, so what is published has to be one."""
    try:
        repo = plumbing.open_repository(course.root)
        changed = repo.git.status("--porcelain").splitlines()
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        raise CourseError(
            f"{course.root} is no clone of the private course: a sealed course is graded by commit"
        ) from None
    if changed:
        what = changed[0][3:] + (f" and {len(changed) - 1} more" if changed[1:] else "")
        raise CourseError(
            f"not committed yet: {what}; a sealed course is graded by commit, so commit or remove it first"
        )
    return repo


def _name(lab: Lab) -> str:
    return f"challenges/{lab.folder.name}"


def _cut(lab: Lab) -> Iterator[tuple[str, bytes]]:
    """A lab's files of which the learner sees a part: no helpers of the solution, nothing for the examiner's ear."""
    yield (
        f"{_name(lab)}/lab.yaml",
        _dump({key: value for key, value in _read(lab, "lab.yaml").items() if key != "drop"}),
    )
    if (lab.folder / "exam.yaml").is_file():
        questions = [{key: value for key, value in one.items() if key != "look_for"} for one in _read(lab, "exam.yaml")]
        yield f"{_name(lab)}/exam.yaml", _dump(questions)


def _read(lab: Lab, name: str) -> Data:
    return yaml.safe_load((lab.folder / name).read_text(encoding="utf-8"))


def _dump(data: Data) -> bytes:
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120).encode()


def _readme(course: Course) -> str:
    loader = FileSystemLoader(Path(__file__).parent)
    pages = Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True)
    chapters = [(one, [lab for lab in course.labs if lab.chapter == one.id]) for one in course.chapters]
    return pages.get_template("catalogue.md.jinja").render(
        course=course, chapters=[(one, labs) for one, labs in chapters if labs], first=course.order[0]
    )
