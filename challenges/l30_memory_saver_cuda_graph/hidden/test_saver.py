"""The saver: what the kernel says of each allocation's pages, and what stands in them."""

import itertools
import struct
import sys
from pathlib import Path

import pytest
import torch

from grading import lab

sys.path.insert(0, str(Path(__file__).parent))
from oracle import PAGE, digest, pages

MODES = ("unmapped", "rw-p", "---p", "rw-s", "---s", "mixed", "other")  # what the number in a row stands for
TAGS = ["kv_cache", "weights", "cuda_graph"]
SIZES = (1, 4095, 4096, 4097, 20_000, 1 << 20)


def content(lab, nbytes):
    return torch.randint(0, 256, (nbytes,), generator=lab.generator, dtype=torch.uint8)


def allocate(regions, shape, dtype="uint8", data=None):
    return {"op": "allocate", "regions": regions, "shape": shape, "dtype": dtype, "content": data}


def check_row(lab, row, nbytes, paused, what):
    """One allocation's pages as the kernel has them: all resident and usable, or none and neither."""
    _, resident, mode, _ = row
    want = 0 if paused else pages(nbytes)
    lab.check(resident == want, f"resident bytes {what}", want, resident)
    want = "---p" if paused else "rw-p"
    lab.check(MODES[mode] == want, f"mode {what}, as /proc/self/maps has it", want, MODES[mode])


@lab.contract(1, topic="saver")
def test_allocate(lab):
    """A tensor of a region has zeros, the shape and dtype that were asked for, and whole pages of its own."""
    kinds = [([7, 3], "float32"), ([2, 2, 5], "bfloat16"), ([], "float64"), ([4096], "bool"), ([1], "int64")]
    script = [allocate([["weights", False]], shape, dtype) for shape, dtype in kinds]
    script[-1]["read"] = range(len(kinds))
    [got] = lab.run(
        "memory", script=[one | {"read": list(one.get("read", []))} for one in script], look=[0, 1, 2, 3, 4]
    )
    lab.check(got["kinds"] == [[s, f"torch.{d}"] for s, d in kinds], "shapes and dtypes", kinds, got["kinds"])
    rows = got["steps"][-1].tolist()
    sizes = [84, 40, 8, 4096, 8]
    for (address, *_, total), nbytes in zip(rows, sizes, strict=True):
        lab.check(address % PAGE == 0, "the tensor starts at the start of a page", 0, address % PAGE)
        lab.check(total == 0, f"the digest of {nbytes} fresh bytes", 0, total)
    ends = sorted((address, address + pages(nbytes)) for (address, *_), nbytes in zip(rows, sizes, strict=True))
    apart = all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
    lab.check(apart, "no two tensors share a page", "disjoint", ends)


@lab.contract(1, topic="saver")
def test_plain(lab):
    """Outside a region, in disable() and without elements a tensor is plain: no pause reaches it."""
    data = content(lab, 5000)
    region = ["weights", True]
    plain = [[], [region, "disable"], [region, ["kv_cache", False], "disable"]]
    script = [allocate(regions, [5000], data=data) for regions in plain]
    script += [allocate([region], [0, 3], "float32"), allocate([region, "disable", region], [5000], data=data)]
    script += [
        {"op": "pause", "tag": None, "read": [0, 1, 2, 3]},
        {"op": "resume", "tag": None, "read": [0, 1, 2, 3, 4]},
    ]
    [got] = lab.run("memory", script=script, look=[3])
    lab.check(got["kinds"] == [[[0, 3], "torch.float32"]], "a tensor without elements", [[0, 3]], got["kinds"])
    for number in (-2, -1):
        sums = got["steps"][number][:3, 3].tolist()
        lab.check(sums == [digest(data)] * 3, "plain tensors, digests of their bytes", [digest(data)] * 3, sums)
    check_row(lab, got["steps"][-2][4].tolist(), 5000, True, "of a tensor of a region inside disable()")


