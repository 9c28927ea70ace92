"""The strict comparison: type, shape, dtype, finite, then values, and a sentence that says where they part."""

import math
from typing import Any

import torch

from grading.judge.errors import Failure


def close(got: Any, want: Any, tol: float = 0.0, what: str = "", nonfinite: bool = False) -> None:
    """Fail unless `got` is `want`: same types and shapes all the way down, numbers within `tol·max(1, max|want|)`.

    Tensors: shape, dtype, no NaN or inf (unless `nonfinite`, then in the same places), then values. `tol=0`: equal.
    """
    if isinstance(want, torch.Tensor):
        return _tensors(got, want, tol, what or "the result", nonfinite)
    if isinstance(want, dict):
        _same_type(got, want, dict, what)
        if sorted(got) != sorted(want):
            raise Failure("type", f"{what or 'the result'} has other keys", expected=sorted(want), got=sorted(got))
        for key, item in want.items():
            close(got[key], item, tol, f"{what}[{key!r}]", nonfinite)
        return None
    if isinstance(want, list | tuple):
        _same_type(got, want, type(want), what)
        if len(got) != len(want):
            raise Failure("shape", f"{what or 'the result'} has another length", expected=len(want), got=len(got))
        for index, item in enumerate(want):
            close(got[index], item, tol, f"{what}[{index}]", nonfinite)
        return None
    return _scalars(got, want, tol, what or "the result")


def check(condition: bool, message: str, expected: Any = "", got: Any = "") -> None:
    """Fail with a sentence of the test's own."""
    if not condition:
        raise Failure("value", message, expected=show(expected), got=show(got))


def show(value: Any) -> str:
    """A value as a learner wants to read it: short, tensors with shape and dtype."""
    if isinstance(value, torch.Tensor):
        head = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
        return f"{head} {_few(value)}"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 400 else text[:400] + " …"


def _few(tensor: torch.Tensor) -> str:
    flat = tensor.flatten()[:6].tolist()
    body = ", ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in flat)
    return f"[{body}{', …' if tensor.numel() > 6 else ''}]"


def _same_type(got: Any, want: Any, kind: type, what: str) -> None:
    if type(got) is not kind:
        message = f"{what or 'the result'} is a {type(got).__name__}, expected a {kind.__name__}"
        raise Failure("type", message, expected=show(want), got=show(got))


def _tensors(got: Any, want: torch.Tensor, tol: float, what: str, nonfinite: bool) -> None:
    if not isinstance(got, torch.Tensor):
        message = f"{what} is a {type(got).__name__}, expected a tensor"
        raise Failure("type", message, expected=show(want), got=show(got))
    if got.shape != want.shape:
        message = f"{what} has shape {list(got.shape)}, expected {list(want.shape)}"
        raise Failure("shape", message, expected=list(want.shape), got=list(got.shape))
    if got.dtype != want.dtype:
        message = f"{what} has dtype {got.dtype}, expected {want.dtype}"
        raise Failure("dtype", message, expected=str(want.dtype), got=str(got.dtype))
    _values(got, want, tol, what, nonfinite)


def _values(got: torch.Tensor, want: torch.Tensor, tol: float, what: str, nonfinite: bool) -> None:
    finite = torch.isfinite(got)
    if not nonfinite and not finite.all():
        place = _first(~finite)
        raise Failure(
            "nonfinite", f"{what} is {got[place].item()} at {list(place)}", expected=show(want), got=show(got)
        )
    if want.numel() == 0:
        return
    a, b = (t.to(torch.float64) if t.is_floating_point() else t for t in (got, want))
    if not tol or not a.is_floating_point():
        wrong = ~((a == b) | (torch.isnan(a) & torch.isnan(b))) if a.is_floating_point() else a != b
        scale, bound = 1.0, 0.0
    else:
        scale = max(1.0, b[torch.isfinite(b)].abs().max().item() if torch.isfinite(b).any() else 1.0)
        bound = tol * scale
        wrong = ~(((a - b).abs() <= bound) | (a == b) | (torch.isnan(a) & torch.isnan(b)))
    if wrong.any():
        _differ(got, want, wrong, bound, what)


def _differ(got: torch.Tensor, want: torch.Tensor, wrong: torch.Tensor, bound: float, what: str) -> None:
    place = _first(wrong)
    share = f"{int(wrong.sum())} of {wrong.numel()} entries differ"
    message = f"{what}: {share}, first at {list(place)}" + (f" (tolerance {bound:.1e})" if bound else "")
    raise Failure("value", message, expected=_entry(want, place), got=_entry(got, place))


def _entry(tensor: torch.Tensor, place: tuple[int, ...]) -> str:
    value = tensor[place].item()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _first(mask: torch.Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in mask.nonzero()[0])


def _scalars(got: Any, want: Any, tol: float, what: str) -> None:
    _same_type(got, want, type(want), what)
    if isinstance(want, float) and math.isfinite(want):
        if not math.isfinite(got):
            raise Failure("nonfinite", f"{what} is {got}", expected=show(want), got=show(got))
        equal = abs(got - want) <= tol * max(1.0, abs(want))
    else:
        equal = got == want or (got != got and want != want)
    if not equal:
        raise Failure("value", f"{what} differs", expected=show(want), got=show(got))
