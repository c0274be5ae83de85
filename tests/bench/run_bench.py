#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what a user notices of the built programs, and writes docs/benchmarks/window.md.

    run_bench.py latency    a step's end to its point on the screen, over live runs
    run_bench.py cpu        the window's processor time, idle and while it watches two ranks
    run_bench.py start      from the command to the first live point on the screen
    run_bench.py frames     what a frame costs on its way (bench_frames)
    run_bench.py clone      from a fresh clone to the first live point; takes minutes, and is not in `all`
    run_bench.py charts    36 charts that all grow ten times a second (bench_charts)
    run_bench.py points    10 million points opened, and TensorBoard beside it (bench_points)
    run_bench.py runs      10,000 runs listed, filtered, sorted (bench_runs)
    run_bench.py watching  how much longer a step takes while the window watches; --turns of it in one run, takes minutes
    run_bench.py charts points --write
    run_bench.py all --write

At the end one table has every figure that has a goal. --write writes docs/benchmarks: window.md, charts.md (charts and
points), runs.md; what stands there from a second head on was written by hand and stays. The window is the real program,
on Xvfb where there is one, else on Qt's offscreen platform; the ranks are real trainers.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import chart_measures
import list_measures
import watching_measure
from bench_place import place, spread, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTES = {**chart_measures.NOTES, **list_measures.NOTES, **watching_measure.NOTES}
HERTZ = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / HERTZ


def cpu_share(pid, seconds, parts=6):
    """Share of one core in each of `parts` equal stretches."""
    shares = []
    for _ in range(parts):
        begun, used = time.monotonic(), cpu_seconds(pid)
        time.sleep(seconds / parts)
        shares.append((cpu_seconds(pid) - used) / (time.monotonic() - begun))
    return shares


def measure_latency(options):
    with place(options) as here:
        found, _ = here.watch(options.points)
    steps = sorted(found["step_ms"])
    late = steps[int(0.99 * len(steps))]
    return [("A step's end to its point on the screen", spread(steps, "ms", 0), "median ≤ 120 ms",
             statistics.median(steps) <= 120),
            ("the same: 99 % of the steps are there within", f"{late:.0f} ms", "≤ 250 ms", late <= 250),
            ("The same from the end of the steps' window, without the up to 100 ms that a step waits in it",
             spread(found["window_ms"], "ms", 0), "", True)]


def measure_cpu(options):
    with place(options) as here:
        window = here.start("lockstep")
        time.sleep(5)
        idle = cpu_share(window.pid, options.seconds)
    with place(options) as here:
        here.run_detached(here.watched_recipe())
        window = here.start("lockstep")
        wait_for(lambda: min(here.log_frames().get(rank, 0) for rank in (0, 1)) >= 20, 120, "two ranks' steps")
        watching = cpu_share(window.pid, options.seconds)
        if window.poll() is not None:
            raise SystemExit("run_bench: the window ended while it was looked at")
        frames = here.log_frames()
        time.sleep(2)
        if here.log_frames() == frames:
            raise SystemExit("run_bench: the ranks ended while they were watched; the figure would be of an idle window")
    return [("Processor time of the idle window", spread(idle, "% of a core", 2, 100), "≤ 1 %",
             statistics.median(idle) <= 0.01),
            ("Processor time of the window while two ranks train", spread(watching, "% of a core", 1, 100), "≤ 10 %",
             statistics.median(watching) <= 0.10)]


