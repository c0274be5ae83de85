#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures our WordPiece tokenizer against Hugging Face's fast one (package `tokenizers`), both on one core.

    tokenizer_vs_hf.py                                       a corpus of its own, 5 repeats
    tokenizer_vs_hf.py vocab.txt texts.csv --column text     real texts: a CSV or TSV file with a header

Needs a Python with transformers (--python; .cache/peers has it). Sides take turns (who is first changes every repeat), a ratio is of
one turn's pair, and the table gives the median and the extremes of those. Times are of the processor, not the wall clock: a busy
machine changes them little. Both cut off at 512 tokens, and must make the same number of tokens.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEER = """
import csv, json, sys, time
from transformers import BertTokenizerFast
from transformers.models.bert.tokenization_bert import load_vocab
vocabulary, path, column, delimiter = sys.argv[1:5]
csv.field_size_limit(1 << 30)
with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
    texts = [row[column] for row in csv.DictReader(file, delimiter=delimiter)]
whole = BertTokenizerFast(vocab=load_vocab(vocabulary))
bare = whole.backend_tokenizer
def batch(encode):
    bare.enable_truncation(512)
    bare.no_padding()
    return lambda: sum(len(each.ids) for each in encode(texts))
ways = {"encode_batch": batch(bare.encode_batch), "encode_batch_fast": batch(bare.encode_batch_fast),
        "BertTokenizerFast": lambda: sum(map(len, whole(texts, truncation=True, max_length=512)["input_ids"]))}
ways[list(ways)[1]]()  # warms up
print(len(texts), flush=True)
for line in sys.stdin:
    begun = time.process_time()
    tokens = ways[line.strip()]()
    print(json.dumps({"s": time.process_time() - begun, "tokens": tokens}), flush=True)
"""
WAYS = {"encode_batch": "encode_batch", "encode_batch_fast": "encode_batch_fast, without offsets",
        "BertTokenizerFast": "BertTokenizerFast(texts), as people call it"}


def own_corpus(folder):
    """Words by Zipf's law from syllables; the frequent ones are pieces of their own, as in a real vocabulary."""
    rolls = random.Random(30522)
    syllables = ["the", "in", "er", "re", "on", "tion", "st", "al", "en", "ed", "ti", "or", "is", "ver", "com", "a", "i", "o", "qu"]
    words = sorted({"".join(rolls.choices(syllables, k=rolls.choice((1, 1, 2, 2, 3)))) for _ in range(20000)}, key=lambda _: rolls.random())
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *".,!?'#@-0123456789"]
    pieces += words[:len(words) * 2 // 3] + syllables + ["##" + piece for piece in [*syllables, *"0123456789"]]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    weights = [1 / (rank + 10) for rank in range(len(words))]
    with open(folder / "texts.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["text"])
        for _ in range(30000):
            text = " ".join(rolls.choices(words, weights, k=rolls.randint(5, 30))).capitalize()
            rows.writerow([text.replace(" re ", ", re ") + rolls.choice([".", "!", " #1", " caf\u00e9", " \u2013 50"])])
    return folder / "vocab.txt", folder / "texts.csv", "text"


class Sides:
    def __init__(self, options, vocabulary, texts, column):
        first = open(texts, "rb").readline()
        delimiter = "\t" if str(texts).endswith(".tsv") or b"\t" in first else ","
        core = {min(os.sched_getaffinity(0))}
        self.settings = {"env": {**os.environ, "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}, "text": True,
                         "preexec_fn": lambda: os.sched_setaffinity(0, core), "stdout": subprocess.PIPE}
        self.ours_command = [options.bin / "bench_tokenizer", vocabulary, texts, column, "--benchmark_format=json",
                             "--benchmark_filter=encodeTexts", "--benchmark_min_time=0.5"]
        self.peer = subprocess.Popen([options.python, "-c", PEER, vocabulary, texts, column, delimiter], stdin=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, **self.settings)
        self.texts = int(self.peer.stdout.readline() or
                         sys.exit(f"tokenizer_vs_hf: {options.python} can't run transformers, or the texts can't be read"))

    def ours(self):
        ran = subprocess.run(self.ours_command, stderr=subprocess.PIPE, **self.settings)
        if ran.returncode != 0:
            sys.exit(f"tokenizer_vs_hf: bench_tokenizer failed: {ran.stderr.strip()}")
        found = json.loads(ran.stdout)["benchmarks"][0]
        return found["cpu_time"] / 1e3, int(found["tokens"])

    def theirs(self, way):
        print(way, file=self.peer.stdin, flush=True)
        found = json.loads(self.peer.stdout.readline())
        return found["s"], found["tokens"]


def shown(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabulary", nargs="?", type=pathlib.Path)
    parser.add_argument("file", nargs="?", type=pathlib.Path)
    parser.add_argument("--column", default="text")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    parser.add_argument("--python", default=ROOT / ".cache/peers/bin/python")
    options = parser.parse_args()
    if options.vocabulary and not options.file:
        parser.error("give a vocabulary and a file of texts, or neither")
    with tempfile.TemporaryDirectory(prefix="lockstep-tokenizer-") as folder:
        corpus = (options.vocabulary, options.file, options.column) if options.file else own_corpus(pathlib.Path(folder))
        sides = Sides(options, *corpus)
        print("| against | ratio, median (extremes) | ours, texts/s | Hugging Face, texts/s |\n|---|---|---|---|")
        for way, what in WAYS.items():
            pairs = []
            for turn in range(options.repeats):
                turns = [sides.ours, lambda: sides.theirs(way)]
                found = [run() for run in (turns if turn % 2 == 0 else turns[::-1])]
                ours, theirs = found if turn % 2 == 0 else found[::-1]
                if ours[1] != theirs[1]:
                    sys.exit(f"tokenizer_vs_hf: ours are {ours[1]} tokens, Hugging Face's {theirs[1]}")
                pairs.append((ours[0], theirs[0]))
            rates = [shown([sides.texts / pair[side] for pair in pairs], 0) for side in (0, 1)]
            print(f"| {what} | {shown([theirs / ours for ours, theirs in pairs])} | {rates[0]} | {rates[1]} |", flush=True)
        sides.peer.stdin.close()


if __name__ == "__main__":
    main()
