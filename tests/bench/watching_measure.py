# SPDX-License-Identifier: MIT
"""What watching costs the training: one long run whose window is stopped and let go on in turns."""
import json
import math
import os
import signal
import statistics
import time

from bench_place import place, spread, wait_for

GOAL = 0.01
SETTLING_S = 1.0  # after each turn: a window that goes on first draws what it missed
NESTED = {"comm", "wait", "scatter", "replicate", "gather", "reduce"}  # parts of other phases
NOTES = {"window.md": """\
**Watching.** One run, and the real window on Live beside it. The window is stopped (SIGSTOP) and let go on (SIGCONT) in turns of
a few seconds; a turn's figure is rank 0's mean step, by the phases that its frames carry, the turn's first second left out, and
a ratio is that of a watched turn to the mean of the unwatched ones before and after it, so that a machine that drifts moves both.
What stands here is the median of those ratios with its 95 % interval (order statistics). The agent's own writing to the viewer,
some ten lines a second, goes on in both. Beside it stands what the run's agent recorded: the viewers' processor time, which
with no core free is about the most that it can cost, and how long the ranks' threads waited for a core.

(Pairs of whole runs, one watched and one not, showed nothing here: on a shared machine they differ by -14 to 75 %.)

**A step's end** is read off its window of steps: a frame carries about 100 ms of them, and they are spread evenly over the
window's training time. (Up to commit 08c9c61 they were spread over the wall time since the window before, so that the first
steps of each epoch seemed to end while the ranks evaluated; that, and not the way to the screen, was a p99 of 350 ms.)

"""}


def recipe(method, devices):
    return {"name": f"bench-{method}", "title": f"{method} to watch", "summary": "For tests/bench.",
            "question": "What does watching cost?",
            "base": {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "batch_size": 64, "optimizer": "sgd",
                     "lr": 0.01, "momentum": 0.9, "augment": "affine", "loader": "batch", "workers": 0, "epochs": 5000},
            "runs": [{"method": method, "devices": devices}], "repeats": 1}


def turns(process, count, seconds):
    """[(watched, begun, ended)] in Unix seconds; the first and the last are unwatched, so that each watched one has two."""
    taken = []
    for number in range(2 * count + 1):
        watched = number % 2 == 1
        process.send_signal(signal.SIGCONT if watched else signal.SIGSTOP)
        begun = time.time()
        time.sleep(seconds)
        taken.append((watched, begun + SETTLING_S, time.time()))
    process.send_signal(signal.SIGCONT)
    return taken


def step_windows(home):
    """[(begun, ended, steps, seconds of training)] of rank 0."""
    windows, last = [], None
    for path in (home / "home/runs").glob("*/node-0.ndjson"):
        for line in path.read_text(errors="replace").splitlines():
            if '"type":"steps"' not in line or not line.endswith("}"):
                continue
            frame = json.loads(line)
            if frame.get("rank") != 0:
                continue
            trained = sum(phase["sum_s"] for name, phase in frame["phases"].items() if name not in NESTED)
            ended = frame["wall_us"] / 1e6
            windows.append((last if last is not None else ended - trained, ended, frame["count"], trained))
            last = ended
    return windows


def step_of(turn, windows):
    _, begun, ended = turn
    inside = [window for window in windows if window[0] >= begun and window[1] <= ended]
    steps = sum(window[2] for window in inside)
    return sum(window[3] for window in inside) / steps if steps else None


def ratios_of(taken, windows):
    steps = [step_of(turn, windows) for turn in taken]
    return [steps[at] / (0.5 * (steps[at - 1] + steps[at + 1])) - 1 for at in range(1, len(steps) - 1, 2)
            if None not in steps[at - 1:at + 2]]


def median_interval(values):
    """The median and its 95 % interval by order statistics (normal approximation of the binomial; wider when in doubt)."""
    values = sorted(values)
    reach = 0.98 * math.sqrt(len(values))  # 1.96 × half a root
    low = max(0, math.floor(len(values) / 2 - reach) - 1)
    high = min(len(values) - 1, math.ceil(len(values) / 2 + reach))
    return statistics.median(values), values[low], values[high]


def watched_run(options, method, devices):
    with place(options) as here:
        path = here.home / "watched.json"
        path.write_text(json.dumps(recipe(method, devices)))
        here.run_detached(path)
        window = here.start("lockstep")
        wait_for(lambda: here.log_frames().get(0, 0) >= 50, 120, "steps")
        taken = turns(window, options.turns, options.turn_seconds)
        if window.poll() is not None:
            raise SystemExit("run_bench: the window ended while it watched")
        for each in json.loads(here.control("list", "--json"))["experiments"]:
            here.control("stop", each["experiment"])
        result = wait_for(lambda: [json.loads(found.read_text()) for found in (here.home / "home/runs").glob("*/result.json")],
                          60, "the run's end")[0]
        return ratios_of(taken, step_windows(here.home)), result["watching"]


def measure_watching(options):
    cores, rows = len(os.sched_getaffinity(0)), []
    cases = [("ddp", cores, f"no core free: DDP on {cores} devices, {cores} cores", "measured, recorded, shown")]
    if cores > 1:
        cases.insert(0, ("baseline", 1, f"a core free: baseline on 1 of {cores} cores", f"≤ {GOAL * 100:.0f} %"))
    for method, devices, words, goal in cases:
        ratios, watching = watched_run(options, method, devices)
        if len(ratios) < 6:
            raise SystemExit(f"run_bench: {len(ratios)} turns with steps in them are too few; give --turns 20")
        middle, low, high = median_interval(ratios)
        kept = not goal.startswith("≤") or middle <= GOAL
        rows += [(f"Watching, {words}: a step takes longer by", f"{middle:.2%} (95 % {low:.2%} to {high:.2%}; n = {len(ratios)} "
                  f"turns)", goal, kept),
                 ("the same: processor time the viewers took over the whole run, half of which the window was stopped",
                  f"{watching['viewers_cpu_s'] / watching['watched_s']:.2%} of a core", "", True),
                 ("the same: turns by themselves", spread(ratios, "%", 1, 100), "", True)]
        if "ranks_waited_s" in watching:
            rows.append(("the same: the ranks' threads waited for a core",
                         f"{watching['ranks_waited_s']:.2f} s in the whole run", "", True))
    return rows
