"""What the tests ask of the memory saver, of the manager that drives it, and of graphs over its memory.

Memory is judged by the kernel's word (`residency.py`), never by what the saver believes of itself.
"""

import faulthandler
import mmap
import os
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import cache, partial
from types import SimpleNamespace

import torch
import torch.distributed as dist

from mini_infra.sglang.srt.managers.io_struct import ReleaseMemoryOccupationReqInput, ResumeMemoryOccupationReqInput
from mini_infra.sglang.srt.managers.scheduler_components.weight_updater import SchedulerWeightUpdaterManager
from mini_infra.sglang.srt.model_executor.forward_batch_info import ForwardBatch
from mini_infra.sglang.srt.model_executor.runner.decode_cuda_graph_runner import DecodeCudaGraphRunner
from mini_infra.sglang.srt.model_executor.runner_backend.full_cuda_graph_backend import FullCudaGraphBackend
from mini_infra.sglang.srt.models.tiny_decoder import KVPool, TinyDecoder
from mini_infra.torch_memory_saver.entrypoint import TorchMemorySaver
from mini_infra.torch_memory_saver.residency import mappings, permissions, resident_bytes

MODES = ("", "rw-p", "---p", "rw-s", "---s", "mixed")  # what the number in a row stands for
GARBAGE = 77


def as_bytes(tensor):
    """The tensor's bytes in the order of its indices, uint8 [n]."""
    return tensor.contiguous().reshape(-1).view(torch.uint8)


# ---- the saver ----------------------------------------------------------------------------------------------------


def enter(saver, stack, regions):
    """Enter the regions, outermost first: [tag, enable_cpu_backup] each, or "disable"."""
    for one in regions:
        stack.enter_context(saver.disable() if one == "disable" else saver.region(*one))


