#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's own torch and torchvision for the tests of trainer/data: one word says what to compare.

    peer.py sampler CASES       a line of CASES: size world rank seed epoch; prints DistributedSampler's order of each
    peer.py affine F.safetensors    images (u8), draws, and what our loader made of them (f32); prints the differing pixels
    peer.py csv PATHS           prints the fields of the CSV files named in PATHS, in hex, a record a line
    peer.py characters WORDS    for each of some rules its line ("1 - 0": lower case, accents stripped or - as in lower case, Chinese
                                split), then a line 1,024 code points: in hex, the words that they are, each between a and b; prints the
                                first that differs in each line
    peer.py words FOLDER        vocab.txt, `rules`, a line each, `texts` in hex, a line each, and `tokens` by each rule, their number and
                                then themselves as 32-bit numbers; prints the texts that BertTokenizerFast differs in
"""

import sys
from array import array
from itertools import zip_longest
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


def rules_in(line):
    """Lower case, accents stripped and Chinese split, each as True, False or None."""
    return [None if word == "-" else word == "1" for word in line.split()]


def characters(path):
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    pre, compared = BertPreTokenizer(), 0
    points = (*range(0xD800), *range(0xE000, 0x110000))
    with open(path) as lines:
        for line in lines:
            lower, strip, chinese = rules_in(line)
            normalizer = BertNormalizer(lowercase=lower, strip_accents=strip, handle_chinese_chars=chinese)
            for first in range(0, len(points), 1024):
                some = points[first:first + 1024]
                text = normalizer.normalize_str(" ".join(f"a{chr(point)}b" for point in some))
                expected = [word for word, _ in pre.pre_tokenize_str(text)]
                ours = bytes.fromhex(next(lines)).decode().split(" ")
                compared += len(some)
                for at, pair in enumerate(zip_longest(expected, ours)):
                    if pair[0] != pair[1]:
                        print(f"from U+{some[0]:04X} on, by {line.strip()}: word {at} is {pair[0]!a}, not {pair[1]!a}")
                        break
    print(compared)


def words(folder):
    from transformers import BertTokenizerFast
    from transformers.models.bert.tokenization_bert import load_vocab

    folder = Path(folder)
    lines = (folder / "texts").read_text().splitlines()
    texts = [bytes.fromhex(line).decode("utf-8", "replace") for line in lines]
    compared = 0
    with open(folder / "tokens", "rb") as tokens:
        for line in (folder / "rules").read_text().splitlines():
            lower, strip, chinese = rules_in(line)
            peer = BertTokenizerFast(vocab=load_vocab(folder / "vocab.txt"), do_lower_case=lower, strip_accents=strip,
                                     tokenize_chinese_chars=chinese)
            for most, count in ((12, 10000), (512, len(texts))):
                for first in range(0, count, 10000):
                    encoded = peer(texts[first:first + 10000], truncation=True, max_length=most, return_attention_mask=False,
                                   return_token_type_ids=False)["input_ids"]
                    for text, ids in zip(texts[first:first + 10000], encoded):
                        ours = array("i")
                        ours.fromfile(tokens, 1)
                        ours.fromfile(tokens, ours.pop())
                        compared += 1
                        if ours != array("i", ids):
                            print(f"{line}, max_length={most}: {text!a} is {ids}, not {ours.tolist()}")
    print(compared)


if __name__ == "__main__":
    {"sampler": sampler, "affine": affine, "csv": csv, "characters": characters, "words": words}[sys.argv[1]](sys.argv[2])
