"""Graphs: padding, static buffers, and replays over memory that was away."""

import sys
from pathlib import Path

import pytest
import torch

from grading import lab

sys.path.insert(0, str(Path(__file__).parent))
from oracle import Decoder

VOCAB, DIM, SLOTS, ROWS, MAX_LEN = 19, 6, 64, 12, 5
BUCKETS, LOAD_BUCKETS = [1, 2, 4, 8], [1, 4, 6, 8]
NAMES = ("input_ids", "req_pool_indices", "seq_lens", "out_cache_loc", "positions")
KV, WEIGHTS, GRAPH = "kv_cache", "weights", "cuda_graph"


def randn(lab, *shape):
    return torch.randn(*shape, generator=lab.generator, dtype=torch.float64)


def draw_weights(lab):
    shapes = {"embed": (VOCAB, DIM), "head": (VOCAB, DIM), **dict.fromkeys(("wq", "wk", "wv", "wo"), (DIM, DIM))}
    return {name: randn(lab, *shape) for name, shape in shapes.items()}


class Run:
    """A script for the engine, and beside it the answers that it should have."""

    def __init__(self, lab, saver=False):
        self.lab, self.saver = lab, saver
        self.weights, self.mean = draw_weights(lab), randn(lab, DIM)
        sizes = {"slots": SLOTS, "rows": ROWS, "max_len": MAX_LEN}
        self.oracle = Decoder(self.weights, self.mean, **sizes)
        self.given = {
            "weights": self.weights,
            "running_mean": self.mean,
            "capture_bs": BUCKETS,
            "saver": saver,
            **sizes,
        }
        self.steps, self.want, self.sizes = [], [], []

    def add(self, op, want=None, **given):
        self.steps.append({"op": op, **given})
        self.want.append(want)

    def prefill(self):
        """New requests in all rows: their slots, and keys and values of all of them, but slot 0."""
        order = torch.randperm(SLOTS - 1, generator=self.lab.generator)[: (ROWS - 1) * MAX_LEN] + 1
        rows = torch.cat([torch.zeros(1, MAX_LEN, dtype=torch.int64), order.view(ROWS - 1, MAX_LEN)])
        slots, k, v = torch.arange(1, SLOTS), randn(self.lab, SLOTS - 1, DIM), randn(self.lab, SLOTS - 1, DIM)
        self.oracle.k[slots], self.oracle.v[slots], self.oracle.table = k, v, rows
        self.add("rows", rows=rows)
        self.add("prefill", slots=slots, k=k, v=v)

    def decode(self, bs):
        """A step of `bs` requests of random rows and lengths."""
        rows = torch.randperm(ROWS - 1, generator=self.lab.generator)[:bs] + 1
        lengths = torch.randint(1, MAX_LEN + 1, (bs,), generator=self.lab.generator)
        batch = {
            "input_ids": torch.randint(0, VOCAB, (bs,), generator=self.lab.generator),
            "req_pool_indices": rows,
            "seq_lens": lengths,
            "out_cache_loc": self.oracle.table[rows, lengths - 1],
            "positions": lengths - 1,
        }
        logits = self.oracle.decode(batch)
        self.add("decode", (bs, logits, self.oracle.k.clone(), self.oracle.v.clone()), **batch)
        self.sizes += [bucket_of(bs)] if bs <= BUCKETS[-1] else []

    def load(self):
        """New weights."""
        self.oracle.weights = draw_weights(self.lab)
        self.add("load", weights=self.oracle.weights)

    def cycle(self, release=None, resume=(None,)):
        self.add("cycle", release=release, resume=list(resume))
        if KV in (release or [KV]):
            self.oracle.forget()

    def run(self):
        [got] = self.lab.run("graph", steps=self.steps, **self.given)
        return got

    def check(self, got):
        """Logits of each decode step, the keys and values of all live slots, the buckets, the captures."""
        if missing := len(self.sizes) - len(got["replayed"]):
            self.lab.note("some replays" if got["replayed"] and missing > 0 else "no replay" if missing > 0 else "more")
        if got["captures"] != len(BUCKETS):
            self.lab.note("captures")
        for number, (want, answer) in enumerate(zip(self.want, got["answers"], strict=True)):
            if want is not None:
                bs, logits, k, v = want
                self.lab.close(answer["logits"], logits, tol=1e-9, what=f"logits of {bs} requests in step {number}")
                for name, table in (("k", k), ("v", v)):
                    what = f"{name} of the live slots after step {number}"
                    self.lab.close(answer[name][1:], table[1:], tol=1e-9, what=what)
        self.lab.check(got["replayed"] == self.sizes, "buckets that were replayed", self.sizes, got["replayed"])
        self.lab.check(got["captures"] == len(BUCKETS), "captures", len(BUCKETS), got["captures"])


def bucket_of(bs):
    return next(bucket for bucket in BUCKETS if bucket >= bs)