class Memory:
    """A saver and the tensors that it handed out, by number."""

    def __init__(self):
        self.saver, self.tensors = TorchMemorySaver(), []

    def allocate(self, regions, shape, dtype, content=None):
        with ExitStack() as stack:
            enter(self.saver, stack, regions)
            tensor = self.saver.allocate(tuple(shape), getattr(torch, dtype))
        self.tensors.append(tensor)
        if content is not None:
            self.write(len(self.tensors) - 1, content)

    def write(self, index, content):
        tensor = self.tensors[index]
        tensor.copy_(content.view(tensor.dtype).view(tensor.shape))

    def fill(self, index, value):
        self.tensors[index].fill_(value)

    def pause(self, tag, within=None):
        """Pause the tag; inside the region `within`, which is none of a pause's business."""
        with ExitStack() as stack:
            enter(self.saver, stack, [within] if within else [])
            self.saver.pause(tag)

    def resume(self, tag):
        self.saver.resume(tag)

    def rows(self, read):
        """`row` of each tensor. Reading comes first: it brings in what is missing."""
        digests = [bytes_digest(tensor) if index in read else -1 for index, tensor in enumerate(self.tensors)]
        mapped = mappings()
        return [self.row(tensor, digest, mapped) for tensor, digest in zip(self.tensors, digests, strict=True)]

    def row(self, tensor, digest, mapped):
        """Address, resident bytes, mode, digest of the bytes (-1: not read). The range is that of whole pages."""
        address = tensor.data_ptr()
        if tensor.numel() == 0:
            return [address, 0, 0, digest]
        start = address // mmap.PAGESIZE * mmap.PAGESIZE
        nbytes = -(-(address + tensor.nbytes - start) // mmap.PAGESIZE) * mmap.PAGESIZE
        mode = permissions(start, nbytes, mapped)
        resident = resident_bytes(start, nbytes) if mode else -1
        return [address, resident, MODES.index(mode) if mode in MODES else -1, digest]


def bytes_digest(tensor):
    """A number that each byte of the tensor has a part in, and its place."""
    content = as_bytes(tensor.detach()).to(torch.int64)
    return int((content * (torch.arange(len(content)) % 251 + 1)).sum())


def memory(script, look=()):
    """Run operations of `Memory` ({"op": "allocate" | "write" | "pause" | …, its arguments, "read": indices}).

    After each: int64 [tensors, 4], the rows of all tensors, digests of those in `read`. At the end also whether the
    tensors of `look` are what a plain tensor is: shape, dtype.
    """
    state, steps = Memory(), []
    for step in script:
        arguments = {key: value for key, value in step.items() if key not in ("op", "read")}
        getattr(state, step["op"])(**arguments)
        rows = state.rows(step.get("read", ()))
        steps.append(torch.tensor(rows, dtype=torch.int64))
    kinds = [[list(state.tensors[index].shape), str(state.tensors[index].dtype)] for index in look]
    return {"steps": steps, "kinds": kinds}


VIEWS = {
    "whole": lambda t: t,
    "parameter": lambda t: torch.nn.Parameter(t, requires_grad=False),
    "reversed": lambda t: t.permute(*reversed(range(t.dim()))),
    "strided": lambda t: t[1::2],
    "detached": lambda t: t.detach(),
    "flat": lambda t: t.view(-1)[3:],
}


def bits(shape, dtype, content, backup=True):
    """Views taken before a pause, and their bytes after the resume, by name. `content` uint8 [bytes]."""
    state = Memory()
    state.allocate([["weights", backup]], shape, dtype, content)
    views = {name: make(state.tensors[0]) for name, make in VIEWS.items()}
    before = {name: view.data_ptr() for name, view in views.items()}
    state.pause("weights")
    state.resume("weights")
    after = {name: view.data_ptr() for name, view in views.items()}
    return {"bytes": {name: as_bytes(view.detach()) for name, view in views.items()}, "moved": before != after}


def signal_of(action):
    """The signal that ends a child which does `action`, 0 if none does."""
    if (child := os.fork()) == 0:
        faulthandler.disable()  # the signal is no accident
        action()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def touch():
    """Signals of children that read or write a tensor and a view of it: while paused, and after the resume."""
    state = Memory()
    state.allocate([["weights", True]], [3000], "float32")
    state.allocate([["kv_cache", False]], [3000], "float32")
    state.fill(0, 3)
    state.fill(1, 3)
    weights, cached = state.tensors
    ways = {
        "read": lambda: weights[2999].item(),
        "read a view": partial(lambda view: view.item(), weights[10:20][3]),
        "write": lambda: weights[0].fill_(1),
        "read without backup": lambda: cached[0].item(),
        "write without backup": lambda: cached[2500].fill_(1),
    }
    state.pause(None)
    paused = {name: signal_of(action) for name, action in ways.items()}
    state.resume(None)
    return {"paused": paused, "resumed": {name: signal_of(action) for name, action in ways.items()}}


def status(name):
    """Bytes of the line `name` of /proc/self/status."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def peak(count, nbytes):
    """This process's memory beyond what it has with `count` full tensors of `nbytes`: its peak up to the end of the
    pause, and then; its peak up to the end of the resume, and then."""
    state = Memory()
    for index in range(count):
        state.allocate([["weights", True]], [nbytes], "uint8")
        state.fill(index, 5)
    full = status("VmRSS")
    state.pause("weights")
    paused = [status("VmHWM") - full, status("VmRSS") - full]
    state.resume("weights")
    return {"pause": paused, "resume": [status("VmHWM") - full, status("VmRSS") - full]}


def leak(cycles, nbytes):
    """Mappings of this process and bytes of backups: after one cycle, and after `cycles` more."""
    state = Memory()
    for tag, backup in (("weights", True), ("kv_cache", False), ("cuda_graph", True)):
        state.allocate([[tag, backup]], [nbytes], "uint8")
    counts = []
    for times in (1, cycles):
        for _ in range(times):
            state.pause(None)
            held = state.saver.backup_bytes()
            state.resume(None)
        counts.append([len(mappings()), held, state.saver.backup_bytes()])
    return {"counts": counts, "allocations": len(state.saver.allocations)}


# ---- the manager --------------------------------------------------------------------------------------------------


@cache
def group_of_one():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


class Model(torch.nn.Module):
    """Parameters and buffers of many kinds; `listed` is called when someone asks for the buffers."""

    def __init__(self, listed=lambda: None):
        super().__init__()
        self.listed = listed
        self.weight = torch.nn.Parameter(torch.ones(3), requires_grad=False)
        self.register_buffer("inv_freq", torch.zeros(5), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.inner = torch.nn.Module()
        self.inner.register_buffer("mask", torch.zeros(4, dtype=torch.bool))

    def named_buffers(self, *args, **kwargs):
        self.listed()
        return super().named_buffers(*args, **kwargs)

    def tensors(self):
        return [self.inv_freq, self.count, self.inner.mask]


class Recorder:
    """Stands in for the saver: notes calls. Weights are garbage while paused, and zeros when they come back."""

    def __init__(self, model, trace):
        self.model, self.trace = model, trace

    def pause(self, tag):
        self.trace.append(f"pause {tag}")
        self._set(tag, GARBAGE)

    def resume(self, tag):
        self.trace.append(f"resume {tag}")
        self._set(tag, 0)

    def _set(self, tag, value):
        if tag == "weights":
            for tensor in [self.model.weight, *self.model.tensors()]:
                tensor.fill_(value)


def requests_of(manager):
    """Name -> function of the tags: the two requests."""
    return {
        "release": lambda tags: manager.release_memory_occupation(ReleaseMemoryOccupationReqInput(tags=tags)),
        "resume": lambda tags: manager.resume_memory_occupation(ResumeMemoryOccupationReqInput(tags=tags)),
    }


def worker(model):
    return SimpleNamespace(model_runner=SimpleNamespace(model=model))


def manager(script, buffers):
    """Requests {"op": "release" | "resume", "tags", "idle"} in turn, over a recorder.

    For each: trace, offload_tags, buffers, whether there is a stash, the answer's type or the error's type and text.
    """
    group_of_one()
    trace, model, state = [], Model(), {"idle": True}
    for tensor, values in zip(model.tensors(), buffers, strict=True):
        tensor.copy_(values)
    made = SchedulerWeightUpdaterManager(
        tp_worker=worker(model),
        memory_saver_adapter=Recorder(model, trace),
        flush_cache=lambda: trace.append("flush"),
        is_fully_idle=lambda: state["idle"],
    )
    answers = []
    for step in script:
        trace.clear()
        state["idle"] = step.get("idle", True)
        try:
            answer = type(requests_of(made)[step["op"]](step["tags"])).__name__
        except (AssertionError, KeyError) as error:
            answer = f"{type(error).__name__}: {error}"
        now = {"buffers": [tensor.clone() for tensor in model.tensors()], "answer": answer, "trace": list(trace)}
        answers.append(
            now
            | {
                "tags": sorted(made.offload_tags),
                "stash": getattr(made, "stashed_model_static_state", None) is not None,
            }
        )
    return answers


class Clock:
    """Numbers events of several ranks in one order, and lets the slow rank wait for the other's haste."""

    def __init__(self, store, rank, slow, patience_s):
        self.store, self.rank, self.slow, self.patience_s = store, rank, slow, patience_s
        self.events = {}

    def note(self, event, awaited=None):
        """The slow rank comes to `event` only when the other has done `awaited`, or has not for `patience_s`."""
        if awaited and self.rank == self.slow:
            with suppress(RuntimeError):  # the other rank waits for us, as it should
                self.store.wait([f"{awaited} {1 - self.rank}"], timedelta(seconds=self.patience_s))
        self.events.setdefault(event, self.store.add("clock", 1))
        self.store.set(f"{event} {self.rank}", "done")


class SlowRecorder(Recorder):
    def __init__(self, model, clock):
        super().__init__(model, [])
        self.clock = clock

    def pause(self, tag):
        if tag == "weights":
            self.clock.note("pause")
        super().pause(tag)

    def resume(self, tag):
        if tag == "weights":
            self.clock.note("resume", "restore")
        super().resume(tag)


def barrier(groups, slow, patience_s, lab_rank, lab_store, lab_record):
    """Release and resume the weights on the ranks of the first of `groups`, of which rank `slow` dawdles: when what."""
    made = [dist.new_group(ranks) for ranks in groups]
    if lab_rank not in groups[0]:
        return {}
    clock = Clock(lab_store, lab_rank, slow, patience_s)
    model = Model(lambda: clock.note("restore") if "resume" in clock.events else clock.note("stash", "pause"))
    one = SchedulerWeightUpdaterManager(
        tp_worker=worker(model),
        memory_saver_adapter=SlowRecorder(model, clock),
        flush_cache=lambda: None,
        is_fully_idle=lambda: True,
        tp_cpu_group=made[0],
    )
    with lab_record.phase("release"):
        requests_of(one)["release"](["weights", "kv_cache"])
    with lab_record.phase("resume"):
        requests_of(one)["resume"](["weights"])
    with lab_record.phase("kv_cache"):
        requests_of(one)["resume"](["kv_cache"])
    return clock.events


# ---- graphs -------------------------------------------------------------------------------------------------------

ROWS = ("input_ids", "req_pool_indices", "seq_lens", "out_cache_loc", "positions")
DTYPE = torch.float64


class Engine:
    """The tiny decoder, its pool and its graphs; with `saver` all of it lies in the saver's regions."""

    def __init__(self, weights, running_mean, slots, rows, max_len, capture_bs, saver):
        vocab, dim = weights["embed"].shape
        self.saver = TorchMemorySaver() if saver else None
        with self.region("weights"):
            self.model = TinyDecoder(vocab, dim, self.allocate, DTYPE)
        with self.region("kv_cache"):
            self.pool = KVPool(slots, rows, max_len, dim, self.allocate, DTYPE)
        self.model.load_weights(weights)
        self.model.init_buffers(running_mean)
        self.backend, self.flushes = FullCudaGraphBackend(self.saver), 0
        self.runner = DecodeCudaGraphRunner(lambda batch: self.model(batch, self.pool), capture_bs, self.backend)
        self.manager = SchedulerWeightUpdaterManager(
            tp_worker=worker(self.model),
            memory_saver_adapter=self.saver,
            flush_cache=self.flush,
            is_fully_idle=lambda: True,
        )

    def region(self, tag):
        return self.saver.region(tag) if self.saver else ExitStack()

    def allocate(self, shape, dtype):
        return self.saver.allocate(shape, dtype) if self.saver else torch.zeros(shape, dtype=dtype)

    def flush(self):
        self.flushes += 1

    def step(self, op, **given):
        """One operation; what it returns joins the answer."""
        return getattr(self, op)(**given)

    def prefill(self, slots, k, v):
        """Keys and values of tokens that another forward pass computed."""
        self.pool.k[slots], self.pool.v[slots] = k, v

    def rows(self, rows):
        """Each request's slots by position."""
        self.pool.req_to_token.copy_(rows)

    def load(self, weights):
        self.model.load_weights(weights)

    def decode(self, **rows):
        """A decode step: logits, and the pool after it."""
        logits = self.runner.execute(ForwardBatch(**rows)).clone()
        return {"logits": logits, "k": self.pool.k.clone(), "v": self.pool.v.clone(), "bs": self.runner.bs}

    def cycle(self, release, resume):
        """Release the memory of these tags and take it again in the steps of `resume`; what is resident in between."""
        requests = requests_of(self.manager)
        requests["release"](release)
        held = self.resident()
        for tags in resume:
            requests["resume"](tags)
        return {"held": held, "flushes": self.flushes}

    def resident(self):
        """Bytes of parameters and buffers, and of the pool, that are resident."""
        weights = [*self.model.parameters(), *self.model.buffers()]
        pool = [self.pool.k, self.pool.v, self.pool.req_to_token]
        return [sum(resident_bytes(one.data_ptr(), one.nbytes) for one in some) for some in (weights, pool)]

    def state(self):
        """What the model and the pool hold."""
        tensors = dict(self.model.named_parameters()) | dict(self.model.named_buffers())
        named = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        return {"model": named, "pool": [self.pool.k.clone(), self.pool.v.clone(), self.pool.req_to_token.clone()]}


def graph(weights, running_mean, slots, rows, max_len, capture_bs, steps, saver=False):
    """Steps {"op": a method of Engine, its arguments} in turn: their answers, captures, and the buckets replayed."""
    if saver:
        group_of_one()
    engine = Engine(weights, running_mean, slots, rows, max_len, capture_bs, saver)
    answers = [engine.step(**step) for step in steps]
    return {"answers": answers, "captures": engine.backend.capture_count, "replayed": engine.backend.replayed}


def buffers(capture_bs, batches):
    """`load_batch` of each batch on one runner: raw_bs, bs, and what the buffers hold, int64 [5, max bs]."""
    runner = DecodeCudaGraphRunner(lambda batch: batch.positions.double()[:, None], capture_bs, FullCudaGraphBackend())
    before, out = [getattr(runner.buffers, name).data_ptr() for name in ROWS], []
    for batch in batches:
        runner.load_batch(ForwardBatch(**batch))
        held = [getattr(runner.buffers, name) for name in ROWS]
        moved = before != [one.data_ptr() for one in held]
        out.append({"sizes": [runner.raw_bs, runner.bs], "held": torch.stack(held), "moved": moved})
    return out
