"""The patch's manager beside sglang's own, and sglang's own over the patch's memory."""

import sys
from pathlib import Path

from grading import lab

sys.path.insert(0, str(Path(__file__).parents[1] / "hidden"))
from test_graph import GRAPH, KV, WEIGHTS, Run
from test_manager import ORDERS, draw_buffers


def scripts(lab):
    """Requests that sglang answers as the contract does: wrong tags, any order, partial ways back."""
    ways = [[{"op": "release", "tags": out}, {"op": "resume", "tags": out}] for out in ORDERS]
    ways += [[{"op": "release", "tags": None}, {"op": "resume", "tags": back}] for back in ORDERS]
    ways += [[{"op": "release", "tags": None, "idle": False}, {"op": "resume", "tags": [tag]}] for tag in (KV, GRAPH)]
    for _ in range(20):
        first = lab.random.sample([KV, WEIGHTS, GRAPH], 3)
        cut = lab.random.randint(1, 2)
        parts = [{"op": "resume", "tags": part} for part in (first[:cut], first[cut:])]
        ways.append([{"op": "release", "tags": first}, *parts, {"op": "release", "tags": []}])
    return ways


@lab.contract(7, 8, topic="manager")
def test_trace(lab):
    """Answers, calls of the saver, flushes, tags and buffers are those of sglang's manager, request by request."""
    given = [{"script": script, "buffers": draw_buffers(lab)} for script in scripts(lab)]
    (theirs,) = lab.upstream("mainline.upstream", name="manager", inputs=given)
    (ours,) = lab.run("mainline.patch", name="manager", inputs=given)
    for one, got, want in zip(given, ours, theirs, strict=True):
        for number, (mine, other) in enumerate(zip(got, want, strict=True)):
            for name in ("trace", "tags", "answer", "buffers", "stash"):
                inputs = {"script": one["script"], "buffers": one["buffers"]}
                lab.agrees(mine[name], other[name], inputs, what=f"{name} of step {number}")


@lab.contract(2, 4, 9, topic="saver")
def test_sglang_drives_the_memory(lab):
    """Over your saver sglang's manager frees every page of what it releases, and its model comes back as it should."""
    given = []
    for release in (None, [KV], [WEIGHTS], [GRAPH, WEIGHTS]):
        run = Run(lab, saver=True)
        run.prefill()
        run.decode(3)
        run.cycle(release, [release])
        run.add("state")
        given.append(run.given | {"steps": run.steps})
    (theirs,) = lab.upstream("mainline.upstream", name="graph", inputs=given)
    (ours,) = lab.run("mainline.upstream", name="graph", inputs=given)
    for one, got, want in zip(given, ours, theirs, strict=True):
        *_, cycle, _ = one["steps"]
        inputs = {"release": cycle["release"], "running_mean": one["running_mean"]}
        (*_, held, state), (*_, their_held, their_state) = got["answers"], want["answers"]
        lab.agrees(held, their_held, inputs, what="resident bytes of weights and pool while released, and flushes")
        lab.agrees(state, their_state, inputs, tol=1e-12, what="the model and the pool after the cycle")