@lab.contract(10, topic="graph")
def test_load_batch(lab):
    """The batch stands in the first rows of the static buffers, padding up to the bucket, and no buffer moves."""
    batches = [
        {name: torch.randint(1, 1000, (bs,), generator=lab.generator) for name in NAMES}
        for bs in (8, 3, 1, 5, 4, 7, 2, 6)
    ]
    [got] = lab.run("buffers", capture_bs=LOAD_BUCKETS, batches=batches)
    wrong = [found for batch, answer in zip(batches, got, strict=True) for found in wrong_rows(batch, answer)]
    lab.note(*sorted({note for note, *_ in wrong}))
    for _, sentence, want, had in wrong[:1]:
        lab.check(False, sentence, want, had)


def wrong_rows(batch, answer):
    """(note, sentence, expected, got) of all that is wrong with the buffers after `load_batch`."""
    raw = len(batch["seq_lens"])
    bs = next(bucket for bucket in LOAD_BUCKETS if bucket >= raw)
    if answer["moved"]:
        yield "moved", "every buffer stays where it was", "the same addresses", "others"
    if answer["sizes"] != [raw, bs]:
        yield f"sizes of {raw}", f"raw_bs and bs of {raw} requests", [raw, bs], answer["sizes"]
    for name, held in zip(NAMES, answer["held"], strict=True):
        padding = torch.full((bs - raw,), int(name == "seq_lens"))
        if not torch.equal(held[:raw], batch[name]):
            yield name, f"{name} of {raw} requests", batch[name], held[:raw]
        if not torch.equal(held[raw:bs], padding):
            yield f"padding of {name}", f"padding of {name} behind {raw} requests", padding, held[raw:bs]


@lab.contract(10, 11, topic="graph")
@pytest.mark.parametrize("order", ["up", "down"])
def test_buckets(lab, order):
    """1 to 9 requests get the eager answer, by the smallest graph that holds them; 9 go through the model itself."""
    run = Run(lab)
    run.prefill()
    for bs in sorted(range(1, 10), reverse=order == "down"):
        run.decode(bs)
    run.check(run.run())


@lab.contract(12, topic="graph")
def test_padding_is_harmless(lab):
    """After requests have left and others got their slots, a padded replay writes nothing into a slot in use."""
    run = Run(lab)
    for first, second in ((8, 5), (4, 3), (8, 7), (2, 1)):
        run.prefill()
        run.decode(first)
        run.prefill()
        run.decode(second)
    run.check(run.run())


@lab.contract(11, topic="graph")
def test_new_weights(lab):
    """Weights that are loaded in place are those of the next replay, without a capture."""
    run = Run(lab)
    run.prefill()
    for bs in (3, 1, 9, 6):
        run.decode(bs)
        run.load()
        run.decode(bs)
    run.check(run.run())


@lab.contract(9, topic="manager")
def test_state_after_cycle(lab):
    """After a full cycle parameters and pool hold zeros, buffers what they held; in between nothing was resident."""
    run = Run(lab, saver=True)
    run.prefill()
    run.add("state")
    run.cycle(resume=[[WEIGHTS], [KV, GRAPH]])
    run.add("state")
    got = run.run()["answers"]
    held, flushes = got[3]["held"], got[3]["flushes"]
    lab.check(held == [0, 0], "resident bytes of weights and of the pool while released", [0, 0], held)
    lab.check(flushes == 1, "flushes of the prefix cache", 1, flushes)
    before, after = got[2]["model"], got[4]["model"]
    buffers = ("inv_freq", "running_mean")
    for name, tensor in after.items():
        if name not in buffers:
            lab.close(tensor, torch.zeros_like(run.weights[name]), what=f"parameter {name} after the cycle")
    for name, want in (("inv_freq", run.oracle.inv_freq), ("running_mean", run.mean)):
        lab.close(before[name], want, tol=1e-15, what=f"buffer {name} before")
        lab.close(after[name], want, tol=1e-15, what=f"buffer {name} after the cycle")
    for name, tensor in zip(("k", "v", "req_to_token"), got[4]["pool"], strict=True):
        lab.check(not tensor.any(), f"{name} after the cycle", "zeros", tensor)


@lab.contract(11, topic="graph")
@pytest.mark.parametrize(
    "resume", [[None], [[WEIGHTS], [KV, GRAPH]], [[KV], [GRAPH, WEIGHTS]]], ids=["all", "slime", "kv"]
)
def test_replay_after_cycle(lab, resume):
    """After release, resume and new weights the old graphs give the eager answer, at their old addresses."""
    run = Run(lab, saver=True)
    run.prefill()
    run.decode(3)
    for bs in (4, 3, 8, 9):
        run.cycle(resume=resume)
        run.load()
        run.prefill()
        run.decode(bs)
    run.check(run.run())


@lab.contract(11, topic="graph")
def test_graph_memory_alone(lab):
    """A graph whose own memory was away, with its constants, gives the same answer after the resume."""
    run = Run(lab, saver=True)
    run.prefill()
    run.decode(5)
    run.cycle([GRAPH], [[GRAPH]])
    run.decode(5)
    run.cycle([WEIGHTS], [[WEIGHTS]])
    run.load()
    run.decode(2)
    run.check(run.run())
