"""An artifact is believed only when it is what this run's own grade job writes."""

import json
import os
import stat
import zipfile

import pytest
from fake_github import REPO
from github_examples import HEAD, IDS, RUN, parcel

from grading.delivery.github import parcel as parcels
from grading.delivery.github.parcel import ParcelError
from grading.feedback import diagnose


@pytest.fixture(autouse=True)
def known(lab):
    diagnose.save(lab, IDS, {})


def read(path, lab, **other):
    given = {"repository": REPO, "pull": 7, "head": HEAD, "run": RUN} | other
    return parcels.read(path, lab, **given)


def zipped(tmp_path, members):
    path = tmp_path / "artifact.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("verdict", ["PASS", "FAIL"])
def test_our_own_is_read_from_a_folder_and_from_a_zip(lab, tmp_path, verdict):
    parcels.write(parcel(verdict), tmp_path / "out")
    assert read(tmp_path / "out", lab) == parcel(verdict)
    content = (tmp_path / "out" / "report.json").read_bytes()
    assert read(zipped(tmp_path, [("report.json", content)]), lab) == parcel(verdict)


@pytest.mark.parametrize("name", ["repository", "pull", "head", "run"])
def test_another_ones_is_refused(lab, tmp_path, name):
    parcels.write(parcel(), tmp_path / "out")
    with pytest.raises(ParcelError, match=f"of another {name}"):
        read(tmp_path / "out", lab, **{name: 8 if name == "pull" else "f" * 40})


def changed(tmp_path, change):
    data = json.loads(parcel("PASS").model_dump_json())
    change(data)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.json").write_text(json.dumps(data))
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(extra=1), "schema"),
        (lambda d: d["report"].update(verdict="GREAT"), "schema"),
        (lambda d: d["report"].update(lab="l02"), "another lab, commit or seal"),
        (lambda d: d["report"].update(commit="f" * 40), "another lab, commit or seal"),
        (lambda d: d["report"]["tests"][0].update(outcome="failed"), "says PASS"),
        (lambda d: d["report"]["tests"].pop(0), "says PASS"),
        (lambda d: d["report"].update(tests=[]), "says PASS"),
        (lambda d: d["report"].update(counts=False), "says PASS"),
        (lambda d: d["report"]["tests"][0].update(id="test_other.py::test"), "names tests"),
        (lambda d: d["report"]["tests"].append(d["report"]["tests"][0]), "names tests"),
    ],
)
def test_a_verdict_that_does_not_follow_is_refused(lab, tmp_path, change, says):
    with pytest.raises(ParcelError, match=says):
        read(changed(tmp_path, change), lab)


def hostile(tmp_path, kind):
    folder = tmp_path / "out"
    folder.mkdir()
    file = folder / "report.json"
    if kind == "link":
        file.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "two":
        file.write_text("{}")
        (folder / "other").write_text("")
    elif kind == "large":
        with file.open("wb") as out:
            out.truncate(100 * 2**20)
    elif kind == "deep":
        file.write_text("[" * 100_000)
    elif kind == "binary":
        file.write_bytes(b"\xff\xfe\x00")
    return folder


@pytest.mark.parametrize("kind", ["none", "link", "fifo", "folder", "two", "large", "deep", "binary"])
def test_hostile_folders(lab, tmp_path, kind):
    with pytest.raises(ParcelError) as caught:
        read(hostile(tmp_path, kind), lab)
    assert "root:" not in str(caught.value)


def test_a_missing_artifact(lab, tmp_path):
    with pytest.raises(ParcelError, match="no report to read"):
        read(tmp_path / "nothing", lab)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([("../../report.json", "{}")], "not the one file"),
        ([("report.json", "{}"), ("report.json", "{}")], "not the one file"),
        ([("report.json", b"0" * (100 * 2**20))], "larger than"),
        ([], "not the one file"),
    ],
    ids=["path", "twice", "bomb", "empty"],
)
def test_hostile_zips(lab, tmp_path, members, says):
    with pytest.raises(ParcelError, match=says):
        read(zipped(tmp_path, members), lab)


def test_a_link_in_a_zip(lab, tmp_path):
    member = zipfile.ZipInfo("report.json")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(ParcelError, match="not the one file"):
        read(zipped(tmp_path, [(member, "/etc/passwd")]), lab)


def test_no_zip_and_a_broken_one(lab, tmp_path):
    path = tmp_path / "artifact.zip"
    path.write_bytes(b"PK\x03\x04" + os.urandom(100))
    with pytest.raises(ParcelError, match="no report to read"):
        read(path, lab)
    path.write_bytes(b"0" * (2**20 + 1))
    with pytest.raises(ParcelError, match="larger than"):
        read(path, lab)