@lab.contract(2, 3, topic="saver")
@pytest.mark.parametrize("tag", [*TAGS, None], ids=[*TAGS, "all"])
def test_resident_drops(lab, tag):
    """A pause makes every page of the tag non-resident and untouchable, at addresses that stay; no other tag's."""
    owners = [TAGS[index % 3] for index in range(len(SIZES))]
    data = [content(lab, nbytes) for nbytes in SIZES]
    script = [
        allocate([[owner, index % 2 == 0]], [nbytes], data=one)
        for index, (owner, nbytes, one) in enumerate(zip(owners, SIZES, data, strict=True))
    ]
    hit = [tag in (None, owner) for owner in owners]
    rest = [index for index, one in enumerate(hit) if not one]
    script += [{"op": "pause", "tag": tag, "read": rest}, {"op": "resume", "tag": tag, "read": list(range(len(SIZES)))}]
    [got] = lab.run("memory", script=script)
    before, paused, after = (step.tolist() for step in got["steps"][-3:])
    for index, nbytes in enumerate(SIZES):
        what = f"of {nbytes} bytes of {owners[index]}"
        lab.check(before[index][0] == paused[index][0] == after[index][0], f"the address {what} stays")
        check_row(lab, before[index], nbytes, False, f"{what} before")
        check_row(lab, paused[index], nbytes, hit[index], f"{what} after pause({tag})")
        check_row(lab, after[index], nbytes, False, f"{what}, read after resume({tag})")
        if not hit[index]:
            want = digest(data[index])
            lab.check(paused[index][3] == want, f"digest {what} after pause({tag})", want, paused[index][3])


@lab.contract(3, topic="saver")
def test_touch_dies(lab):
    """Who reads or writes a paused tensor dies of SIGSEGV; after the resume nobody does."""
    [got] = lab.run("touch")
    for way, signal in got["paused"].items():
        lab.check(signal == 11, f"the signal that ends a child at: {way}, paused", 11, signal)
    for way, signal in got["resumed"].items():
        lab.check(signal == 0, f"the signal that ends a child at: {way}, resumed", 0, signal)


KINDS = {
    "float32": [5, 33, 7],
    "bfloat16": [64, 65],
    "bool": [9000],
    "int64": [3, 700],
    "complex64": [11, 13],
    "uint8": [4097],
}


@lab.contract(4, topic="saver")
def test_backup_bits(lab):
    """With a backup every bit comes back, those of NaNs too, seen through every view that existed before."""
    cases = []
    for dtype, shape in KINDS.items():
        kind = getattr(torch, dtype)
        data = content(lab, torch.Size(shape).numel() * kind.itemsize)
        data = data % 2 if dtype == "bool" else data
        if dtype == "float32":  # a signalling NaN with a payload among the others
            data[:4] = torch.tensor(list(struct.pack("<I", 0x7FA12345)), dtype=torch.uint8)
        cases.append({"shape": shape, "dtype": dtype, "content": data})
    [answers] = lab.run("bits", cases=cases)
    for case, got in zip(cases, answers, strict=True):
        lab.check(not got["moved"], f"the views of {case['dtype']} stay where they are")
        tensor = case["content"].view(getattr(torch, case["dtype"])).view(case["shape"])
        views = {
            "whole": tensor,
            "parameter": tensor,
            "reversed": tensor.permute(*reversed(range(tensor.dim()))),
            "strided": tensor[1::2],
            "detached": tensor,
            "flat": tensor.view(-1)[3:],
        }
        for name, view in views.items():
            want = view.contiguous().reshape(-1).view(torch.uint8)
            lab.close(got["bytes"][name], want, what=f"bytes of {case['dtype']} {name} after the cycle")


@lab.contract(4, topic="saver")
def test_zeros_without_backup(lab):
    """Without a backup all bytes are zero after a resume, and what is written then stays."""
    data, again = content(lab, 9000), content(lab, 9000)
    cycle = [{"op": "pause", "tag": "kv_cache"}, {"op": "resume", "tag": "kv_cache", "read": [0]}]
    script = [allocate([["kv_cache", False]], [9000], data=data), *cycle]
    inside = cycle[0] | {"within": ["weights", True]}
    script += [{"op": "write", "index": 0, "content": again, "read": [0]}, inside, cycle[1]]
    [got] = lab.run("memory", script=script)
    sums = [got["steps"][index][0, 3].item() for index in (2, 3, 5)]
    want = [0, digest(again), 0]
    lab.note(*[f"digest {index}" for index in range(3) if sums[index] != want[index]])
    lab.check(sums == want, "digests after resume, write, a pause inside a region with backups and resume", want, sums)


