#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lockstep's following of an unchanged script beside TraceML (traceml-ai): what each costs, and what each says of faults that are known.

    traceml_beside.py BIN PYTHON [--traceml PYTHON] [--repeats 9] [--faults 3]     BIN: the folder of lockstep-agent and lockstepctl

PYTHON has torch; the rows of libraries need pytorch_lightning and transformers too. --traceml names a Python that has these and
traceml-ai; without it a virtual environment is made for the purpose in a temporary folder. All runs use that one Python.

Every script is run plainly, followed by `lockstep-agent run --auto`, and by `traceml run`, unchanged and with the three lines that
TraceML's manual asks for in a loop of one's own. The runs take turns, and who is first changes. Costs are medians of differences from the
plain run of the same turn, with their extremes. What a tool says of a fault stands beside timers set by hand in the same process. Prints a
table, what the tools said word for word, and the machine.
"""
import argparse
import collections
import itertools
import json
import os
import pathlib
import platform
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from support import ADDITIVE  # noqa: E402  (the phases that add up to a step)

TRAIN, LIBRARY = HERE / "traceml/train.py", HERE / "traceml/library.py"
VERSION = "0.5.0"
WAYS = {"plain": "Truth", "lockstep": "Lockstep", "lines": "TraceML, three lines added", "traceml": "TraceML, unchanged"}
LENET = ["--model", "lenet", "--batch", "32"]
RANKS = 2


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCKSTEP_", "TRACEML_"))}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def made_for_the_purpose(folder, python):
    """A Python with traceml-ai, and with torch from another one."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    made = folder / "bin/python"
    subprocess.run([made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"traceml-ai=={VERSION}"], check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    there = "import sys; print(*(folder for folder in sys.path if folder.endswith('site-packages')), sep='\\n')"
    site, torch = (subprocess.run([each, "-c", line], capture_output=True, text=True, check=True, env=environment()).stdout
                   for each, line in ((made, where), (python, there)))
    (pathlib.Path(site.strip()) / "torch.pth").write_text(torch)
    return made


def with_lines(text):
    """The script with the lines that TraceML's manual asks for."""
    text, began = re.subn(r"^import torch\n", "import torch\nimport traceml_ai as traceml\ntraceml.init(mode='auto')\n", text, flags=re.M)
    text, stepped = re.subn(r"^( +)(step\(x, y\))$", r"\1with traceml.trace_step(model):\n\1    \2", text, flags=re.M)
    if (began, stepped) != (1, 1):
        raise SystemExit("traceml_beside: train.py has changed, and the lines have no place in it")
    return text


class Seen:
    """What a run printed, and what was said of it."""

    def __init__(self, launched, ended, output):
        truths = [json.JSONDecoder().raw_decode(rest)[0] for rest in output.split("TRUTH ")[1:]]
        self.by_rank = {truth["rank"]: truth for truth in truths}
        truth = self.by_rank[0]
        self.first_s, self.whole_s = truth.get("first", launched) - launched, ended - launched
        self.step_s = truth.get("step_s")
        self.hand = hand_of(truth)
        self.steps = 0  # seen by the tool
        self.ranks = {}  # milliseconds a step by phase, as the tool says
        self.words, self.sentences, self.named = "", [], "no rank named"

    @property
    def load(self):
        """Milliseconds a step, and their share of the step. None: not said."""
        return (self.ranks[0]["load"], self.ranks[0]["load"] / self.ranks[0]["step"]) if self.ranks else None


def hand_of(truth):
    """The same by the script's own timers: a step is all but its validation."""
    phases = {phase: seconds / truth["steps"] * 1e3 for phase, seconds in truth["hand"].items() if not phase.startswith("validation")}
    load = phases.get("load", 0) + phases.get("start of workers", 0)
    return load, load / sum(phases.values()) if "forward" in phases else None


class Bench:
    def __init__(self, options, home):
        self.bin, self.python, self.home, self.made = options.bin, options.traceml, home, itertools.count(1)
        self.lines = home / "with_lines.py"
        self.lines.write_text(with_lines(TRAIN.read_text()))

    def call(self, *command):
        launched = time.time()
        done = subprocess.run([str(word) for word in command], cwd=self.home, env=environment(LOCKSTEP_HOME=str(self.home)),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        ended = time.time()
        if done.returncode:
            raise SystemExit(f"traceml_beside: {command} ended with {done.returncode}\n{done.stdout[-3000:]}")
        return Seen(launched, ended, done.stdout), done.stdout

    def run(self, way, script, words, ranks=1):
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks] if ranks > 1 else []
        if way == "plain":
            return self.call(self.python, *torchrun, script, *words)[0]
        if way == "lockstep":
            return self.followed(self.call(self.bin / "lockstep-agent", "run", "--auto", "--", self.python, *torchrun, script, *words))
        name = f"run{next(self.made)}"
        seen, output = self.call(self.python, "-m", "traceml_ai.launcher.cli", "run", self.lines if way == "lines" else script,
                                 "--logs-dir", self.home / "logs", "--run-name", name, "--nproc-per-node", ranks,
                                 "--aggregator-port", free_port(), "--master-port", free_port(), "--args", *words)
        return self.traced(seen, output, json.loads((self.home / "logs" / name / "final_summary.json").read_text()))

    def followed(self, called):
        seen, output = called
        run = re.search(r"^run (\S+)$", output, flags=re.M)[1]
        frames = [json.loads(line) for line in (self.home / "runs" / run / "node-0.ndjson").read_text().splitlines()]
        for rank in seen.by_rank:
            epochs = [frame for frame in frames if frame["type"] == "epoch" and frame.get("rank") == rank]
            steps = sum(epoch["steps"] for epoch in epochs)
            if steps:
                seen.ranks[rank] = {phase: sum(epoch["phases"].get(phase, {"sum_s": 0})["sum_s"] for epoch in epochs) / steps * 1e3
                                    for phase in ADDITIVE}
                seen.ranks[rank]["step"] = sum(seen.ranks[rank].values())
            seen.steps = steps if rank == 0 else seen.steps
        shown = subprocess.run([self.bin / "lockstepctl", "show", run, "--json"], env=environment(LOCKSTEP_HOME=str(self.home)),
                               capture_output=True, text=True, check=True)
        judgement = (json.loads(shown.stdout)["results"] or {}).get("judgement") or {"bottlenecks": []}
        seen.words = "; ".join(each["bound"] for each in judgement["bottlenecks"]) or "nothing"
        seen.sentences = [f"{each['bound']}. {each['evidence']}" for each in judgement["bottlenecks"]]
        seen.sentences += [frame["message"] for frame in frames if frame["type"] == "alert"]
        slow = r"\brank (\d+) (?:spends|on \S+ is slower).*?\b(load|h2d|forward|backward|optimizer)\b"
        for rank, phase in re.findall(slow, " ".join(seen.sentences)):
            seen.named = f"rank {rank}, {phase}"
        return seen

    def traced(self, seen, output, summary):
        times = summary["step_time"]
        seen.steps = times["global"]["window"]["steps_analyzed"] or 0
        for rank, row in times["groups"]["rows"].items():
            values = {name[:-3]: value or 0 for name, value in row["metrics"].items() if name.endswith("_ms")}
            seen.ranks[int(rank)] = {**values, "load": values["input_wait"], "step": values["step_time"]}
        seen.words = summary["primary_diagnosis"]["status"]
        evidence = times["diagnosis"]["evidence"]
        if "culprit_rank" in evidence:
            seen.named = f"rank {evidence['culprit_rank']}, {evidence['component']}"
        seen.sentences = re.findall(r"^\|  ((?:Verdict|Why|Next): .*?) +\|$", output, flags=re.M)
        return seen

    def turns(self, count, script, words, ways=tuple(WAYS), ranks=1):
        """Runs all ways in turns, each as often. Gives what was seen by way."""
        out = {way: [] for way in ways}
        for turn in range(count):
            first = turn % len(ways)
            for way in (*ways[first:], *ways[:first]):
                out[way].append(self.run(way, script, words, ranks))
                print(".", end="", file=sys.stderr, flush=True)
        return out

    def fault(self, count, words, ways=("plain", "lockstep", "lines"), ranks=1):
        """The same of a fault in the plain loop, of which TraceML unchanged sees nothing: one run of it shows that."""
        return {**self.turns(count, TRAIN, words, ways, ranks), "traceml": [self.run("traceml", TRAIN, words, ranks)]}


def spread(values, scale, unit, digits):
    low, middle, high = (f"{value * scale:+.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} {unit} ({low} to {high})"


def cost_row(name, seen, get, scale, unit, digits):
    plain = [get(each) for each in seen["plain"]]
    return [name, f"{statistics.median(plain) * scale:.{digits}f} {unit}",
            *(spread([get(each) - base for each, base in zip(seen[way], plain)], scale, unit, digits) if way in seen else "-"
              for way in list(WAYS)[1:])]


def most(words):
    """The words that were said most often, with how often if not always."""
    (word, times), *others = collections.Counter(words).most_common()
    return f"{word} ({times} of {len(words)})" if others else word


def load_text(load):
    milliseconds, share = load
    return f"{milliseconds:.2f} ms" + (f", {share:.0%}".replace("%", " %") if share is not None else "")


def middle(runs, get):
    """The run whose load, that `get` gives, is the one in the middle."""
    return sorted(runs, key=lambda each: get(each)[0])[len(runs) // 2]


def load_row(name, seen):
    """A cell has the time of loading a step and its share in the middle one of the runs, the same by hand in that run, and the words that were
    said most often."""
    row = [name]
    for way in WAYS:
        runs = seen.get(way, [])
        if way == "plain":
            row.append(load_text(middle(runs, lambda each: each.hand).hand))
        elif not runs:
            row.append("-")
        elif not runs[0].steps:
            row.append("no steps")
        else:
            run = middle(runs, lambda each: each.load)
            row.append(f"{load_text(run.load)} (by hand {load_text(run.hand)}): {most([each.words for each in runs])}")
    return row


def rank_row(name, phase, seen):
    """The words, and which rank and phase they name."""
    row = [name, f"rank 1, {phase}"]
    for way in list(WAYS)[1:]:
        runs = seen[way]
        if not runs[0].steps:
            row.append("no steps")
            continue
        row.append(f"{most([each.words for each in runs])}; {most([each.named for each in runs])}")
    return row


def step_row(name, seen):
    return [name, str(seen["plain"][0].by_rank[0]["steps"]),
            *(most([str(each.steps) for each in seen[way]]) if way in seen else "-" for way in list(WAYS)[1:])]


def said(title, seen):
    """What each tool printed, and the phases of each rank."""
    lines = [f"\n{title}"]
    for way, runs in seen.items():
        if way == "plain" or not runs[0].steps:
            continue
        each = runs[len(runs) // 2]
        lines.append(f"- {WAYS[way]}: " + " / ".join(f'"{sentence}"' for sentence in each.sentences))
        for rank, phases in each.ranks.items() if len(each.ranks) > 1 else ():
            hand = {phase: seconds / each.by_rank[rank]["steps"] * 1e3 for phase, seconds in each.by_rank[rank]["hand"].items()}
            shown = [", ".join(f"{phase} {times[phase]:.2f}" for phase in ("load", "forward", "backward", "exposed", "optimizer")
                               if phase in times) for times in (phases, hand)]
            lines.append(f"  rank {rank}, ms a step: {shown[0]}; by hand {shown[1]}")
    return lines


def machine(options, begun):
    line = "import importlib.metadata as of, sys, torch; print(sys.version.split()[0], torch.__version__, of.version('traceml-ai'))"
    found = subprocess.run([options.traceml, "-c", line], capture_output=True, text=True, check=True).stdout.split()
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return (f"Python {found[0]}, torch {found[1]}, traceml-ai {found[2]}, {model[1] if model else platform.processor()}, "
            f"{len(os.sched_getaffinity(0))} cores; load {begun[1]:.1f} before, {os.getloadavg()[0]:.1f} after; "
            f"{(time.monotonic() - begun[0]) / 60:.0f} min")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("python", type=lambda text: pathlib.Path(text).absolute())
    parser.add_argument("--traceml", type=lambda text: pathlib.Path(text).absolute(), help="a Python with torch and traceml-ai")
    parser.add_argument("--repeats", type=int, default=9, help="turns of the rows of costs")
    parser.add_argument("--libraries", type=int, default=5, help="turns of the rows of Lightning and Hugging Face")
    parser.add_argument("--faults", type=int, default=3, help="turns of the other rows")
    options = parser.parse_args()
    begun = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="lockstep-traceml-") as folder:
        home = pathlib.Path(folder)
        if not options.traceml:
            options.traceml = made_for_the_purpose(home / "python", options.python)
        bench = Bench(options, home)
        rows, words = [], []

        small = bench.turns(options.repeats, TRAIN, ["--steps", "6000"])
        lenet = bench.turns(options.repeats, TRAIN, ["--steps", "400", *LENET])
        ddp = bench.turns(options.repeats, TRAIN, ["--steps", "1500"], ("plain", "lockstep", "lines"), RANKS)
        libraries = {name: bench.turns(options.libraries, LIBRARY, [name, "150", "0", "5"], ("plain", "lockstep", "traceml"))
                     for name in ("lightning", "huggingface")}
        rows.append(cost_row("a small step", small, lambda each: each.step_s, 1e6, "µs", 0))
        rows.append(cost_row("a step of LeNet", lenet, lambda each: each.step_s, 1e3, "ms", 2))
        rows.append(cost_row(f"a small step of {RANKS} ranks of DDP", ddp, lambda each: each.step_s, 1e6, "µs", 0))
        for name, seen in libraries.items():
            rows.append(cost_row(f"a step of LeNet, {name}", seen, lambda each: each.step_s, 1e3, "ms", 2))
        rows.append(cost_row("launch to the end of the first step", lenet, lambda each: each.first_s, 1, "s", 2))
        rows.append(cost_row("launch to exit, 400 steps of LeNet", lenet, lambda each: each.whole_s, 1, "s", 2))
        rows.append(step_row("steps seen, plain loop", lenet))
        rows += [step_row(f"steps seen, {name}", seen) for name, seen in libraries.items()]
        for name, changes in (("loading, no fault", ["--steps", "150", "--epochs", "5"]),
                              ("loading, +1 ms a sample", ["--steps", "100", "--item-ms", "1"]),
                              ("loading, slow validation", ["--steps", "150", "--epochs", "5", "--validation-ms", "5"]),
                              ("loading, 2 workers started in each epoch", ["--steps", "30", "--epochs", "10", "--workers", "2"])):
            seen = bench.fault(options.faults, [*changes, *LENET])
            rows.append(load_row(name, seen))
            words += said(name, seen)
        for name, seen in libraries.items():
            rows.append(load_row(f"loading, slow validation, {name}", seen))
            words += said(f"loading, slow validation, {name}", seen)
        for phase in ("backward", "forward", "load"):
            seen = bench.fault(options.faults, ["--steps", "100", "--slow", f"1:{phase}"], ("lockstep", "lines"), RANKS)
            rows.append(rank_row(f"30 ms in {phase} of rank 1 of {RANKS}", phase, seen))
            words += said(f"30 ms in {phase} of rank 1 of {RANKS}", seen)
        ran_on = machine(options, begun)
    print(file=sys.stderr)
    print("| | " + " | ".join(WAYS.values()) + " |")
    print("|---" * (len(WAYS) + 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print("\n".join(words))
    print(f"\n{ran_on}")


if __name__ == "__main__":
    sys.exit(main())
