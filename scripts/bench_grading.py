"""What a grading costs, on this machine, in one run. Prints a table, and one JSON object as the last line.

Bars are DESIGN's: the best of the repetitions counts, the median is printed beside it.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from rich.console import Console
from rich.table import Table

from grading.course.catalog import Course, Lab
from grading.course.holes import definitions
from grading.course.models import Limits
from grading.course.seals import has_mainline, mainline_settings
from grading.course.snapshots import SnapshotError
from grading.course.submission import from_tree
from grading.course.trees import reference_tree, run_settings, starter_tree
from grading.delivery import hub
from grading.judge.carry import judge_for
from grading.judge.fixture import Lab as Bench
from grading.judge.grade import grade
from grading.judge.process import Judge, write_tree
from grading.judge.stage import Stage
from grading.judge.world import Request
from grading.sandbox import jail

ROOT = Path(__file__).parents[1]
PUSHES, PROBES, SPAWNS, CASES, MAINLINES, SAVES = 5, 20, 3, 20, 3, 20
LABS = Path(sys.executable).with_name("labs")
SPARE_READY_S = 15.0
WATCHED = [
    "mini_infra/megatron/core/distributed/finalize_model_grads.py::_allreduce_non_tensor_model_parallel_grads",
    "mini_infra/megatron/core/tensor_parallel/layers.py::RowParallelLinear.forward",
    "mini_infra/megatron/core/tensor_parallel/mappings.py::_ReduceFromModelParallelRegion.backward",
]


def best(repeat: Callable[[], Any], times: int, pause_s: float = 0.0) -> dict[str, float]:
    """Seconds of the best and of the median call, with a pause before each."""
    laps = []
    for _ in range(times):
        time.sleep(pause_s)
        begun = time.perf_counter()
        repeat()
        laps.append(time.perf_counter() - begun)
    return {"best": min(laps), "median": median(laps)}


def help_time() -> dict[str, float]:
    return best(lambda: subprocess.run([LABS, "--help"], check=True, capture_output=True), 10)


def push_time(course: Course, folder: Path, spares: bool) -> dict[str, float]:
    """From `git push` to its return with the verdict of the reference, each push another commit.

    With `spares` a first push, which is not counted, starts the hub's server; it ends when its folder is gone.
    """
    folder.mkdir()
    hub.init(folder / "hub.git", course.root, jailed=jail.status().ok, spares=spares)
    clone, environment = folder / "clone", os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        command = ["git", *identity, *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    git("clone", "-q", "-b", "lab/l05", str(folder / "hub.git"), str(clone))
    lab = course.lab("l05")
    for path in lab.editable_paths:
        (clone / path).write_bytes(reference_tree(course, lab)[path])

    def push() -> None:
        git("-C", str(clone), "commit", "-aqm", "Answer", "--allow-empty")
        said = git("-C", str(clone), "push", "origin", "HEAD:refs/for/lab/l05")
        assert "PASS" in said, said

    if spares:
        push()
    return best(push, PUSHES, SPARE_READY_S if spares else 0.0)


def watch_times(course: Course, folder: Path) -> dict[str, dict[str, float]]:
    """From a save to the verdict of `labs watch`, by the number of public tests that the saved function touches."""
    lab, times = course.lab("l05"), {}
    write_tree(folder, reference_tree(course, lab))
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    command = [LABS, "watch", "--json", "--course", str(course.root)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as watch:
        told = json.loads(watch.stdout.readline())
        assert told["report"]["verdict"] == "PASS", told
        for name in WATCHED:
            times |= saved_times(watch, folder, name)
        watch.terminate()
    return times


def saved_times(watch: subprocess.Popen, folder: Path, name: str) -> dict[str, dict[str, float]]:
    path, _, qualname = name.partition("::")
    text = (folder / path).read_text()
    end, numbers, ran = definitions(text)[qualname].end, iter(range(SAVES)), []

    def save() -> None:
        (folder / path).write_text(f"{text[:end]}  # {next(numbers)}{text[end:]}")
        told = json.loads(watch.stdout.readline())
        assert told["report"]["verdict"] == "PASS", told
        ran.append(len(told["ran"]))

    times = best(save, SAVES, 0.2)
    return {f"{max(ran)} of l05's tests": times}


def stage_of(course: Course, lab: Lab, folder: Path) -> Stage:
    write_tree(folder, reference_tree(course, lab))
    settings = run_settings(lab)
    limits = Limits(**settings.pop("limits"))
    trees = {"submission": folder, "reference": folder}
    return Stage(limits=limits, trees=trees, jailed=jail.status().ok, seed=1, **settings)


def probe_request(cases: int = 1) -> Request:
    x = torch.ones(4, 2, 8, dtype=torch.float64)
    inputs = {"name": "reduce", "groups": [[0, 1]], "x": x, "y": x}
    return Request("region", 2, [[inputs, inputs]] * cases)


def probe_time(course: Course, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """One warm 2-rank world, and a further case in it."""
    stage = stage_of(course, course.lab("l05"), folder)
    sandbox = stage.sandbox("submission")
    sandbox.ask(probe_request())
    one = best(lambda: sandbox.ask(probe_request()), PROBES)
    many = best(lambda: sandbox.ask(probe_request(1 + CASES)), PROBES // 2)
    stage.close()
    return one, {key: (many[key] - one[key]) / CASES for key in one}


def spawned(rank: int, tree: str, store: str) -> None:
    """The same probe as a rank of torch.multiprocessing.spawn."""
    sys.path.append(tree)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    import probes

    x = torch.ones(4, 2, 8, dtype=torch.float64)
    probes.region(name="reduce", groups=[[0, 1]], x=x, y=x)
    dist.destroy_process_group()


def spawn_time(course: Course, folder: Path) -> dict[str, float]:
    write_tree(folder / "tree", reference_tree(course, course.lab("l05")))
    stores = iter(range(SPAWNS))

    def spawn() -> None:
        store = str(folder / f"store{next(stores)}")
        torch.multiprocessing.spawn(spawned, (str(folder / "tree"), store), nprocs=2)

    return best(spawn, SPAWNS)


def gae_ratio(course: Course, folder: Path) -> float:
    """l29 at its card's size: B=8, T=16384, C=64, one thread; the loop is timed at T=512 and scaled (it is linear)."""
    stage = stage_of(course, course.lab("l29"), folder)
    bench = Bench(stage, "bench")
    sides = {}
    for name, length, reps in (("time_loop", 512, 8), ("time_gae", 16384, 15)):
        rows = {key: torch.randn(8, length, generator=bench.generator) for key in ("rewards", "values", "weights")}
        more = {"chunk_size": 64} if name == "time_gae" else {}
        sides[name] = bench.time(name, reps, **rows, **more) / length
    stage.close()
    return sides["time_loop"] / sides["time_gae"]


