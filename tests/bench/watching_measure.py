"""What watching costs the training: run_bench.py's pairs of runs, one watched by the real window and one by nobody."""
import json
import os
import statistics
import time

from bench_place import place, spread, wait_for

GOAL = 0.01
SKIPPED = 3  # epochs at a run's start: the window opens meanwhile, which is no watching yet
NOTES = {"window.md": """\
**Watching.** Pairs of equal runs, one while the real window shows Live, one with no window, the order changing from pair to
pair; a run's figure is its median epoch, the first three left out. The ratio is what watching costs, everything included:
window, display server, agent's serving. Beside it stands what the run's agent recorded: the viewers' processor time, which
with no core free is about the most that it can cost, and how long the ranks' threads waited for a core.

**A step's end** is read off its window of steps: a frame carries about 100 ms of them, and they are spread evenly over the
window's training time. (Up to commit 08c9c61 they were spread over the wall time since the window before, so that the first
steps of each epoch seemed to end while the ranks evaluated; that, and not the way to the screen, was a p99 of 350 ms.)

"""}


def recipe(method, devices, epochs):
    return {"name": f"bench-{method}", "title": f"{method} to watch", "summary": "For tests/bench.",
            "question": "What does watching cost?",
            "base": {"model": "lenet", "dataset": "fashion-mnist", "device": "cpu", "batch_size": 64, "optimizer": "sgd",
                     "lr": 0.01, "momentum": 0.9, "augment": "affine", "loader": "batch", "workers": 0, "epochs": epochs,
                     "train_samples": 12800},
            "runs": [{"method": method, "devices": devices}], "reference": method, "repeats": 1}


def one_run(options, method, devices, watched):
    """Median epoch in seconds, and what the run's result says of watching."""
    with place(options) as here:
        path = here.home / "watched.json"
        path.write_text(json.dumps(recipe(method, devices, options.epochs)))
        here.run_detached(path)
        window = here.start("lockstep") if watched else None

        def results():
            time.sleep(0.5)  # looking, too, takes processor time
            return [json.loads(found.read_text()) for found in (here.home / "home/runs").glob("*/result.json")]
        result = wait_for(f"a run of {method}", 600, results)[0]
        if result["state"] != "done":
            raise SystemExit(f"run_bench: the run of {method} ended {result['state']}: {result.get('reason', '')}")
        if window and window.poll() is not None:
            raise SystemExit("run_bench: the window ended while it watched")
    epochs = [epoch["duration_s"] for epoch in result["summary"]["epochs"]][SKIPPED:]
    watching = result["watching"]
    if watched != (watching["watched_s"] >= sum(epochs)):
        raise SystemExit(f"run_bench: a viewer followed for {watching['watched_s']:.1f} s of a run that was meant to be "
                         f"{'watched' if watched else 'left alone'}")
    return statistics.median(epochs), watching


def pairs(options, method, devices):
    ratios, shares, waited = [], [], {True: [], False: []}
    for number in range(options.repeats):
        epoch = {}
        for watched in ((True, False) if number % 2 else (False, True)):
            epoch[watched], watching = one_run(options, method, devices, watched)
            if "ranks_waited_s" in watching:
                waited[watched].append(watching["ranks_waited_s"])
            if watched:
                shares.append(watching["viewers_cpu_s"] / watching["watched_s"])
        ratios.append(epoch[True] / epoch[False] - 1)
    return ratios, shares, waited


def waiting(waited):
    return "; ".join(spread(waited[watched], "s", 2) if waited[watched] else "not told by the kernel"
                     for watched in (True, False))


def measure_watching(options):
    cores, rows = len(os.sched_getaffinity(0)), []
    cases = [("ddp", cores, f"no core free: DDP ×{cores} on {cores} cores", "")]
    if cores > 1:
        cases.insert(0, ("baseline", 1, f"a core free: baseline on 1 of {cores} cores", f"≤ {GOAL * 100:.0f} %"))
    for method, devices, words, goal in cases:
        ratios, shares, waited = pairs(options, method, devices)
        rows += [(f"Watching, {words}: an epoch takes longer by", spread(ratios, "%", 2, 100), goal,
                  not goal or statistics.median(ratios) <= GOAL),
                 ("the same: processor time the viewers took, as the runs recorded it" +
                  ("" if goal else " (about the most that it can cost)"), spread(shares, "% of a core", 2, 100), "", True),
                 ("the same: the ranks' threads waited for a core, watched; not watched", waiting(waited), "", True)]
    return rows
