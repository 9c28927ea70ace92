"""The public tests: one scene each. Memory is what the kernel says of a tensor's pages, not the saver."""

import torch

from grading import lab

PAGE = 4096


def memory(lab, *script):
    """Run operations on a saver; after each, for each tensor: address, resident bytes, mode, digest of its bytes."""
    [got] = lab.run("memory", script=list(script))
    return [step.tolist() for step in got["steps"]]


def allocate(tag, backup, content):
    shape = [len(content)]
    return {"op": "allocate", "regions": [[tag, backup]], "shape": shape, "dtype": "uint8", "content": content}


@lab.contract(2, topic="saver")
def test_pages_leave_and_the_address_stays(lab):
    """A pause takes every page of the tag and lets the address stand; a resume gives pages back, at that address."""
    content = torch.full((3 * PAGE,), 7, dtype=torch.uint8)
    pause, resume = {"op": "pause", "tag": "kv_cache"}, {"op": "resume", "tag": "kv_cache", "read": [0]}
    steps = memory(lab, allocate("kv_cache", False, content), pause, resume)
    addresses = [step[0][0] for step in steps]
    resident = [step[0][1] for step in steps]
    lab.check(len(set(addresses)) == 1, "the tensor's address, before, paused and resumed", "equal", addresses)
    lab.check(resident == [3 * PAGE, 0, 3 * PAGE], "resident bytes", [3 * PAGE, 0, 3 * PAGE], resident)


@lab.contract(4, topic="saver")
def test_bytes_come_back_with_a_backup(lab):
    """With a backup the bytes are what they were, without one they are zero."""
    content = torch.randint(1, 256, (5000,), generator=lab.generator, dtype=torch.uint8)
    script = [allocate("weights", True, content), allocate("weights", False, content)]
    script += [{"op": "pause", "tag": None}, {"op": "resume", "tag": None, "read": [0, 1]}]
    before = memory(lab, script[0] | {"read": [0]})[0][0][3]
    kept, lost = (row[3] for row in memory(lab, *script)[-1])
    lab.check(kept == before, "digest of the tensor with a backup", before, kept)
    lab.check(lost == 0, "digest of the tensor without", 0, lost)


@lab.contract(7, 8, topic="manager")
def test_release_and_resume(lab):
    """Out: kv_cache, flush, weights, cuda_graph. Back: cuda_graph, weights with their buffers, kv_cache."""
    buffers = [torch.arange(5.0), torch.tensor(3), torch.ones(4, dtype=torch.bool)]
    script = [{"op": "release", "tags": None}, {"op": "resume", "tags": None}]
    [[out, back]] = lab.run("manager", script=script, buffers=buffers)
    want = ["pause kv_cache", "flush", "pause weights", "pause cuda_graph"]
    lab.check(out["trace"] == want, "what the release did", want, out["trace"])
    want = ["resume cuda_graph", "resume weights", "resume kv_cache"]
    lab.check(back["trace"] == want, "what the resume did", want, back["trace"])
    lab.close(back["buffers"], buffers, what="the model's buffers after the resume")


@lab.contract(10, topic="graph")
def test_three_requests_in_a_bucket_of_four(lab):
    """Three requests stand in the first rows of the buffers, and a fourth row of padding behind them."""
    names = ("input_ids", "req_pool_indices", "seq_lens", "out_cache_loc", "positions")
    full = {name: torch.full((4,), 9) for name in names}
    batch = {name: torch.arange(3) + 2 for name in names}
    [[_, got]] = lab.run("buffers", capture_bs=[1, 2, 4], batches=[full, batch])
    lab.check(got["sizes"] == [3, 4], "raw_bs and bs", [3, 4], got["sizes"])
    for row, name in enumerate(names):
        want = torch.tensor([2, 3, 4, int(name == "seq_lens")])
        lab.close(got["held"][row], want, what=f"the buffer of {name}")


@lab.contract(11, topic="graph")
def test_replay(lab):
    """A batch of two is answered by a replay of the graph for two, as the model itself would answer it."""
    shapes = {"embed": (7, 4), "head": (7, 4), **dict.fromkeys(("wq", "wk", "wv", "wo"), (4, 4))}
    weights = {
        name: torch.randn(*shape, generator=lab.generator, dtype=torch.float64) for name, shape in shapes.items()
    }
    batch = {"input_ids": [1, 5], "req_pool_indices": [1, 2], "seq_lens": [1, 1], "out_cache_loc": [3, 4]}
    decode = {"op": "decode", "positions": torch.zeros(2, dtype=torch.int64)}
    decode |= {name: torch.tensor(values) for name, values in batch.items()}
    rows = {"op": "rows", "rows": torch.tensor([[0, 0], [3, 0], [4, 0]])}
    sizes = {"slots": 5, "rows": 3, "max_len": 2, "running_mean": torch.zeros(4, dtype=torch.float64)}
    [got] = lab.run("graph", weights=weights, capture_bs=[1, 2], steps=[rows, decode], **sizes)
    x = weights["embed"][[1, 5]]  # a request of one token attends to itself alone
    want = (x + x @ weights["wv"] @ weights["wo"]) @ weights["head"].T
    lab.close(got["answers"][1]["logits"], want, tol=1e-9, what="logits of two requests")
    lab.check(got["replayed"] == [2], "buckets that were replayed", [2], got["replayed"])
    lab.check(got["captures"] == 2, "captures", 2, got["captures"])
