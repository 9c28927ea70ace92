"""Files that are whole or not there: written under another name in the same folder, then renamed."""

from pathlib import Path


class NotWritten(Exception):
    """The message names the file and says why."""


def write_whole(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace `path` by this text. NotWritten, and the old file stays, where the folder lacks, is full or not ours."""
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(mode)
        fresh.replace(path)
    except OSError as error:
        raise NotWritten(f"cannot write {path}: {error.strerror}") from None
