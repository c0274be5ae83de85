#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Causes the faults of rows.py for real and prints what came of each, a fault a line: what is promised, what was measured, the verdict.

    faults.py BUILD                  every row once; minutes, on a machine with no other load
    faults.py BUILD --times 5        five times: the figures are medians
    faults.py BUILD --rows 1,4,A7    only these
    LOCKSTEP_SOAK=1 faults.py BUILD  in the long form of the tests: a hundred cuts, every operation that can fail; half an hour
    faults.py BUILD --names          runs nothing: whether every test that a row names is there
    faults.py BUILD --write          also writes the table into docs/reliability.md

A row names the tests that cause its fault. They never judge by the clock; they print "figure: WHAT: 1.234 s, promised 5 s" (tests/figure.h),
which is judged here. Exits with 1 when a test fails, a median is over its promise, or a row names a test that is not there."""

import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from rows import ROWS

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from waiting import FIGURE  # noqa: E402

# How many cases a program says it ran, and how many of them it left out: doctest, Qt Test, Python's unittest.
RAN = (re.compile(r"\[doctest\] test cases: +(?P<ran>\d+) \|"), re.compile(r"Totals: (?P<ran>\d+) passed"), re.compile(r"Ran (?P<ran>\d+) test"))
LEFT_OUT = (re.compile(r"^(?:.*MESSAGE: )?skipped: (?P<why>.+)", re.MULTILINE), re.compile(r"SKIP   : \S+ (?P<why>.+)"), re.compile(r"\.\.\. skipped '(?P<why>.+)'"))
SOAK = os.environ.get("LOCKSTEP_SOAK") == "1"
QT_OWN = 2  # initTestCase and cleanupTestCase, which Qt Test counts


class Tests:
    """The tests of a build folder, as ctest knows them."""

    def __init__(self, build):
        shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
        self.tests, self.listed, self.done = {}, {}, {}
        for test in json.loads(shown)["tests"]:
            properties = {each["name"]: each["value"] for each in test.get("properties", [])}
            environment = dict(word.split("=", 1) for word in properties.get("ENVIRONMENT", []))
            self.tests[test["name"]] = (test["command"], {**os.environ, **environment}, properties.get("WORKING_DIRECTORY", build))

    def command(self, name, case):
        """Runs one case; a doctest's name is a sentence, in which a comma would begin another one."""
        command = self.tests[name][0]
        if " " in case:
            return [*command, "--test-case=" + case.replace(",", "?"), "--success=false"]
        if "." in case:
            command = [word for word in command if not re.fullmatch(r"[A-Z]\w+\.test_\w+|[A-Z]\w+", word)]
            return [*command, case, "-v"]
        return [*command, case]

    def is_there(self, name, case):
        if name not in self.tests:
            return False
        command, environment, folder = self.tests[name]
        if "." in case and " " not in case:  # a Python method
            script = next(word for word in command if word.endswith(".py"))
            return re.search(rf"def {case.split('.')[1]}\(", pathlib.Path(script).read_text()) is not None
        # Several tests are parts of one program, and loading PyTorch takes seconds: each is asked once.
        program, asked = command[0], "--list-test-cases" if " " in case else "-functions"
        if program not in self.listed:
            shown = subprocess.run([program, asked], env=environment, cwd=folder, capture_output=True, text=True).stdout
            self.listed[program] = {line.strip().removesuffix("()") for line in shown.splitlines()}
        return case in self.listed[program]

    def run(self, name, case, time):
        """(passed, what it left out, figures, output). A case of two rows runs once for both each `time`."""
        if (name, case, time) not in self.done:
            self.done[name, case, time] = self.run_now(name, case)
        return self.done[name, case, time]

    def run_now(self, name, case):
        _, environment, folder = self.tests[name]
        done = subprocess.run(self.command(name, case), env=environment, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        out = done.stdout
        ran = sum(int(found["ran"]) for pattern in RAN for found in pattern.finditer(out))
        ran -= QT_OWN if "Totals: " in out else 0
        left_out = [found["why"] for pattern in LEFT_OUT for found in pattern.finditer(out)]
        figures = {(found["what"], found["unit"], float(found["promised"])): float(found["took"]) for found in FIGURE.finditer(out)}
        return done.returncode in (0, 77) and (ran > 0 or bool(left_out)), left_out, figures, out


def measured(row, tests, times):
    """What came of a row: its figures, and its verdict."""
    seen, left_out = {}, []
    for time in range(times):
        for name, case in row.checks:
            passed, without, figures, out = tests.run(name, case, time)
            if not passed:
                print(out[-3000:], file=sys.stderr)
                return "-", f"FAILS: {name}, {case}"
            left_out += without
            for figure, took in figures.items():
                seen.setdefault(figure, []).append(took)
    shown, late = [], False
    for (what, unit, promised), took in seen.items():
        late = late or statistics.median(took) > promised
        shown.append(f"{what}: {statistics.median(took):.2g} {unit} (promised {promised:g})")
    text = "; ".join(shown) or "-"
    if late:
        return text, "LATE"
    if left_out:
        return text, "not run: " + left_out[0]
    if not row.checks:
        return text, "not built: " + row.gap
    gaps = "; ".join(gap for gap in (row.gap, "" if SOAK else row.unless_soak) if gap)
    return text, f"in part: {gaps}" if gaps else "holds"


def write(table, times):
    path = ROOT / "docs/reliability.md"
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=True).stdout.strip()
    head, _, rest = path.read_text().partition("<!-- table -->\n")
    _, _, after = rest.partition("<!-- end of table -->\n")
    path.write_text(f"{head}<!-- table -->\n`tests/faults/faults.py build --times {times} --write`, {datetime.date.today()}, commit {commit}.\n\n"
                    f"{table}<!-- end of table -->\n{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--rows", default="")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    tests = Tests(options.build.resolve())
    wanted = options.rows.split(",") if options.rows else [row.number for row in ROWS]
    rows = [row for row in ROWS if row.number in wanted]
    if options.names:
        missing = [f"row {row.number}: {name} has no {case}" for row in rows for name, case in row.checks if not tests.is_there(name, case)]
        print("\n".join(missing) or f"{sum(len(row.checks) for row in rows)} tests of {len(rows)} rows are there")
        return 1 if missing else 0
    table = "| # | fault | promised | measured | verdict |\n|---|---|---|---|---|\n"
    print(table, end="")
    bad = 0
    for row in rows:
        figures, verdict = measured(row, tests, options.times)
        bad += verdict.startswith(("FAILS", "LATE"))
        line = f"| {row.number} | {row.fault} | {row.promised} | {figures} | {verdict} |\n"
        table += line
        print(line, end="", flush=True)
    if options.write:
        write(table, options.times)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
