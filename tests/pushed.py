"""A repository as a hostile learner would make it: objects written by hand, so that nothing is impossible."""

import hashlib
import os
import subprocess
import zlib

import pytest

from grading.course.submission import Refusal, Refused, from_commit
from grading.course.trees import starter_tree


class Pushed:
    """A bare repository with the published branch, and commits on it made by plumbing: no name is impossible."""

    def __init__(self, folder, course, lab="l02"):
        self.folder, self.lab = folder, course.lab(lab)
        self.starter = starter_tree(course, self.lab)
        self.git("init", "-q", "--bare", "--template=", ".")
        self.tip = self.commit(self.starter, parents=[])
        self.git("update-ref", f"refs/heads/{self.lab.branch}", self.tip)

    def git(self, *arguments) -> str:
        who = {"GIT_COMMITTER_NAME": "ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **who}
        return subprocess.run(
            ["git", *arguments], cwd=self.folder, env=env, capture_output=True, check=True, text=True
        ).stdout

    def put(self, kind: str, content: bytes) -> str:
        """Writes a loose object, checked by nobody."""
        data = f"{kind} {len(content)}\0".encode() + content
        sha = hashlib.sha1(data).hexdigest()
        path = self.folder / "objects" / sha[:2] / sha[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(data, 1))
        return sha

    def tree(self, files: dict) -> str:
        """The SHA of a tree of {path (str or bytes): content, or (mode, content or SHA)}."""
        entries, folders = [], {}
        for path, value in files.items():
            name, _, rest = (path if isinstance(path, bytes) else path.encode()).partition(b"/")
            mode, content = value if isinstance(value, tuple) else ("100644", value)
            if rest:
                folders.setdefault(name, {})[rest] = value
            else:
                entries.append((name, mode, content if isinstance(content, str) else self.put("blob", content)))
        entries += [(name + b"/", "40000", self.tree(inner)) for name, inner in folders.items()]
        lines = [
            mode.encode() + b" " + name.rstrip(b"/") + b"\0" + bytes.fromhex(sha) for name, mode, sha in sorted(entries)
        ]
        return self.put("tree", b"".join(lines))

    def commit(self, files: dict, parents=None) -> str:
        parents = "".join(f"parent {parent}\n" for parent in ([self.tip] if parents is None else parents))
        who = "ada <ada@example.org> 0 +0000"
        return self.put(
            "commit", f"tree {self.tree(files)}\n{parents}author {who}\ncommitter {who}\n\npatch\n".encode()
        )

    def edited(self, edits: dict, without=(), **kinds) -> str:
        """A commit of the starter with some files replaced, added or left out."""
        kept = {path: content for path, content in self.starter.items() if not path.startswith(tuple(without) or "\0")}
        return self.commit(kept | edits, **kinds)

    def grade(self, edits: dict, without=(), **kinds):
        return self.submission(self.edited(edits, without, **kinds))

    def submission(self, commit: str):
        return from_commit(self.folder, commit, self.lab, self.starter, f"refs/heads/{self.lab.branch}")

    def refused(self, edits: dict, without=()) -> list[Refusal]:
        with pytest.raises(Refused) as error:
            self.grade(edits, without)
        return error.value.refusals
