"""YAML that remembers its lines, so that an error of a model can say where to look."""

import difflib
from pathlib import Path

import yaml
from pydantic import BaseModel, ValidationError

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CourseError(ValueError):
    """Something in the course's own files is wrong; the message names file and line and what to do."""


class Marked:
    """One YAML file: `.data`, and `.error(loc, says)` for a place in it, given as a path of keys and indices."""

    def __init__(self, path: Path, shown: str):
        self.shown = shown
        try:
            loader = LOADER(path.read_text(encoding="utf-8"))
            self._node = loader.get_single_node()
            self._refuse_repeats(self._node)
            self.data = loader.construct_document(self._node) if self._node else None
        except FileNotFoundError:
            raise CourseError(f"{shown}: no such file") from None
        except UnicodeDecodeError:
            raise CourseError(f"{shown}: not UTF-8 text") from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise CourseError(f"{shown}:{line}: {error.problem}") from None
        except yaml.YAMLError as error:
            raise CourseError(f"{shown}: {error}") from None
        if not isinstance(self.data, dict):
            raise CourseError(f"{shown}:1: expected 'key: value' lines")

    def error(self, loc: tuple, says: str) -> CourseError:
        return CourseError(f"{self.shown}:{self.line(loc)}: {says}")

    def line(self, loc: tuple) -> int:
        """The line of the deepest part of `loc` that the file has."""
        node, line = self._node, 1
        for part in loc:
            found = _child(node, part)
            if not found:
                break
            line, node = found
        return line

    def model(self, kind: type[BaseModel]) -> BaseModel:
        """The data as `kind`; the first thing wrong with it as a CourseError."""
        try:
            return kind.model_validate(self.data)
        except ValidationError as error:
            # a mistyped key is also a missing one: the first of the two helps
            first = min(error.errors(), key=lambda one: (one["type"] == "missing", self.line(one["loc"])))
            raise self.error(first["loc"], _sentence(first, kind)) from None

    def _refuse_repeats(self, node) -> None:
        if isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                if key.value in seen:
                    raise CourseError(f"{self.shown}:{key.start_mark.line + 1}: '{key.value}' stands here twice")
                seen.add(key.value)
                self._refuse_repeats(value)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                self._refuse_repeats(value)


def _child(node, part):
    """(line, node) below a node: of a key by its name, of an item by its index."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line + 1, node.value[part]
    return None


def _sentence(error: dict, kind: type[BaseModel]) -> str:
    """pydantic's error in a reader's words."""
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        key = str(error["loc"][-1])
        near = difflib.get_close_matches(key, _fields(kind, error["loc"][:-1]), 1, 0.5)
        return f"unknown key '{key}'" + (f" (did you mean '{near[0]}'?)" if near else "")
    if error["type"] == "missing":
        return f"'{where}' is missing"
    return f"{where}: {error['msg'].removeprefix('Value error, ')}"


def _fields(kind: type[BaseModel], loc: tuple) -> list[str]:
    """The keys that a model takes at a place in it."""
    for part in loc:
        if isinstance(part, int) or not isinstance(kind, type) or not issubclass(kind, BaseModel):
            continue
        if part in kind.model_fields:
            kind = _model_in(kind.model_fields[part].annotation)
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def _model_in(annotation):
    """The model inside `list[Model]` or `dict[str, Model]`, or the annotation itself."""
    inner = [one for one in getattr(annotation, "__args__", ()) if isinstance(one, type) and issubclass(one, BaseModel)]
    return inner[0] if inner else annotation
