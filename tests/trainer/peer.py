#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's own torch and torchvision for the tests of trainer/data: one word says what to compare.

    peer.py sampler CASES       a line of CASES: size world rank seed epoch; prints DistributedSampler's order of each
    peer.py affine F.safetensors    images (u8), draws, and what our loader made of them (f32); prints the differing pixels
    peer.py csv PATHS           prints the fields of the CSV files named in PATHS, in hex, a record a line
    peer.py characters WORDS    a line a code point: the words that it is between a and b; prints the lines that differ
    peer.py words FOLDER        vocab.txt, `texts` in hex and `tokens`, a line each; prints the lines that BertTokenizerFast differs in
"""

import sys
from pathlib import Path

import torch
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from reference import NORM, read_safetensors  # noqa: E402


def sampler(path):
    for line in Path(path).read_text().splitlines():
        size, world, rank, seed, epoch = map(int, line.split())
        order = DistributedSampler(range(size), world, rank, shuffle=True, seed=seed)
        order.set_epoch(epoch)
        print(*order)


def affine(path):
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as vision

    given = read_safetensors(path)
    mean, std = NORM["fashion-mnist"]
    torch.set_num_threads(1)
    pixels = differing = 0
    for image, degrees, shift, scale, made in zip(given["images"], given["degrees"], given["shifts"], given["scales"],
                                                  given["made"]):
        ours = image.unsqueeze(0).to(torch.float32).div(255)  # as transforms.ToTensor
        ours = vision.affine(ours, degrees.item(), shift.tolist(), scale.item(), [0.0, 0.0],
                             interpolation=InterpolationMode.NEAREST, fill=0)
        pixels += made.numel()
        differing += int((vision.normalize(ours, [mean], [std]) != made).sum())
    print(len(given["images"]), pixels, differing)


def csv(paths):
    from csv import reader

    for path in Path(paths).read_text().splitlines():
        with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
            rows = reader(file)
            next(rows)
            for row in filter(None, rows):
                print(*(field.encode("utf-8", "surrogateescape").hex() for field in row))


def characters(path):
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    pre, compared = BertPreTokenizer(), 0
    with open(path) as lines:
        for lower in (True, False):
            normalizer = BertNormalizer(lowercase=lower)
            for point in (*range(0xD800), *range(0xE000, 0x110000)):
                text = normalizer.normalize_str(f"a{chr(point)}b")
                expected = " ".join(word.encode().hex() for word, _ in pre.pre_tokenize_str(text))
                ours = next(lines).rstrip("\n")
                compared += 1
                if ours != expected:
                    print(f"U+{point:04X}, lowercase={lower}: {expected}, not {ours}")
    print(compared)


def words(folder):
    from transformers import BertTokenizerFast
    from transformers.models.bert.tokenization_bert import load_vocab

    folder = Path(folder)
    lines = (folder / "texts").read_text().splitlines()
    compared = 0
    with open(folder / "tokens") as tokens:
        for lower in (True, False):
            peer = BertTokenizerFast(vocab=load_vocab(folder / "vocab.txt"), do_lower_case=lower)
            for most in (512, 12):
                for first in range(0, len(lines), 10000):
                    texts = [bytes.fromhex(line).decode("utf-8", "replace") for line in lines[first:first + 10000]]
                    for text, ids in zip(texts, peer(texts, truncation=True, max_length=most)["input_ids"]):
                        ours = list(map(int, next(tokens).split()))
                        compared += 1
                        if ours != ids:
                            print(f"do_lower_case={lower}, max_length={most}: {text!a} is {ids}, not {ours}")
    print(compared)


if __name__ == "__main__":
    {"sampler": sampler, "affine": affine, "csv": csv, "characters": characters, "words": words}[sys.argv[1]](sys.argv[2])
