#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a clean build costs in processor time, against another commit: both are cloned, configured and built in turn, without the
compiler cache and without tests, so that a machine whose speed drifts treats both alike. Prints the median of each and of the ratio
pair by pair, and the units of this commit that take longest.
    tests/bench/build_cost.py AGAINST [--commit HEAD] [--times 3] [--torch FOLDER] [--targets lockstep ...]"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["lockstep", "lockstepctl", "lockstep-agent", "lockstep-trainer", "lockstep-trainer-launcher"]


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compile_and_log(log, command):
    """Runs one compilation as CMake's launcher and notes its processor time beside the object's name."""
    code = subprocess.call(command)
    unit = command[command.index("-o") + 1] if "-o" in command else command[-1]
    with open(log, "a") as file:
        file.write(f"{children_s():.2f} {unit}\n")
    return code


def build_s(commit, targets, torch, folder):
    """Processor seconds of a clean build of one commit, and those of each of its units, largest first."""
    source, log = folder / "source", folder / "units"
    subprocess.check_call(["git", "clone", "--quiet", "--no-checkout", ROOT, source])
    subprocess.check_call(["git", "-C", source, "checkout", "--quiet", commit])
    options = {"CMAKE_BUILD_TYPE": "Release", "LOCKSTEP_TORCH_DIR": torch, "LOCKSTEP_TESTS": "OFF", "LOCKSTEP_BENCH": "OFF",
               "LOCKSTEP_CCACHE": "OFF", "CMAKE_CXX_COMPILER_LAUNCHER": f"{sys.executable};{__file__};--unit;{log}"}
    quiet = {"stdout": subprocess.DEVNULL}
    build = folder / "build"
    subprocess.check_call(["cmake", "-G", "Ninja", "-S", source, "-B", build, *(f"-D{k}={v}" for k, v in options.items())], **quiet)
    before = children_s()
    subprocess.check_call(["ninja", "-C", build, "-j", str(os.cpu_count()), *targets], **quiet)
    took = children_s() - before
    units = sorted((line.split(" ", 1) for line in log.read_text().splitlines()), key=lambda unit: -float(unit[0]))
    return took, [(float(seconds), name) for seconds, name in units]


def spread(values, form):
    return f"{form % statistics.median(values)} ({form % min(values)} to {form % max(values)})"


def main():
    if sys.argv[1:2] == ["--unit"]:
        return compile_and_log(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("against", help="the commit to compare with")
    parser.add_argument("--commit", default="HEAD", help="the commit that is measured")
    parser.add_argument("--times", type=int, default=3, help="how often each is built")
    parser.add_argument("--torch", default=os.environ.get("LOCKSTEP_TORCH", ""), help="the torch package's folder; empty: as CMake finds it")
    parser.add_argument("--targets", nargs="+", default=PROGRAMS, help="what is built: by default all programs, the window among them")
    given = parser.parse_args()
    torch = given.torch or next(map(str, (ROOT / ".venv/lib").glob("python3*/site-packages/torch")), "")
    then, now, units = [], [], []
    for again in range(given.times):
        for commit, figures in ((given.against, then), (given.commit, now)):
            with tempfile.TemporaryDirectory(prefix="lockstep-build-") as folder:
                took, units = build_s(commit, given.targets, torch, pathlib.Path(folder))
            figures.append(took)
            print(f"{again + 1}: {commit} {took:.1f} s of processor time, {len(units)} units", flush=True)
    print(f"{given.against} {spread(then, '%.1f')} s, {given.commit} {spread(now, '%.1f')} s, "
          f"ratio {spread([b / a for a, b in zip(then, now)], '%.3f')}")
    for seconds, name in units[:12]:
        print(f"{seconds:7.1f} s  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
