#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures lockstep-trainer against Python's own PyTorch on this machine's CPU cores, and prints the table of goals.

    trainer_vs_python.py                      all rows, 5 repeats; needs a quiet machine
    trainer_vs_python.py loader lenet --repeats 3
    trainer_vs_python.py gpu                  the rows of one GPU; without one they read "not run: no GPU"
    trainer_vs_python.py --write              also writes docs/benchmarks/trainer.md

Both sides use the same PyTorch, the same images, model, batch and cores, one intra-op thread a core. Sides take turns (who
is first changes every repeat), a ratio is of one turn's pair, and the table gives the median and the extremes of those.
Epochs are the training loop's wall time without evaluation; the first epoch warms up and is not counted. Ours is the
program as it ships; the peer is tests/bench/python_peer.py: `pil` as people write it, `tuned` as a careful person would.
"""
import argparse
import datetime
import gzip
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLES, EPOCHS, GPU_EPOCHS = 12800, 3, 6
DATA = "/usr/share/datasets/fashion-mnist"


class Bench:
    def __init__(self, options):
        self.options, self.bin = options, options.bin
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-vs-python-"))
        cores = sorted(os.sched_getaffinity(0))
        self.cores, self.made = cores, 0
        self.seed = 1  # a repeat's: the accuracies of all repeats show what a seed alone changes
        raw = self.home / "FashionMNIST/raw"
        raw.mkdir(parents=True)
        for packed in pathlib.Path(options.data).glob("*.gz"):
            (raw / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
        self.environment = {**os.environ, "LOCKSTEP_HOME": str(self.home / "home"), "OMP_NUM_THREADS": "1"}

    def out(self):
        self.made += 1
        return str(self.home / f"out{self.made}.json")

    def call(self, command):
        begun = time.time()
        ran = subprocess.run([str(word) for word in command], env=self.environment, capture_output=True, text=True,
                             timeout=500)
        if ran.returncode != 0:
            raise SystemExit(f"trainer_vs_python: {' '.join(str(word) for word in command)}\nended {ran.returncode}: "
                             f"{ran.stderr.strip()[-2000:]}")
        return ran.stdout, begun

    # Ours ---------------------------------------------------------------------------------------------------------
    def loader(self, workers, affine, loader="batch", cores=1):
        text, _ = self.call([self.bin / "bench_loader", 60000 if loader == "batch" else SAMPLES, EPOCHS, workers, loader,
                             "affine" if affine else "none", self.core_list(cores)])
        found = json.loads(text)
        return {"rate": found["images"] / statistics.median(found["epochs_s"][1:])}

    def core_list(self, count):
        return ",".join(map(str, self.cores[:count]))

    def trainer(self, ranks=1, affine=False, model="lenet", extra=(), samples=SAMPLES, epochs=EPOCHS):
        summary = self.out()
        words = ["lockstep-trainer", "--train-samples", samples, "--epochs", epochs, "--batch-size", 64,
                 "--summary", summary, "--seed", self.seed, "--augment", "affine" if affine else "none", "--model", model, "--data-dir",
                 self.options.data, *extra]
        if model == "convnet":
            words += ["--dropout", "0"]
        if ranks > 1:
            words += ["--method", "ddp", "--devices", ",".join(str(k) for k in range(ranks))]
            words[0] = self.bin / "lockstep-trainer"
            text, begun = self.call([self.bin / "lockstep-agent", "run", "--nproc-per-node", ranks, "--", *words])
        else:
            words[0] = self.bin / "lockstep-trainer"
            _, begun = self.call(words)
        found = json.loads(pathlib.Path(summary).read_text())
        times = [epoch["duration_s"] for epoch in found["epochs"]]
        times = times[1:] or times
        steps = found["steps"] / len(found["epochs"])
        return {"epoch_s": statistics.median(times), "rss": found.get("peak_rss_bytes"), "accuracy": found["test_accuracy"],
                "h2d_ms": found["phases_s"].get("h2d", 0) / found["steps"] * 1e3,
                "exposed_ms": found["phases_s"].get("exposed", 0) / found["steps"] * 1e3, "begun": begun,
                "step_ms": statistics.median(times) / steps * 1e3}

    def on_gpu(self, *extra, affine=False):
        """All images on one GPU: only there an epoch is long enough to be timed."""
        return self.trainer(affine=affine, samples=60000, epochs=GPU_EPOCHS, extra=["--device", "cuda", *extra])

    def has_gpu(self):
        asked = subprocess.run([self.options.python, "-c", "import torch; print(torch.cuda.is_available())"],
                               capture_output=True, text=True)
        return asked.stdout.strip() == "True"

    def first_step(self):
        runs = self.home / "home/runs"
        shutil.rmtree(runs, ignore_errors=True)
        found = self.trainer(2, samples=640, epochs=1)
        for line in next(runs.glob("*/node-0.ndjson")).read_text().splitlines():
            frame = json.loads(line)
            if frame["type"] == "steps":
                return {"s": frame["wall_us"] / 1e6 - found["begun"]}
        raise SystemExit("trainer_vs_python: the run's log has no steps")

    def one_by_one(self):
        out = self.out()
        self.call([self.bin / "lockstep-agent", "run", "--nproc-per-node", 2, "--", self.bin / "all_reduce_after", SAMPLES,
                   EPOCHS, 64, self.core_list(2), out])
        return {"epoch_s": statistics.median(json.loads(pathlib.Path(out + "0").read_text())["epochs_s"][1:])}

    # Python's -----------------------------------------------------------------------------------------------------
    def python(self, work="train", data="pil", ranks=1, affine=False, workers=0, model="lenet", extra=(), cores=None,
               samples=SAMPLES, epochs=EPOCHS, evaluate=True, device="cpu"):
        out = self.out()
        script = [HERE / "python_peer.py", work, "--root", self.home, "--data", data, "--workers", workers, "--model", model,
                  "--cores", self.core_list(cores or ranks), "--samples", samples, "--epochs", epochs, "--out", out,
                  "--seed", self.seed, "--device", device, *extra]
        script += ["--affine"] if affine else []
        script += ["--evaluate"] if evaluate and work == "train" else []
        if ranks > 1:
            _, begun = self.call([self.options.python, "-m", "torch.distributed.run", "--nproc-per-node", ranks,
                                  "--master-addr", "127.0.0.1", "--master-port", "29611", *script])
            found = [json.loads(pathlib.Path(f"{out}{rank}").read_text()) for rank in range(ranks)]
        else:
            _, begun = self.call([self.options.python, *script])
            found = [json.loads(pathlib.Path(out).read_text())]
        times = [max(epoch) for epoch in zip(*(each["epochs_s"] for each in found))]
        times = times[1:] or times
        result = {"epoch_s": statistics.median(times), "rate": found[0]["images"] / statistics.median(times)}
        if work == "train":
            result |= {"rss": sum(each["peak_rss_bytes"] for each in found), "accuracy": found[0].get("accuracy"),
                       "s": max(each["first_step_unix_s"] for each in found) - begun}
        return result

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)


def faster(ours, peer):
    return peer["epoch_s"] / ours["epoch_s"]


def rate(ours, peer):
    return ours["rate"] / peer["rate"]


def sooner(ours, peer):
    return peer["s"] / ours["s"]


def copied(ours, peer):
    return peer["h2d_ms"] / ours["h2d_ms"]


def python_on_gpu(bench, data, workers=0):
    return bench.python(data=data, affine=True, workers=workers, cores=len(bench.cores), samples=60000,
                        epochs=EPOCHS if data == "pil" else GPU_EPOCHS, device="cuda")  # all cores, as ours has them


POLICY = ["--batch-policy"]
RING = ["--workers", "4", "--pin-memory", "--non-blocking"]  # batches come from the host
NO_GPU, FAILED = "not run: no GPU", "failed"
# name, group, what, goal (None: shown beside), ours, peer, ratio, better
ROWS = [
    ("loader", "loader, affine, one core, against DataLoader + PIL", 15.0, lambda b: b.loader(0, True),
     lambda b: b.python("loader", affine=True), rate),
    ("loader", "… against tuned Python", None, lambda b: b.loader(0, True),
     lambda b: b.python("loader", "tuned", affine=True), rate),
    ("loader", "loader, affine, 2 workers on two cores, against DataLoader + PIL", 15.0, lambda b: b.loader(2, True, cores=2),
     lambda b: b.python("loader", affine=True, workers=2, cores=2), rate),
    ("loader", "… against tuned Python with 2 threads", None, lambda b: b.loader(2, True, cores=2),
     lambda b: b.python("loader", "tuned", affine=True, cores=2, extra=["--threads", "2"]), rate),
    ("loader", "… our --loader item, one core, against DataLoader + PIL", None, lambda b: b.loader(0, True, "item"),
     lambda b: b.python("loader", affine=True), rate),
    ("lenet", "LeNet epoch, affine, baseline, one core", 3.5, lambda b: b.trainer(affine=True),
     lambda b: b.python(affine=True), faster),
    ("lenet", "… against tuned Python", None, lambda b: b.trainer(affine=True),
     lambda b: b.python(data="tuned", affine=True), faster),
    ("lenet", "LeNet epoch, no affine, baseline, one core", 2.5, lambda b: b.trainer(), lambda b: b.python(), faster),
    ("lenet", "… against tuned Python", None, lambda b: b.trainer(), lambda b: b.python(data="tuned"), faster),
    ("ddp", "LeNet DDP, Gloo, 2 ranks", 1.8, lambda b: b.trainer(2), lambda b: b.python(ranks=2), faster),
    ("ddp", "… both SCHED_BATCH", None, lambda b: b.trainer(2, extra=["--scheduling", "batch"]),
     lambda b: b.python(ranks=2, extra=POLICY), faster),
    ("ddp", "… against tuned Python", None, lambda b: b.trainer(2), lambda b: b.python(data="tuned", ranks=2), faster),
    ("ddp", "… against tuned Python, which has SCHED_BATCH", None, lambda b: b.trainer(2),
     lambda b: b.python(data="tuned", ranks=2, extra=POLICY), faster),
    ("ddp", "… against one all-reduce a parameter after backward", 1.2, lambda b: b.trainer(2),
     lambda b: b.one_by_one(), faster),
    ("convnet", "convnet epoch (dropout 0), one core, tuned Python", 1.05,
     lambda b: b.trainer(model="convnet", samples=2560), lambda b: b.python(data="tuned", model="convnet", samples=2560),
     faster),
    ("start", "launch to first step, 2 ranks, against torchrun", 5.0, lambda b: b.first_step(),
     lambda b: b.python(ranks=2, samples=640, epochs=2, evaluate=False), sooner),
    ("start", "… against torchrun and tuned Python, which imports no torchvision", None, lambda b: b.first_step(),
     lambda b: b.python(data="tuned", ranks=2, samples=640, epochs=2, evaluate=False), sooner),
    ("gpu", "one GPU: LeNet epoch, affine, against DataLoader + PIL with 4 workers", 15.0,
     lambda b: b.on_gpu("--loader", "device", "--cuda-graph", affine=True), lambda b: python_on_gpu(b, "pil", 4), faster),
    ("gpu", "… against tuned Python (data and affine on the GPU, torch.cuda.graph)", 1.0,
     lambda b: b.on_gpu("--loader", "device", "--cuda-graph", affine=True), lambda b: python_on_gpu(b, "graph"), faster),
    ("gpu", "… our --loader batch with 4 workers against tuned Python", None,
     lambda b: b.on_gpu(*RING, "--cuda-graph", affine=True), lambda b: python_on_gpu(b, "graph"), faster),
    ("gpu", "one GPU: --cuda-graph against our own eager, batch 64", 4.0, lambda b: b.on_gpu(*RING, "--cuda-graph"),
     lambda b: b.on_gpu(*RING), faster),
    ("gpu", "… with --loader device", None, lambda b: b.on_gpu("--loader", "device", "--cuda-graph"),
     lambda b: b.on_gpu("--loader", "device"), faster),
    *(("gpu", f"copies to the GPU: {kind}, against pageable, blocking (h2d a step)", None,
       lambda b, extra=extra: b.on_gpu("--workers", "2", *extra), lambda b: b.on_gpu("--workers", "2"), copied)
      for kind, extra in (("pageable, non-blocking", ["--non-blocking"]), ("pinned, blocking", ["--pin-memory"]),
                          ("pinned, non-blocking", ["--pin-memory", "--non-blocking"]))),
]


def shown(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def measure(bench, row, repeats):
    _, what, goal, ours, peer, ratio = row
    pairs = []
    for turn in range(repeats):
        bench.seed = turn + 1
        sides = [("ours", ours), ("peer", peer)]
        found = {name: run(bench) for name, run in (sides if turn % 2 == 0 else sides[::-1])}
        pairs.append((found["ours"], found["peer"]))
    ratios = [ratio(*pair) for pair in pairs]
    copies = [("h2d_ms", "ms", 4)] if ratio is copied else []
    key, unit, digits = next((found for found in (*copies, ("rate", "images/s", 0), ("epoch_s", "s", 3), ("s", "s", 2))
                              if found[0] in pairs[0][0]))
    line = {"what": what, "goal": goal, "ratio": shown(ratios), "median": statistics.median(ratios),
            "ours": shown([pair[0][key] for pair in pairs], digits) + " " + unit,
            "peer": shown([pair[1][key] for pair in pairs], digits) + " " + unit, "pairs": pairs}
    return line


def mark(kept):
    return "kept" if kept else "MISSED"


def memory(what, line, goal=None, most=None):
    ratios = [pair[0]["rss"] / pair[1]["rss"] for pair in line["pairs"]]
    ours, peer = (shown([pair[side]["rss"] / 2**20 for pair in line["pairs"]], 0) + " MiB" for side in (0, 1))
    row = {"what": what, "goal": goal, "ratio": shown(ratios), "ours": ours, "peer": peer}
    return row if most is None else row | {"kept": statistics.median(ratios) <= most}


def derived(lines):
    """Rows that come out of the DDP pairs: exposed communication and memory."""
    found = []
    for line in lines:
        if line["ratio"] == FAILED:
            continue
        ours = [pair[0] for pair in line["pairs"]]
        if line["what"].startswith("one GPU: --cuda-graph"):
            steps = [each["step_ms"] * 1e3 for each in ours]
            found.append({"what": "its step", "goal": "≤ 100 µs", "ratio": "-", "ours": shown(steps, 1) + " µs", "peer": "-",
                          "kept": statistics.median(steps) <= 100} if steps else
                         {"what": "its step", "goal": "≤ 100 µs", "ratio": NO_GPU, "ours": "-", "peer": "-"})
        if line["what"].startswith("LeNet DDP"):
            exposed = [each["exposed_ms"] for each in ours]
            found.append({"what": "exposed communication of that DDP", "goal": "≤ 0.8 ms a step", "ratio": "-",
                          "ours": shown(exposed) + " ms", "peer": "-", "kept": statistics.median(exposed) <= 0.8})
            found.append(memory("peak memory of its ranks together", line, "≤ 0.5×", 0.5))
        if line["what"] == "… against tuned Python, which has SCHED_BATCH":
            found.append(memory("… against tuned Python", line))
    return found


def table(lines):
    rows = ["| work | goal | ratio, median (extremes) | ours | Python | |", "|---|---|---|---|---|---|"]
    for line in lines:
        goal = line["goal"]
        text = "" if goal is None else goal if isinstance(goal, str) else f"≥ {goal}×"
        decided = goal is not None and not isinstance(goal, str) and line["ratio"] not in (NO_GPU, FAILED)
        kept = line.get("kept", line["median"] >= goal if decided else None)
        rows.append(f"| {line['what']} | {text} | {line['ratio']} | {line['ours']} | {line['peer']} | "
                    f"{'' if kept is None else mark(kept)} |")
    return "\n".join(rows)


def accuracies(lines):
    found = []
    for line in lines:
        ours, peer = ([pair[side].get("accuracy") for pair in line["pairs"]] for side in (0, 1))
        if ours and None not in ours + peer:
            found.append(f"{line['what']}: {shown(ours, 4)} and {shown(peer, 4)}")
    return found


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 platform.processor())
    smi = shutil.which("nvidia-smi")
    gpus = subprocess.run([smi, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True) if smi else None
    named = ", " + " + ".join(gpus.stdout.split("\n")[:-1]) if gpus and gpus.returncode == 0 else ""
    return f"{model}{named}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f} at the start"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    groups = sorted({row[0] for row in ROWS})
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(groups)}; all when left out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--data", default=DATA, help="folder with Fashion-MNIST's four IDX files, .gz")
    parser.add_argument("--python", default=ROOT / ".cache/peers/bin/python")
    options = parser.parse_args()
    unknown = set(options.groups) - set(groups)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(groups)}")
    bench, about, lines = Bench(options), machine(), []
    chosen = [row for row in ROWS if not options.groups or row[0] in options.groups]
    gpu = any(row[0] == "gpu" for row in chosen) and bench.has_gpu()
    failed = 0
    try:
        for row in chosen:
            if gpu or row[0] != "gpu":
                try:
                    line = measure(bench, row, options.repeats)
                except (SystemExit, subprocess.TimeoutExpired) as error:  # the other rows' minutes are not lost
                    failed = 1
                    print(f"{row[1]}: {error}", file=sys.stderr, flush=True)
                    line = {"what": row[1], "goal": row[2], "ratio": FAILED, "ours": "-", "peer": "-", "pairs": []}
            else:
                line = {"what": row[1], "goal": row[2], "ratio": NO_GPU, "ours": "-", "peer": "-", "pairs": []}
            lines.append(line | {"group": row[0]})
            print(f"{lines[-1]['what']}: {lines[-1]['ratio']}", file=sys.stderr, flush=True)
            if row[0] == "gpu" and gpu:  # such a machine may be taken away in the middle
                report(options, about, [line for line in lines if line["group"] == "gpu"], quietly=True)
    finally:
        bench.close()
    for part in ([line for line in lines if line["group"] != "gpu"], [line for line in lines if line["group"] == "gpu"]):
        if part:
            report(options, about, part)
    return failed


def report(options, about, lines, quietly=False):
    """A CPU machine's rows and a GPU's are decided apart: they may come from two machines."""
    text, same = table(lines + derived(lines)), accuracies(lines)
    if not quietly:
        print(about, text, *same, sep="\n")
    if options.write:
        write(options, about, text, same, "gpu table" if lines[0]["group"] == "gpu" else "table")


def commit():
    """Of the working tree; where the sources came without git, what COMMIT says."""
    if os.environ.get("COMMIT") or not shutil.which("git"):
        return os.environ.get("COMMIT", "unknown")
    found = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def write(options, about, text, same, section):
    page = ROOT / "docs/benchmarks/trainer.md"
    head, rest = page.read_text().split(f"<!-- {section} -->")
    end = f"<!-- {section} end -->" if section != "table" else "<!-- end -->"
    _, tail = rest.split(end)
    body = f"\nMeasured {datetime.date.today()} at commit {commit()}: {about}; {options.repeats} repeats.\n\n{text}\n"
    if same:
        body += ("\nTest accuracy after the measured epochs, ours and Python's, median (extremes) over the repeats, each of which "
                 "has its own seed; with affine the two draw other numbers from it:\n\n"
                 + "\n".join(f"- {each}" for each in same) + "\n")
    page.write_text(f"{head}<!-- {section} -->{body}{end}{tail}")


if __name__ == "__main__":
    sys.exit(main())