def draw(lab, steps):
    """Random calls, and what each allocation should then be: (tag, backup, bytes, content, paused)."""
    random, script, model, states = lab.random, [], [], []
    for _ in range(steps):
        kind = random.choices(["allocate", "pause", "resume", "write"], [2 if len(model) < 7 else 0, 4, 4, 3])[0]
        active = [index for index, one in enumerate(model) if not one["paused"]]
        if kind == "allocate" or (kind == "write" and not active):
            tag, backup, nbytes = random.choice(TAGS), random.random() < 0.5, random.randint(1, 9000)
            data = content(lab, nbytes)
            outer = random.choice([[], [[random.choice(TAGS), True]], [["weights", False], "disable"]])
            script.append(allocate([*outer, [tag, backup]], [nbytes], data=data))
            model.append({"tag": tag, "backup": backup, "nbytes": nbytes, "data": data, "paused": False})
        elif kind == "write":
            index = random.choice(active)
            data = content(lab, model[index]["nbytes"])
            script.append({"op": "write", "index": index, "content": data})
            model[index] = model[index] | {"data": data}
        else:
            tag = random.choice([*TAGS, None, "nobody"])
            script.append({"op": kind, "tag": tag})
            for index, one in enumerate(model):
                if tag in (None, one["tag"]) and one["paused"] != (kind == "pause"):
                    lost = kind == "pause" and not one["backup"]
                    data = torch.zeros_like(one["data"]) if lost else one["data"]
                    model[index] = one | {"paused": kind == "pause", "data": data}
        script[-1]["read"] = [index for index, one in enumerate(model) if not one["paused"]]
        states.append(list(model))
    return script, states


@lab.contract(1, 2, 4, 5, topic="saver")
def test_any_order(lab):
    """Through 150 random calls each allocation is in the state of its own last pause or resume; the rest are no-ops."""
    script, states = draw(lab, 150)
    [got] = lab.run("memory", script=script)
    addresses = {}
    for number, (op, model, rows) in enumerate(zip(script, states, got["steps"], strict=True)):
        done = f"{op['op']}({op.get('tag', op.get('index', op.get('regions')))})"
        for index, (one, row) in enumerate(zip(model, rows.tolist(), strict=True)):
            what = f"of allocation {index} ({one['tag']}, {one['nbytes']} bytes) after step {number}, {done}"
            lab.check(addresses.setdefault(index, row[0]) == row[0], f"the address {what} stays")
            check_row(lab, row, one["nbytes"], one["paused"], what)
            if not one["paused"]:
                want = digest(one["data"])
                lab.check(row[3] == want, f"digest {what}", want, row[3])


@lab.contract(5, topic="saver")
def test_idempotent(lab):
    """A second pause keeps the backup of the first; a resume of what is active changes no byte."""
    first, second = content(lab, 6000), content(lab, 6000)
    script = [allocate([["weights", True]], [6000], data=first)]
    script += [{"op": "pause", "tag": "weights"}, {"op": "pause", "tag": None}, {"op": "pause", "tag": "weights"}]
    script += [{"op": "resume", "tag": "weights", "read": [0]}, {"op": "write", "index": 0, "content": second}]
    script += [{"op": "resume", "tag": "weights", "read": [0]}, {"op": "resume", "tag": None, "read": [0]}]
    script += [{"op": "pause", "tag": "nobody", "read": [0]}]
    [got] = lab.run("memory", script=script)
    sums = [got["steps"][index][0, 3].item() for index in (4, 6, 7, 8)]
    want = [digest(first), *[digest(second)] * 3]
    lab.check(sums == want, "digests after three pauses and a resume, and after no-ops", want, sums)


@lab.contract(5, topic="saver")
def test_no_leak(lab):
    """100 cycles leave as many mappings and allocations as one did, and no backup."""
    [got] = lab.run("leak", cycles=100, nbytes=20_000)
    (maps, held, left), (maps_after, held_after, left_after) = got["counts"]
    lab.check(maps_after - maps <= 8, "mappings after 100 more cycles, beyond those before", "≤ 8", maps_after - maps)
    want = 2 * pages(20_000)
    lab.check([held, held_after] == [want, want], "backup_bytes() while paused", want, [held, held_after])
    lab.check([left, left_after] == [0, 0], "backup_bytes() after a resume", 0, [left, left_after])
    lab.check(got["allocations"] == 3, "allocations", 3, got["allocations"])


@lab.contract(6, topic="saver")
def test_peak_backup(lab):
    """While 8 tensors of 8 MiB are backed up and dropped, at most one of them exists twice; also on the way back."""
    count, nbytes, slack = 8, 8 << 20, 6 << 20
    [got] = lab.run("peak", count=count, nbytes=nbytes)
    for name, (most, then) in got.items():
        if most > nbytes + slack:
            lab.note(name)
        lab.check(
            most <= nbytes + slack, f"peak up to the end of {name}, beyond the tensors", f"≤ {nbytes + slack:,}", most
        )
        lab.check(abs(then) <= slack, f"memory after {name}, beyond the tensors", "about 0", then)
