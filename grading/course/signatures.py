"""Whether a function can take another's place: its parameters against those that callers know."""

import ast

from grading.course.spans import FUNCTIONS


def parameters(node: ast.AST) -> dict[str, bool]:
    """Name -> has a default, of every parameter in order; `*args` and `**options` as they are written."""
    given = node.args
    placed = [*given.posonlyargs, *given.args]
    first = len(placed) - len(given.defaults)
    found = {one.arg: index >= first for index, one in enumerate(placed)}
    if given.vararg:
        found[f"*{given.vararg.arg}"] = True
    found |= {one.arg: value is not None for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)}
    if given.kwarg:
        found[f"**{given.kwarg.arg}"] = True
    return found


def placed(node: ast.AST) -> list[str]:
    """The names of the parameters that a caller may give by place."""
    return [one.arg for one in [*node.args.posonlyargs, *node.args.args]]


def misfits(mine: ast.AST, theirs: ast.AST) -> list[str]:
    """Why `mine` cannot stand where callers expect `theirs`; extra parameters that have defaults are no reason."""
    if not (isinstance(mine, FUNCTIONS) and isinstance(theirs, FUNCTIONS)):
        return [] if type(mine) is type(theirs) else ["one is a class, the other a function"]
    if type(mine) is not type(theirs):
        return ["one is async, the other is not"]
    ours, known = parameters(mine), parameters(theirs)
    found = [f"upstream's parameter {name} is not in yours" for name in known if name not in ours]
    found += [
        f"your parameter {name} is not upstream's and has no default" for name in ours if _extra(name, ours, known)
    ]
    found += [f"parameter {name} has a default upstream" for name in ours if known.get(name) and not ours[name]]
    shared = [name for name in placed(theirs) if name in placed(mine)]
    if not found and placed(mine)[: len(shared)] != shared:
        found.append(f"the places differ: ({', '.join(placed(mine))}), upstream ({', '.join(placed(theirs))})")
    return found


def _extra(name: str, ours: dict[str, bool], known: dict[str, bool]) -> bool:
    return name not in known and not ours[name]
