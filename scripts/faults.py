"""`make faults`: kill -9 at random instants, full disks, pushes that come at once. Nothing may be lost or left behind.

A point is one real run (a push to a hub that grades in a jail, or a publish) whose judge, zygote, hook or publisher is
killed after a random share of that process's life, measured beforehand in an undisturbed run. Then the same is run
again: the verdict must be the right one, `git fsck` must pass, each attempt must have its record and each record its
attempt, and no process and no folder of a dead one may be left. The seed is printed; `--seed` repeats a series.
"""

import argparse
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from faults_site import ANSWERS, LAB, Site, descendants, hooks, judges, memory_mb, publishers, zygotes

from grading.course.catalog import Course
from grading.delivery import plumbing, publish, records
from grading.sandbox import jail, scratch

GONE_WITHIN_S = 30.0
PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.005


class Broken(Exception):
    """A fault left something behind; the message says what."""


def settle() -> None:
    """Wait until nothing that we started is alive."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while bury() and (left := descendants()):
        if time.monotonic() > deadline:
            raise Broken(f"left running: {left[0].command[:120]}")
        time.sleep(0.05)


def bury() -> bool:
    """Reap the orphans of the killed, which are ours now; False when no child is left at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def check_hub(site: Site) -> None:
    """Sound, nothing half-moved: objects, attempts and records, scratch refs, locks."""
    said = site.repo.git.fsck("--strict").splitlines()
    if wrong := [line for line in said if not line.startswith("dangling ")]:
        raise Broken(f"git fsck: {wrong[0]}")
    kept = {one.attempt_ref for one in records.everything(site.repo) if one.attempt}
    refs = set(plumbing.refs(site.repo, "refs/attempts"))
    if kept != refs:
        raise Broken(f"attempts without record, or the other way round: {kept ^ refs}")


def check_left() -> None:
    if left := scratch.stale():
        raise Broken(f"left in the temporary folder: {left[0]}")


def life(find, start) -> tuple[float, float]:
    """(seconds until the process is there, seconds that it lives) in an undisturbed run."""
    run, begun = start(), time.monotonic()
    while not find():
        if run.poll() is not None:
            raise Broken(f"it was never seen alive: {run.communicate()[1][-500:]}")
        time.sleep(POLL_S)
    born = time.monotonic()
    while find():
        time.sleep(POLL_S)
    died = time.monotonic()
    run.communicate()
    return born - begun, died - born


def kill_in(find, start, delay_s: float, draw: random.Random) -> bool:
    """Start, wait for the process, let it live for a while, kill it. False when it had ended by then."""
    run = start()
    while not (there := find()) and run.poll() is None:
        time.sleep(POLL_S)
    deadline = time.monotonic() + delay_s
    while (left := deadline - time.monotonic()) > 0 and run.poll() is None:
        time.sleep(min(left, 0.05))
    there = find()
    killed = False
    if there:
        try:
            os.kill(draw.choice(there).pid, signal.SIGKILL)
            killed = True
        except ProcessLookupError:
            pass
    run.communicate()
    return killed


def kill_series(name: str, find, site: Site, points: int, draw: random.Random) -> None:
    """`points` pushes of which the hook, judge or zygote is killed, each followed by the same push again."""
    _, lives_s = life(find, lambda: site.push("PASS", f"{name}-undisturbed"))
    done, missed, slowest = 0, 0, 0.0
    while done < points:
        user, verdict = f"{name}-{done}-{missed}", draw.choice(list(ANSWERS))
        if not kill_in(find, lambda u=user, v=verdict: site.push(v, u), draw.uniform(0, lives_s), draw):
            missed += 1
            if missed > 10 * points:
                raise Broken(f"the {name} was never alive when it was to be killed")
            continue
        settle()
        check_hub(site)
        begun = time.monotonic()
        again = site.push(verdict, user)
        said = again.communicate()[1]
        slowest = max(slowest, time.monotonic() - begun)
        found = site.verdict(verdict, user)
        if again.returncode or found is None or found.verdict != verdict:
            raise Broken(f"a push that deserves {verdict} got {found and found.verdict}: {said[-500:]}")
        settle()
        check_hub(site)
        check_left()
        done += 1
        if done % 10 == 0:
            print(f"{name}: {done} of {points}", file=sys.stderr, flush=True)
    print(f"{name:<10} {done} kills within {lives_s:.1f} s of life, {missed} too late; slowest repeat {slowest:.1f} s")


def tips(site: Site) -> dict[str, str]:
    return {ref: commit for ref, (commit, _) in plumbing.refs(site.repo, "refs/heads/lab").items()}


def publish_series(site: Site, points: int, draw: random.Random) -> None:
    """`points` publishes of a changed course, killed, each followed by another that must finish the work."""
    tasks = [lab.folder / "task.md" for lab in Course.load(site.root).labs]

    def change() -> None:
        for path in tasks:
            path.write_text(f"{path.read_text()}\nMore: {draw.random()}\n")

    change()
    _, lives_s = life(publishers, site.publish)
    done, missed, before, after = 0, 0, 0, 0
    while done < points:
        change()
        old = tips(site)
        if not kill_in(publishers, site.publish, draw.uniform(0, lives_s), draw):
            missed += 1
            continue
        settle()
        check_hub(site)
        moved = [ref for ref, commit in tips(site).items() if commit != old[ref]]
        if len(moved) not in (0, len(old)):
            raise Broken(f"half published: {moved}")
        before, after = before + (not moved), after + bool(moved)
        again = site.publish()
        said = again.communicate()[1]
        course = Course.load(site.root)
        if again.returncode or any(one.changed for one in publish.publish(course, course.labs, site.hub)):
            raise Broken(f"the next publish did not finish: {said[-500:]}")
        settle()
        check_hub(site)
        done += 1
        if done % 10 == 0:
            print(f"publisher: {done} of {points}", file=sys.stderr, flush=True)
    where = f"{before} before the branches moved, {after} after"
    print(f"publisher  {done} kills within {lives_s:.1f} s of life, {missed} too late; {where}")


