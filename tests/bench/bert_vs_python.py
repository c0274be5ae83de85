#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures lockstep-trainer's BERT against Hugging Face's transformers on one CPU core, and prints the table of goals.

    bert_vs_python.py --bert DIR              5 repeats; needs a quiet core. DIR: what lockstepctl get-data bert got
    bert_vs_python.py --bert DIR --accuracy   instead: test accuracy of the same fine-tuning on both sides, seeds 1 to 3 or those of --seeds
    bert_vs_python.py --bert DIR --write      also writes docs/benchmarks/bert.md

Both sides use the same PyTorch, weights, texts, batch and core, and one intra-op thread. Sides take turns (who is first changes every
repeat), a ratio is of one turn's pair, and the table gives the median and the extremes of those. The first epoch warms up and is not
counted. The peer is BertForSequenceClassification with its attention as transformers chooses it (sdpa), uncompiled, and torch's AdamW.
"""
import argparse
import concurrent.futures
import csv
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from trainer_vs_python import ROOT, commit, machine, mark, shown  # noqa: E402

BATCH, SAMPLES, EPOCHS = 32, 320, 2
TUNING = {"train": 4800, "test": 3815, "epochs": 2, "warmup": 20, "lr": 5e-5}


def peer(options):
    """In a process of its own: prints {"epochs_s", "tokens", "peak_rss_bytes", "accuracy"}."""
    import resource

    import torch
    from tokenizers import BertWordPieceTokenizer
    from torch.utils.data.distributed import DistributedSampler
    from transformers import BertForSequenceClassification, get_linear_schedule_with_warmup

    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    with open(options.bert / "texts.csv", newline="", encoding="utf-8", errors="replace") as file:
        rows = list(csv.DictReader(file))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).tolist()
    labels = sorted({row["sentiment"] for row in rows})
    split = {name: [rows[record] for i, record in enumerate(order) if (i % 10 == 9) == (name == "test")] for name in ("train", "test")}
    train, test = split["train"][: options.samples], split["test"][: options.test]
    tokenizer = BertWordPieceTokenizer(str(options.bert / "vocab.txt"), lowercase=True)
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()

    def batch(chosen):
        encoded = tokenizer.encode_batch([row["text"] for row in chosen])
        return (torch.tensor([each.ids for each in encoded]), torch.tensor([each.attention_mask for each in encoded]),
                torch.tensor([labels.index(row["sentiment"]) for row in chosen]))

    model = BertForSequenceClassification.from_pretrained(options.bert, num_labels=len(labels)).train()
    groups = [{"params": [p for p in model.parameters() if (p.dim() > 1) == matrices], "weight_decay": decay}
              for matrices, decay in ((True, 0.01), (False, 0.0))]
    optimizer = torch.optim.AdamW(groups, lr=TUNING["lr"])
    steps = -(-len(train) // BATCH) * options.epochs
    schedule = get_linear_schedule_with_warmup(optimizer, min(TUNING["warmup"], steps), steps)
    sampler, times = DistributedSampler(train, 1, 0, shuffle=True, seed=options.seed), []
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        order, begun = list(sampler), time.perf_counter()
        for first in range(0, len(order), BATCH):
            tokens, mask, targets = batch([train[i] for i in order[first:first + BATCH]])
            loss = torch.nn.functional.cross_entropy(model(input_ids=tokens, attention_mask=mask).logits, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        times.append(time.perf_counter() - begun)
    rss, right = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, 0
    model.eval()
    with torch.no_grad():
        for first in range(0, len(test), 100):
            tokens, mask, targets = batch(test[first:first + 100])
            right += int((model(input_ids=tokens, attention_mask=mask).logits.argmax(1) == targets).sum())
    print(json.dumps({"epochs_s": times, "peak_rss_bytes": rss, "accuracy": right / len(test) if test else None}))


class Sides:
    def __init__(self, options, core=None):
        self.options = options
        self.core = min(os.sched_getaffinity(0)) if core is None else core
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

    def call(self, words):
        ran = subprocess.run(["taskset", "-c", str(self.core), *map(str, words)], env=self.environment, capture_output=True, text=True)
        if ran.returncode != 0:
            raise SystemExit(f"bert_vs_python: {words[0]} ended {ran.returncode}: {ran.stderr.strip()[-1500:]}")
        return ran.stdout

    def ours(self, seed, padding="longest", samples=SAMPLES, test=1, epochs=EPOCHS):
        with tempfile.TemporaryDirectory(prefix="lockstep-bert-") as folder:
            summary = pathlib.Path(folder, "summary.json")
            self.call([self.options.bin / "lockstep-trainer", "--model=bert", "--dataset=sentiment", f"--bert-dir={self.options.bert}",
                       f"--data-dir={self.options.bert}", f"--train-samples={samples}", f"--test-samples={test}", f"--epochs={epochs}",
                       f"--batch-size={BATCH}", "--optimizer=adamw", f"--lr={TUNING['lr']}", "--weight-decay=0.01",
                       "--decay-biases=false", "--lr-schedule=linear", f"--warmup-steps={min(TUNING['warmup'], samples // BATCH * epochs)}",
                       "--clip-grad-norm=1", f"--padding={padding}", f"--seed={seed}", f"--summary={summary}"])
            found = json.loads(summary.read_text())
        return {"epoch_s": statistics.median(epoch["duration_s"] for epoch in found["epochs"][1:]),
                "rss": found["peak_rss_bytes"], "accuracy": found["test_accuracy"]}

    def python(self, seed, samples=SAMPLES, test=0, epochs=EPOCHS):
        found = json.loads(self.call([self.options.python, __file__, "--peer", "--bert", self.options.bert, "--seed", seed,
                                      "--samples", samples, "--test", test, "--epochs", epochs]).splitlines()[-1])
        return {"epoch_s": statistics.median(found["epochs_s"][1:]), "rss": found["peak_rss_bytes"], "accuracy": found["accuracy"]}


def pairs_of(sides, repeats, ours, other):
    pairs = []
    for turn in range(repeats):
        order = (ours, other) if turn % 2 == 0 else (other, ours)
        found = {side: side(turn + 1) for side in order}
        pairs.append((found[ours], found[other]))
        print(f"turn {turn + 1}: {pairs[-1]}", file=sys.stderr, flush=True)
    return pairs


def row(what, goal, ratios, ours, other, kept):
    return f"| {what} | {goal} | {shown(ratios)} | {ours} | {other} | {mark(kept)} |"


def speed(sides, repeats):
    step = lambda pair, side: pair[side]["epoch_s"] / (SAMPLES / BATCH) * 1e3  # noqa: E731
    plain = pairs_of(sides, repeats, sides.ours, sides.python)
    faster = [step(pair, 1) / step(pair, 0) for pair in plain]
    smaller = [pair[0]["rss"] / pair[1]["rss"] for pair in plain]
    padded = pairs_of(sides, repeats, lambda seed: sides.ours(seed, "bucket"), lambda seed: sides.ours(seed, "full"))
    more = [step(pair, 1) / step(pair, 0) for pair in padded]
    ms = lambda pairs, side: shown([step(pair, side) for pair in pairs], 0) + " ms"  # noqa: E731
    mib = lambda side: shown([pair[side]["rss"] / 2**20 for pair in plain], 0) + " MiB"  # noqa: E731
    return "\n".join([
        "| work | goal | ratio, median (extremes) | ours | the other | |", "|---|---|---|---|---|---|",
        row("a step, batch 32, padded to the batch's longest, against transformers", "≥ 1.0×, hoped for 1.3×", faster, ms(plain, 0),
            ms(plain, 1), statistics.median(faster) >= 1),
        row("its peak memory", "≤ 0.6×", smaller, mib(0), mib(1), statistics.median(smaller) <= 0.6),
        row("buckets by length against our own padding to the longest text of all", "≥ 1.3×", more, ms(padded, 0), ms(padded, 1),
            statistics.median(more) >= 1.3)])


def accuracy(options):
    """Nothing is timed here: the sides train side by side, on a core each."""
    cores = sorted(os.sched_getaffinity(0))
    each = [Sides(options, core) for core in (cores[0], cores[-1])]
    tuning = {"samples": TUNING["train"], "test": TUNING["test"], "epochs": TUNING["epochs"]}
    pairs = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for seed in options.seeds:
            found = [pool.submit(side, seed, **tuning) for side in (each[0].ours, each[1].python)]
            pairs.append([one.result() for one in found])
            print(f"seed {seed}: {pairs[-1]}", file=sys.stderr, flush=True)
    apart = abs(statistics.mean(pair[0]["accuracy"] for pair in pairs) - statistics.mean(pair[1]["accuracy"] for pair in pairs)) * 100
    listed = [", ".join(f"{pair[side]['accuracy']:.2%}" for pair in pairs) for side in (0, 1)]
    return (f"Test accuracy after {TUNING['epochs']} epochs of {TUNING['train']:,} texts, on {TUNING['test']:,} others, by seed: ours "
            f"{listed[0]}; transformers {listed[1]}. The means are {apart:.2f} points apart (goal: within 1).")


def write(section, about, body):
    page = ROOT / "docs/benchmarks/bert.md"
    head, rest = page.read_text().split(f"<!-- {section} -->")
    tail = rest.split(f"<!-- {section} end -->")[1]
    measured = f"Measured {datetime.date.today()} at commit {commit()}: {about}."
    page.write_text(f"{head}<!-- {section} -->\n{measured}\n\n{body}\n<!-- {section} end -->{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bert", type=pathlib.Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--python", default=ROOT / ".cache/peers/bin/python")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    for name, usual in (("seed", 1), ("samples", SAMPLES), ("test", 0), ("epochs", EPOCHS)):
        parser.add_argument(f"--{name}", type=int, default=usual, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer(options)
    about, sides = machine(), Sides(options)
    section, body = ("accuracy", accuracy(options)) if options.accuracy else ("speed", speed(sides, options.repeats))
    print(about, body, sep="\n")
    if options.write:
        write(section, about, body)
    return 0


if __name__ == "__main__":
    sys.exit(main())
