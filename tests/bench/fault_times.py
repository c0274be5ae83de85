#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long Lockstep takes to notice a fault, to stop or to give way, against the time promised for each. Tests never judge by the
clock: those with the ctest label `figures` print lines "figure: WHAT: 1.234 s, promised 5 s" (or shares in %), which are
repeated and judged here.
    tests/bench/fault_times.py BUILD [TIMES]      BUILD is the build folder, TIMES is 5 when it is not given. Exits with 1 when a
                                                  median is over its promise, or when a test fails."""

import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waiting import FIGURE  # noqa: E402


def figures(build):
    """(what, promised, unit) and value of each figure of one pass over the tests, which run one at a time."""
    ran = subprocess.run(["ctest", "--test-dir", build, "-L", "^figures$", "-V", "--no-tests=error"], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit("tests failed:\n" + ran.stdout[-4000:] + ran.stderr)
    return {
        (found["what"], float(found["promised"]), found["unit"]): float(found["took"]) for found in FIGURE.finditer(ran.stdout)
    }


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    times = int(sys.argv[2]) if len(sys.argv) == 3 else 5
    seen = {}
    for _ in range(times):
        for figure, took in figures(sys.argv[1]).items():
            seen.setdefault(figure, []).append(took)
    print("| what | median (least to most) | promised | kept |\n|---|---|---|---|")
    late = 0
    for (what, promised, unit), took in sorted(seen.items()):
        kept = statistics.median(took) <= promised
        late += not kept
        middle, least, most = statistics.median(took), min(took), max(took)
        print(f"| {what} | {middle:.2f} {unit} ({least:.2f} to {most:.2f}) | {promised:g} {unit} | {'yes' if kept else 'NO'} |")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
