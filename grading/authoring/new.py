"""`labs new`: the folder of a lab that fits the schema from its first minute, and says what is still to write."""

import re
import shutil
import tempfile
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grading.course.catalog import COURSE_FILE, Course, CourseError
from grading.course.files import write_whole
from grading.course.models import LAB_ID, by_file
from grading.course.signatures import parameters
from grading.course.spans import module

BLANK = Path(__file__).with_name("blank")
ORDER = re.compile(r"^(order: *\[[^\]]*)\]", re.MULTILINE)


def new(course: Course, lab: str, slug: str, holes: list[str]) -> Path:
    """Make challenges/LAB_SLUG for these holes and put the lab last in the course's order. Returns the folder.

    CourseError, and nothing is changed, where the id or the folder is taken or a hole is not there.
    """
    if not LAB_ID.fullmatch(lab) or not re.fullmatch(r"[a-z0-9_]+", slug):
        raise CourseError(f"{lab} {slug}: a lab is named like l36 policy_loss, with small letters, digits and _")
    taken = sorted((course.root / "challenges").glob(f"{lab}_*"))
    if lab in course.order or taken:
        raise CourseError(f"{lab} is there already: {taken[0].name if taken else COURSE_FILE}")
    order, folder = _order(course, lab), course.root / "challenges" / f"{lab}_{slug}"
    files = _files(course, lab, slug, holes)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as scratch:
        made = Path(scratch) / "lab"
        for path, text in files.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(text, encoding="utf-8")
        made.rename(folder)
    _enter(course, folder, order)
    return folder


def _order(course: Course, lab: str) -> str:
    """course.yaml with the lab at the end of its order; all else, comments included, as it is."""
    text = (course.root / COURSE_FILE).read_text(encoding="utf-8")
    if not (found := ORDER.search(text)):
        raise CourseError(f"{COURSE_FILE}: `order` is not a list in brackets; write {lab} into it by hand")
    listed = found[1].rstrip()
    return text[: found.start()] + f"{listed}{'' if listed.endswith('[') else ', '}{lab}]" + text[found.end() :]


def _enter(course: Course, folder: Path, order: str) -> None:
    """Write the order; if the course then does not load, everything is as before."""
    path = course.root / COURSE_FILE
    before = path.read_text(encoding="utf-8")
    write_whole(path, order)
    try:
        Course.load(course.root)
    except CourseError:
        write_whole(path, before)
        shutil.rmtree(folder)
        raise


def _files(course: Course, lab: str, slug: str, holes: list[str]) -> dict[str, str]:
    """Path in the folder -> text, from the templates in blank/."""
    pages = Environment(
        loader=FileSystemLoader(BLANK), undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )
    given = {
        "lab": lab,
        "slug": slug,
        "title": slug.replace("_", " ").capitalize(),
        "chapter": course.chapters[-1].id,
        "holes": [_hole(course, name) for name in holes],
        "layers": (
            "patch_contract",
            "mini_infra_alignment",
            "real_source_path",
            "system_interaction",
            "debug_transfer",
        ),
    }
    names = sorted(path.relative_to(BLANK).as_posix() for path in BLANK.rglob("*.jinja"))
    return {name.removesuffix(".jinja"): pages.get_template(name).render(given) for name in names}


def _hole(course: Course, name: str) -> dict:
    """What the templates say of a hole: its file, its module, and the parameters that a call gives."""
    ((path, [qualname]),) = by_file([name]).items()
    try:
        node = module((course.root / path).read_text(encoding="utf-8")).find(qualname).node
    except (OSError, ValueError) as error:
        raise CourseError(f"{name}: {error}") from None
    given = [one for one in parameters(node) if one not in ("self", "cls")] if hasattr(node, "args") else []
    package, _, stem = path.removesuffix(".py").replace("/", ".").rpartition(".")
    return {"path": path, "package": package, "module": stem, "name": qualname, "parameters": given}
