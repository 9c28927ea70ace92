"""The recorder: what a rank posts, waits for, computes and saves, streamed while it happens.

It stands on this side of the wall, inside the accused's process: SECURITY.md says what its word is worth.
Each event leaves the process at once on a pipe of its own, so that a hang or a crash still has its record.
"""

import contextlib
import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d
from torch.utils._python_dispatch import TorchDispatchMode

# canonical name -> functions of torch.distributed, and the parameter that holds what this rank passes in
OPERATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "all_reduce": ("tensor", ("all_reduce",)),
    "all_reduce_coalesced": ("tensors", ("all_reduce_coalesced",)),
    "all_gather": ("input_tensor", ("all_gather_single", "all_gather_into_tensor", "_all_gather_base")),
    "all_gather_list": ("tensor", ("all_gather",)),
    "reduce_scatter": ("input", ("reduce_scatter_single", "reduce_scatter_tensor", "_reduce_scatter_base")),
    "reduce_scatter_list": ("input_list", ("reduce_scatter",)),
    "all_to_all": ("input", ("all_to_all_single",)),
    "all_to_all_list": ("input_tensor_list", ("all_to_all",)),
    "broadcast": ("tensor", ("broadcast",)),
    "reduce": ("tensor", ("reduce",)),
    "gather": ("tensor", ("gather",)),
    "scatter": ("tensor", ("scatter",)),
    "send": ("tensor", ("send", "isend")),
    "recv": ("tensor", ("recv", "irecv")),
    "barrier": ("", ("barrier",)),
}
# posts that always return a handle; the others do so with async_op=True
ALWAYS_ASYNC = ("isend", "irecv")
# make groups and their own traffic: never the learner's collectives
SILENT = ("init_process_group", "new_group", "new_subgroups", "split_group", "destroy_process_group")


class Recorder:
    """Writes one JSON line an event to `sink` (a descriptor); silent while `sink` is None or a post is under way."""

    def __init__(self) -> None:
        self.sink: int | None = None
        self.root = "/lab"
        self.case = 0
        self._phase = ""
        self._depth = 0

    def emit(self, kind: str, op: str, **more: Any) -> None:
        if self.sink is None or self._depth > 1:
            return
        path, line = self._caller()
        event = {"case": self.case, "phase": self._phase, "kind": kind, "op": op, "group": (), "numel": 0}
        event |= {"dtype": "", "async_op": False, "file": path, "line": line} | more
        with contextlib.suppress(OSError):
            os.write(self.sink, json.dumps(event, separators=(",", ":")).encode() + b"\n")

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name what follows ("forward", "backward"), so that the judge can tell the events apart."""
        before, self._phase = self._phase, name
        try:
            yield
        finally:
            self._phase = before

    @contextlib.contextmanager
    def ops(self) -> Iterator["OpLog"]:
        """Record each aten operation in order; they also join the events with kind `op`."""
        log = OpLog()
        with _OpMode(log, self):
            yield log

    @contextlib.contextmanager
    def saved(self) -> Iterator["SavedLog"]:
        """Count what autograd saves for backward, each tensor and each storage once."""
        log = SavedLog()
        with torch.autograd.graph.saved_tensors_hooks(log.pack, lambda tensor: tensor):
            yield log

    @contextlib.contextmanager
    def nested(self) -> Iterator[None]:
        """A call inside a recorded one is no second event."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def _caller(self) -> tuple[str, int]:
        """The innermost line of the learner's tree on the stack."""
        frame: Any = sys._getframe(2)
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith(self.root + "/"):
                return path[len(self.root) + 1 :], frame.f_lineno
            frame = frame.f_back
        return "", 0


@dataclass
class OpLog:
    """`names`: aten operations in order, without overload; `max_numel`: elements of the largest result."""

    names: list[str] = field(default_factory=list)
    max_numel: int = 0


class SavedLog:
    """`numel`: elements saved, each tensor once; `nbytes`: bytes of their storages, each storage once."""

    def __init__(self) -> None:
        self._tensors: dict[tuple[int, int, tuple[int, ...]], torch.Tensor] = {}

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        key = (tensor.untyped_storage().data_ptr(), tensor.storage_offset(), tuple(tensor.shape))
        self._tensors[key] = tensor
        return tensor

    @property
    def numel(self) -> int:
        return sum(tensor.numel() for tensor in self._tensors.values())

    @property
    def nbytes(self) -> int:
        storages = [tensor.untyped_storage() for tensor in self._tensors.values()]
        return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


class _OpMode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """The default wraps the hook so that its first use imports torch._dynamo: three seconds in each fork."""
        return False

    def __init__(self, log: OpLog, recorder: Recorder):
        super().__init__()
        self.log, self.recorder = log, recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace == "aten":
            name = func.overloadpacket.__name__
            numel = max((r.numel() for r in _tensors(result)), default=0)
            self.log.names.append(name)
            self.log.max_numel = max(self.log.max_numel, numel)
            self.recorder.emit("op", name, numel=numel)
        return result


class RecordedWork:
    """An async handle whose `wait` is an event too."""

    def __init__(self, work: Any, recorder: Recorder, event: dict[str, Any]):
        self._work, self._recorder, self._event = work, recorder, event

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        self._recorder.emit("wait", **self._event)
        return self._work.wait(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for item in value for t in _tensors(item)] if isinstance(value, list | tuple) else []


def _wrap(recorder: Recorder, op: str, payload: str, function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def posted(*args: Any, **kwargs: Any) -> Any:
        with recorder.nested():
            event = _describe(op, payload, signature, args, kwargs)
            event["async_op"] |= function.__name__ in ALWAYS_ASYNC
            recorder.emit("post", **event)
            work = function(*args, **kwargs)
        wraps = event["async_op"] and work is not None and not isinstance(work, RecordedWork)
        return RecordedWork(work, recorder, event) if wraps else work

    return posted


def _describe(op: str, payload: str, signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    """The event of one call. A call that does not fit the signature is described as far as it goes; torch complains."""
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        given = {}
    tensors = _tensors(given.get(payload))
    return {
        "op": op.removesuffix("_list"),
        "group": _ranks(given.get("group")),
        "numel": sum(tensor.numel() for tensor in tensors),
        "dtype": str(tensors[0].dtype).removeprefix("torch.") if tensors else "",
        "async_op": bool(given.get("async_op", False)),
    }


def _ranks(group: Any) -> tuple[int, ...]:
    try:
        return tuple(dist.get_process_group_ranks(group if group is not None else dist.group.WORLD))
    except (ValueError, RuntimeError, KeyError, TypeError):
        return ()


def _silence(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def silent(*args: Any, **kwargs: Any) -> Any:
        with recorder.nested(), recorder.nested():
            return function(*args, **kwargs)

    return silent


def install() -> Recorder:
    """Put the recorder around torch.distributed's functions, once a process; events flow when `sink` is set."""
    recorder = Recorder()
    for op, (payload, names) in OPERATIONS.items():
        for name in names:
            _replace(name, functools.partial(_wrap, recorder, op, payload))
    for name in SILENT:
        _replace(name, functools.partial(_silence, recorder))
    return recorder


def _replace(name: str, wrap: Callable[[Any], Any]) -> None:
    original = getattr(distributed_c10d, name, None)
    if original is None:
        return
    wrapped = wrap(original)
    setattr(distributed_c10d, name, wrapped)
    if hasattr(dist, name):
        setattr(dist, name, wrapped)