def match_ratio(course: Course, folder: Path) -> float:
    """l21: 256 comparisons of two keys of 8,000 tokens against the loop over the tokens."""
    stage = stage_of(course, course.lab("l21"), folder)
    bench = Bench(stage, "bench")
    inputs = {"tokens": torch.randint(0, 100_000, (8000,), generator=bench.generator), "repeats": 256}
    ratio = bench.time("probe_match_speed", 2, slow=True, **inputs) / bench.time("probe_match_speed", 20, **inputs)
    stage.close()
    return ratio


def mainline_time(course: Course, lab: Lab) -> tuple[dict[str, float], dict[str, float]] | None:
    """The Mainline grading of a reference, cold and by a process that is warm; None where its fetch is missing."""
    jailed = jail.status().ok
    answer = from_tree(lab, reference_tree(course, lab), starter_tree(course, lab))
    try:
        settings = mainline_settings(course, lab)
    except SnapshotError:
        return None

    def grading(judge: Judge | None = None) -> None:
        report = grade(course, lab, answer, jailed=jailed, judge=judge, seal="mainline")
        assert report.exit_code == 0, report.reason or report.failed

    cold = best(grading, MAINLINES)
    with judge_for(lab, jailed, settings) as judge:
        judge.await_warm(120)
        return cold, best(lambda: grading(judge), MAINLINES)


def main() -> None:
    torch.set_num_threads(1)
    course = Course.load(ROOT)
    with tempfile.TemporaryDirectory(prefix="labs-bench-") as name:
        folder = Path(name)
        helped = help_time()
        push = push_time(course, folder / "cold", spares=False)
        served = push_time(course, folder / "warm", spares=True)
        saves = watch_times(course, folder / "watch")
        probe, case = probe_time(course, folder / "probe")
        spawn = spawn_time(course, folder)
        gae, match = gae_ratio(course, folder / "gae"), match_ratio(course, folder / "match")
    seals = {lab.id: mainline_time(course, lab) for lab in course.labs if has_mainline(lab)}
    ratio = spawn["best"] / probe["best"]
    rows = [
        ("labs --help", f"{helped['best']:.2f} s", f"{helped['median']:.2f} s", "≤ 0.3 s"),
        ("push to verdict, cold (l05)", f"{push['best']:.1f} s", f"{push['median']:.1f} s", "≤ 6 s"),
        ("the same, a spare ready", f"{served['best']:.2f} s", f"{served['median']:.2f} s", "≤ 1.5 s for 12 tests"),
        *(
            (f"save to verdict, {what}", f"{took['best']:.2f} s", f"{took['median']:.2f} s", "≤ 0.5 s")
            for what, took in saves.items()
        ),
        ("one 2-rank world, warm", f"{probe['best'] * 1e3:.0f} ms", f"{probe['median'] * 1e3:.0f} ms", "≤ 100 ms"),
        ("a further case in it", f"{case['best'] * 1e3:.1f} ms", f"{case['median'] * 1e3:.1f} ms", "≤ 10 ms"),
        ("the same by multiprocessing.spawn", f"{spawn['best']:.2f} s", f"{spawn['median']:.2f} s", ""),
        ("spawn / warm world", f"{ratio:.0f}×", "", "≥ 30×"),
        ("l29: chunked GAE over the step loop", f"{gae:.0f}×", "", "≥ 100×"),
        ("l21: match over the token loop", f"{match:.0f}×", "", "≥ 30×"),
    ]
    for name, times in seals.items():
        for time_of, how, bar in zip(times or (), ("cold", "spare ready"), ("≤ 12 s", "≤ 5 s"), strict=bool(times)):
            rows.append((f"Mainline, {how} ({name})", f"{time_of['best']:.1f} s", f"{time_of['median']:.1f} s", bar))
    table = Table(
        "what", "best", "median", "bar", title=f"{os.cpu_count()} cores, jail: {jail.status().kind or 'none'}"
    )
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    figures = {"push_cold_s": push["best"], "push_warm_s": served["best"], "probe_warm_ms": probe["best"] * 1e3}
    figures |= {f"watch_s, {what}": took["best"] for what, took in saves.items()}
    figures |= {"spawn_ms": spawn["best"] * 1e3, "spawn_ratio": ratio, "help_s": helped["best"]}
    print(json.dumps({key: round(value, 3) for key, value in figures.items()}))


if __name__ == "__main__":
    main()