def at_once(site: Site, count: int) -> None:
    """`count` pushes of one lab at once: each gets its own verdict, few are graded at a time, in their order."""
    begun = time.monotonic()
    wanted = [(f"once{count}-{n}", "PASS" if n % 2 else "FAIL") for n in range(count)]
    pushes = []
    for user, verdict in wanted:
        pushes.append(site.push(verdict, user))
        time.sleep(0.05)
    most, peak = 0, 0.0
    while any(push.poll() is None for push in pushes):
        grading = {one.pid for one in judges()}
        most = max(most, sum(one.parent not in grading for one in judges()))
        peak = max(peak, memory_mb())
        time.sleep(0.2)
    for push, (user, verdict) in zip(pushes, wanted, strict=True):
        said = push.communicate()[1]
        found = site.verdict(verdict, user)
        if push.returncode or found is None or (found.verdict, found.attempt) != (verdict, 1):
            raise Broken(f"{user} deserves {verdict} as attempt 1, got {found and found.verdict}: {said[-500:]}")
    settle()
    check_hub(site)
    check_left()
    cores = len(os.sched_getaffinity(0))
    if most > cores:
        raise Broken(f"{most} gradings at once on {cores} cores")
    seconds = time.monotonic() - begun
    print(f"{count} at once  each its own verdict in {seconds:.0f} s, {most} graded at a time, {peak:.0f} MB at most")


def disk_full(site: Site, folder: Path) -> None:
    """A grading with a full temporary folder is INFRA; a push to a full hub is refused; neither costs a verdict."""
    small = folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], capture_output=True).returncode:
        print("disk full  not tried: a tmpfs cannot be mounted here")
        return
    try:
        _full_temporary(site, small)
    finally:
        subprocess.run(["umount", small], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", small], check=True)
    try:
        _full_hub(small)
    finally:
        subprocess.run(["umount", small], check=True)
    check_left()
    print("disk full  a grading is INFRA (3), a push counts nothing, earlier verdicts stay, and with room it goes on")


def _full_temporary(site: Site, small: Path) -> None:
    (small / "ballast").write_bytes(bytes(60 << 10))
    command = [sys.executable, "-m", "grading.cli.main", "grade", LAB, "--impl", "reference", "--json", "-"]
    command += ["--course", str(site.root)]
    environment = {**site.environment, "TMPDIR": str(small)}
    done = subprocess.run(command, cwd=site.folder, env=environment, capture_output=True, text=True)
    if done.returncode != 3 or json.loads(done.stdout)["verdict"] != "INFRA":
        raise Broken(f"a full temporary folder gave {done.returncode}: {done.stdout[-300:]} {done.stderr[-500:]}")
    settle()


def _full_hub(small: Path) -> None:
    site = Site(small)
    site.push("PASS", "early").communicate()
    early = site.verdict("PASS", "early")
    ballast = small / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass
    late = site.push("FAIL", "late")
    said = late.communicate()[1]
    settle()
    ballast.unlink()
    check_hub(site)
    if site.verdict("PASS", "early") != early or early is None or site.verdict("FAIL", "late") is not None:
        raise Broken(f"a full hub lost or made a verdict: {said[-500:]}")
    if not late.returncode or "Traceback" in said:
        raise Broken(f"a full hub said {late.returncode}: {said[-500:]}")
    site.push("FAIL", "late").communicate()
    if site.verdict("FAIL", "late") is None:
        raise Broken("the hub did not go on once there was room")
    settle()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=50, help="kills of each process (default 50)")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", action="append", choices=["hook", "judge", "zygote", "publisher", "disk", "race"])
    parser.add_argument("--pushes", type=int, nargs="*", default=[2, 20], help="so many pushes at once (default 2 20)")
    given = parser.parse_args()
    seed = random.randrange(2**32) if given.seed is None else given.seed
    wanted = given.only or ["hook", "judge", "zygote", "publisher", "disk", "race"]
    print(f"seed {seed}, {given.points} points: {' '.join(wanted)}", flush=True)
    if not jail.status().ok:
        print(f"no jail here, so there is nothing to show: {jail.status().reason}", file=sys.stderr)
        return 3
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        with tempfile.TemporaryDirectory(prefix="mainline-faults-") as name:
            _play(Path(name), wanted, given, seed)
    except Broken as broken:
        print(f"BROKEN: {broken} (seed {seed})", file=sys.stderr)
        return 1
    return 0


def _play(folder: Path, wanted: list[str], given: argparse.Namespace, seed: int) -> None:
    site = Site(folder)
    for name, find in [("hook", hooks), ("judge", judges), ("zygote", zygotes)]:
        if name in wanted:
            kill_series(name, find, site, given.points, random.Random(f"{seed} {name}"))
    if "publisher" in wanted:
        publish_series(site, given.points, random.Random(f"{seed} publisher"))
    if "disk" in wanted:
        disk_full(site, folder)
    for count in given.pushes if "race" in wanted else []:
        at_once(site, count)


if __name__ == "__main__":
    sys.exit(main())
