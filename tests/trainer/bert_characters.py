#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes trainer/data/bert_character_data.cpp: what Hugging Face's BERT tokenizer makes of every character.

    .cache/peers/bin/python tests/trainer/bert_characters.py && python3 tests/setup/check_format.py --fix

The package `tokenizers` takes its categories, decompositions and lower case from three versions of Unicode, so no library of
Unicode gives the same. This asks the package itself about each character. trainer.word_piece compares all of them again.
"""
import textwrap
import unicodedata
from pathlib import Path

import tokenizers
from tokenizers.normalizers import NFD, BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

OUT = Path(__file__).resolve().parents[2] / "trainer/data/bert_character_data.cpp"
ALL = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
cased, uncased, nfd = BertNormalizer(lowercase=False), BertNormalizer(), NFD()
lowered, bare = BertNormalizer(strip_accents=False), BertNormalizer(lowercase=False, strip_accents=True)
pre = BertPreTokenizer()


def ranges(points):
    found = []
    for point in points:
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return found


def is_starter(point):
    """Whether its canonical combining class is 0: then no mark is moved past it."""
    text = chr(point)
    return nfd.normalize_str("\u0345" + text) == "\u0345" + text and point != 0x345


def classes_of(points):
    """Combining classes, found by where the package itself sorts a mark among marks of known classes."""
    known = {unicodedata.combining(chr(point)): chr(point) for point in range(0x300, 0x20000)
             if unicodedata.combining(chr(point)) and not is_starter(point)}
    found = {}
    for point in points:
        text = chr(point)
        # The known mark stays in front of ours where its class is at most ours.
        found[point] = max(order for order, mark in known.items() if nfd.normalize_str(mark + text) == mark + text)
    return found


def mappings(targets):
    """Steps first, last, step, target: the targets of every step-th character count up too. And runs of single ones."""
    steps, runs, left = [], [], dict(targets)
    for point in sorted(targets):
        if point not in left:
            continue
        best = (0, 1)
        for step in (1, 2):
            count = 1
            while left.get(point + count * step) == left[point] + count * step:
                count += 1
            best = max(best, (count, step))
        count, step = best
        if count >= 3:
            steps.append((point, point + (count - 1) * step, step, left[point]))
            for k in range(count):
                del left[point + k * step]
    for first, last in ranges(sorted(left)):
        runs.append((first, [left[point] for point in range(first, last + 1)]))
    return steps, runs


def array(kind, name, comment, rows):
    body = textwrap.fill(", ".join(rows), 116, break_long_words=False).replace("~", " ")
    return f"// {comment}\nconstexpr {kind} {name}Data[] = {{\n{body}}};\n"


def pair(bounds):
    return "{" + ",~".join(f"{number:#x}" for number in bounds) + "}"  # "~": a space where no line is broken


def main():
    made = {point: cased.normalize_str(chr(point)) for point in ALL}
    stripped = {point: bare.normalize_str(chr(point)) for point in ALL}
    removed = [point for point in ALL if made[point] == ""]
    spaces = [point for point in ALL if made[point] == " "]
    ideographs = [point for point in ALL if len(made[point]) == 3]
    assert all(made[point] in ("", " ", chr(point), f" {chr(point)} ") for point in ALL)
    plain = set(ALL) - set(removed) - set(spaces)
    punctuation = [point for point in sorted(plain) if len(pre.pre_tokenize_str(f"a{chr(point)}b")) == 3]
    marks = [point for point in sorted(plain) if stripped[point] == ""]
    ending = {point for point in marks if any(is_starter(ord(part)) for part in nfd.normalize_str(chr(point)))}
    moved = classes_of(point for point in sorted(plain) if stripped[point] == chr(point) and not is_starter(point))
    bases = {point: stripped[point].strip() for point in sorted(plain)
             if stripped[point] and stripped[point].strip() != chr(point) and point not in HANGUL}
    assert all(bare.normalize_str(part).strip() == part for text in bases.values() for part in text)
    assert not set(bases.values()) & set(map(chr, moved))
    for point in HANGUL:
        index = point - 0xAC00
        parts = [0x1100 + index // 588, 0x1161 + index % 588 // 28] + ([0x11A7 + index % 28] if index % 28 else [])
        assert stripped[point] == "".join(map(chr, parts))
    lower = {point: lowered.normalize_str(chr(point)).strip() for point in sorted(plain)
             if lowered.normalize_str(chr(point)).strip() != chr(point)}
    assert all(lowered.normalize_str(part).strip() == part for text in lower.values() for part in text)
    assert not set(lower) & (set(moved) | set(marks))
    for point in plain:  # both at once are one after the other
        both = "".join(lower.get(ord(part), part) for part in stripped[point].strip())
        assert uncased.normalize_str(chr(point)).strip() == both
    assert not any(ord(part) in lower for text in bases.values() if len(text) > 1 for part in text)

    text = ["// SPDX-License-Identifier: MIT",
            f"// Written by tests/trainer/bert_characters.py, which asked tokenizers {tokenizers.__version__}: change it there.",
            "// clang-format off",
            '#include "trainer/data/bert_character_data.h"\n', "namespace lockstep::trainer::bert {", "namespace {\n"]
    for name, comment, points in (("removed", "Dropped at once: controls, formats, private use, U+FFFD.", removed),
                                  ("spaces", "Read as a space.", spaces),
                                  ("ideographs", "Chinese characters: each is a word of its own.", ideographs),
                                  ("punctuation", "Signs: each is a word of its own.", punctuation),
                                  ("marks", "Dropped with the accents.", [p for p in marks if p not in ending]),
                                  ("endingMarks", "Dropped with the accents; no mark is sorted past them.", sorted(ending))):
        text.append(array("Range", name, comment, [pair(bounds) for bounds in ranges(points)]))
    text.append(array("Moved", "moved", "Kept, but sorted among their neighbours by their combining class.",
                      [pair((point, order)) for point, order in moved.items()]))
    for name, title, targets in (("base", "Base letters", bases), ("lower", "Lower case", lower)):
        steps, runs = mappings({point: ord(text) for point, text in targets.items() if len(text) == 1})
        text.append(array("Step", f"{name}Steps", f"{title}, where those of every step-th character count up too.",
                          [pair(step) for step in steps]))
        text.append(array("char32_t", f"{name}Runs",
                          f"{title} of the others: a first character, how many follow one another, what each becomes.",
                          [", ".join(f"{number:#x}" for number in (first, len(found), *found)) for first, found in runs]))
        text.append(array("Several", f"{name}Several", f"{title} of two or three characters.",
                          [f"{{{point:#x},~{pair(map(ord, parts))}}}" for point, parts in targets.items()
                           if len(parts) > 1]))
    text.append("} // namespace\n")
    for kind, name in (("Range", "removed"), ("Range", "spaces"), ("Range", "ideographs"), ("Range", "punctuation"),
                       ("Range", "marks"), ("Range", "endingMarks"), ("Moved", "moved"), ("Step", "baseSteps"),
                       ("char32_t", "baseRuns"), ("Several", "baseSeveral"), ("Step", "lowerSteps"), ("char32_t", "lowerRuns"),
                       ("Several", "lowerSeveral")):
        text.append(f"std::span<const {kind}> {name}() {{ return {name}Data; }}")
    text.append("\n} // namespace lockstep::trainer::bert\n")
    OUT.write_text("\n".join(text))


if __name__ == "__main__":
    main()