def measure_start(options):
    """What ./run does before it opens the window, and the window's start to the first live point: Start is pressed as
    soon as the window is there."""
    scripts, windows = [], []
    command = [options.bin.parents[1] / "run", "--setup"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # "when built"
    for _ in range(options.repeats):
        begun = time.monotonic()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        scripts.append(time.monotonic() - begun)
        with place(options) as here:
            found, window_begun = here.watch(1)
            windows.append(found["first_point_wall_us"] / 1e6 - window_begun)
    both = [script + window for script, window in zip(scripts, windows)]
    return [("`./run`, when built, to the first live point on the screen, Start pressed at once", spread(both, "s"), "≤ 10 s",
             statistics.median(both) <= 10),
            ("of that, `./run` until it opens the window", spread(scripts, "s"), "", True)]


def measure_clone(options):
    """A fresh clone, then `./run --headless --quick` there, until the first step's frame lies in a run's log. What is on
    the machine already (packages, a supported PyTorch, ccache's store) is not installed again: tests/setup/bare_debian.sh
    has the same from a bare system."""
    with tempfile.TemporaryDirectory(prefix="lockstep-clone-") as folder:
        clone, home = pathlib.Path(folder) / "lockstep", pathlib.Path(folder) / "home"
        begun = time.monotonic()
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        running = subprocess.Popen([clone / "run", "--headless", "--quick"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "LOCKSTEP_HOME": str(home)})
        try:
            while not any('"type":"steps"' in log.read_text(errors="replace") for log in home.glob("runs/*/node-0.ndjson")):
                if running.poll() is not None:
                    raise SystemExit(f"run_bench: ./run in the clone ended with {running.returncode}")
                time.sleep(0.05)
            took = time.monotonic() - begun
        finally:
            os.killpg(running.pid, signal.SIGINT)
            running.wait(60)
    return [("a fresh clone to the first live point, with what this machine has installed", f"{took:.0f} s (n = 1)", "", True)]


def measure_frames(options):
    ran = subprocess.run([options.bin / "bench_frames", "--benchmark_format=json", "--benchmark_repetitions=5",
                          "--benchmark_report_aggregates_only=true"], capture_output=True, text=True, check=True)
    medians = [each for each in json.loads(ran.stdout)["benchmarks"] if each.get("aggregate_name") == "median"]
    return [(f"`{each['run_name'].split('/')[0]}`", f"{each['cpu_time']:.3g} {each['time_unit']}", "", True)
            for each in medians]


def machine(project):
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "-")
    memory = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemTotal"))) / 1e6
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "-")
    commit = subprocess.run(["git", "-C", str(project), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return (f"{model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GB, {system}, Linux {platform.release()}; "
            f"{datetime.date.today()}, commit {commit.stdout.strip() or '-'}")


def table(rows):
    lines = ["| what | measured: median (least to most) | goal | kept |", "|---|---|---|---|"]
    for what, measured, goal, kept in rows:
        lines.append(f"| {what} | {measured} | {goal or '-'} | {('yes' if kept else '**no**') if goal else '-'} |")
    return "\n".join(lines) + "\n"


def headline(rows):
    """The figures that have a goal, the spread apart: what a person compares with the goals."""
    lines = ["| measure | goal | median | spread | kept |", "|---|---|---|---|---|"]
    for what, measured, goal, kept in rows:
        if goal:
            median, bracket, spread_ = measured.partition(" (")
            lines.append(f"| {what} | {goal} | {median} | {(spread_[:-1] if bracket else '-')} | {'yes' if kept else '**no**'} |")
    return "\n".join(lines) + "\n"


def take(name, measure, options):
    """A measure's rows; one that can't be made is a row that says why, so that the others are still measured."""
    try:
        return measure(options)
    except (SystemExit, subprocess.SubprocessError, OSError) as why:
        if isinstance(why, SystemExit) and not isinstance(why.code, str):
            raise
        return [(name, f"not measured: {why}", "measured", False)]


def write(document, title, options, here, found):
    path = ROOT / "docs/benchmarks" / document
    path.parent.mkdir(parents=True, exist_ok=True)
    _, head, kept = (path.read_text() if path.exists() else "").partition("\n## ")
    path.write_text(f"# {title}\n\n{NOTES.get(document, '')}`tests/bench/run_bench.py {' '.join(options.what)} --write` on {here}.\n\n"
                    f"{table(found)}{head}{kept}")


def main():
    documents = {
        "window.md": ("What the window costs its user", {
            "latency": measure_latency, "cpu": measure_cpu, "watching": watching_measure.measure_watching, "start": measure_start,
            "frames": measure_frames, "clone": measure_clone}),
        "charts.md": ("Charts and points", {"charts": chart_measures.measure_charts, "points": chart_measures.measure_points}),
        "runs.md": ("What thousands of runs cost", {"runs": list_measures.measure_runs})}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=[*(name for _, group in documents.values() for name in group), "all"])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin", help="folder of the programs")
    parser.add_argument("--points", type=int, default=200, help="latency: how many points on the screen")
    parser.add_argument("--seconds", type=float, default=30, help="cpu, charts: how long to look")
    parser.add_argument("--repeats", type=int, default=5, help="start: how often")
    parser.add_argument("--turns", type=int, default=30, help="watching: how often the window is let go on")
    parser.add_argument("--turn-seconds", type=float, default=4, help="watching: how long a turn lasts")
    parser.add_argument("--runs", type=int, default=10_000, help="runs: how many lie on disk")
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT / ".cache/peers/bin/python",
                        help="points: a Python with tensorboard")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks")
    options = parser.parse_args()
    if options.turn_seconds < 2 * watching_measure.SETTLING_S:
        parser.error(f"--turn-seconds {options.turn_seconds} leaves little to count: give at least "
                     f"{2 * watching_measure.SETTLING_S:.0f}")
    options.bin = options.bin.resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    here, rows = machine(options.bin.parents[1]), []
    for document, (title, group) in documents.items():
        found = []
        for name, measure in group.items():
            if name in options.what or ("all" in options.what and name != "clone"):
                taken = take(name, measure, options)
                print(table(taken), flush=True)
                found += taken
        if options.write and found:
            write(document, title, options, here, found)
        rows += found
    print(here + "\n\n" + headline(rows))
    return 0 if all(kept for *_, kept in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
