#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over every unit of ours that changed since it was last found clean.

A unit's state is the sha256 of the tool's version, .clang-tidy, its compile command, and its own text and that of every
header of ours that it includes, however indirectly; clean states are remembered as empty files in the cache folder.
In a fresh clone, where none is remembered, only units are looked at that one of the last commits changed, or a header of
theirs beside them, and of those as many as MOST, the latest first (--all: every unit): all of them take longer than all
tests do.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

from source_files import ROOT, included_file, source_files

SKIPPED = 77
MOST = 24
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
GCC_ONLY = ("-Winvalid-pch", "-fconcepts-diagnostics-depth", "-mno-direct-extern-access", "-fno-gnu-unique")


class Closure:
    """The texts of a file and of all our headers below it."""

    def __init__(self):
        self.texts = {}
        self.direct = {}

    def read(self, name):
        if name not in self.texts:
            text = (ROOT / name).read_text(errors="replace")
            self.texts[name] = text
            found = {included_file(name, target) for target in INCLUDE.findall(text)}
            self.direct[name] = found - {None}
        return self.direct[name]

    def of(self, name):
        seen, todo = set(), [name]
        while todo:
            current = todo.pop()
            if current not in seen:
                seen.add(current)
                todo.extend(self.read(current))
        return sorted(seen)


def lately_changed(commits):
    """How many commits ago each file changed that differs from the state `commits` commits ago; None without git."""
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT)]
    try:
        changed = subprocess.run([*command, "diff", "HEAD", "--name-only"], check=True, capture_output=True,
                                 text=True).stdout
        shown = subprocess.run([*command, "log", f"-{commits}", "--format=%x00", "--name-only", "--no-renames"],
                               check=True, capture_output=True, text=True).stdout
        ago = {}
        for age, names in enumerate([changed, *shown.split("\0")[1:]]):
            for name in names.split("\n"):
                ago.setdefault(name, age)
        return ago
    except (OSError, subprocess.CalledProcessError):
        return None


def beside(unit, files):
    """The unit and those headers that lie in its folder; a test's may lie in any folder of tests."""
    folder = "tests/" if unit.startswith("tests/") else os.path.dirname(unit) + "/"
    return {name for name in files if name.startswith(folder)}


def sources_of(entry):
    """What an entry of the compile database compiles: a file, or those that CMake's unity build put together."""
    path = pathlib.Path(entry["file"])
    if path.parent.name != "Unity":
        return [path]
    return [pathlib.Path(name) for name in INCLUDE.findall(path.read_text())] if path.exists() else []


def units(build):
    """(name, command, folder) of each source of ours in the compile database, once."""
    ours = set(source_files(".cpp"))
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for path in sources_of(entry):
            name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None
            if name in ours and name not in seen:
                seen.add(name)
                yield name, shlex.split(entry["command"]), entry["directory"]


def flags_of(command, cache):
    """What clang understands of a g++ command; a precompiled header becomes the header it was made from."""
    flags, rest = [], iter(command)
    for word in rest:  # past the launcher and the compiler
        if os.path.basename(word).endswith(("g++", "c++", "clang++")):
            break
    for word in rest:
        if word in ("-c", "-o"):
            next(rest)
        elif word == "-include":
            header = pathlib.Path(next(rest))
            if not header.exists():  # one of an include folder's
                flags += ["-include", str(header)]
                continue
            copy = cache / (hashlib.sha256(str(header).encode()).hexdigest()[:16] + "-" + header.name)
            copy.write_bytes(header.read_bytes())
            flags += ["-include", str(copy)]
        elif not word.startswith(GCC_ONLY):
            flags.append(word)
    return flags


def compilers_headers():
    """g++'s own headers, behind clang's: omp.h is there and not in the wheel."""
    ran = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True, check=True)
    return ["-idirafter", ran.stdout.strip()]


def check(tool, name, flags, directory):
    started = time.monotonic()
    command = [tool, "--quiet", "--warnings-as-errors=*", str(ROOT / name), "--", *flags, "-Wno-unknown-warning-option",
               "-Wno-everything"]
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    errors = "\n".join(line for line in ran.stderr.splitlines() if not re.match(r"\d+ warnings?|Suppressed|Use -", line))
    return name, ran.returncode, ran.stdout + errors, time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="folder with compile_commands.json")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / ".cache/lint/bin", help="folder of clang-tidy")
    parser.add_argument("--cache", type=pathlib.Path, default=ROOT / ".cache/tidy", help="folder of the clean states")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true", help="in a fresh clone too, look at every unit")
    parser.add_argument("only", nargs="*", help="only units whose name contains one of these")
    options = parser.parse_args()
    tool = options.tools / "clang-tidy"
    if not tool.exists():
        print(f"skipped: no clang-tidy in {options.tools}; ./test installs it")
        return SKIPPED
    options.cache.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    rules = (ROOT / ".clang-tidy").read_text()
    closure, todo, late, clean, behind = Closure(), [], [], 0, compilers_headers()
    passed_over, lately = 0, lately_changed(4)
    for name, command, directory in units(options.build):
        if options.only and not any(part in name for part in options.only):
            continue
        flags = flags_of(command, options.cache) + behind
        files = closure.of(name)
        texts = [closure.texts[each] for each in files]
        state = options.cache / hashlib.sha256("\0".join([version, rules, name, *flags, *texts]).encode()).hexdigest()
        known = options.cache / ("known-" + name.replace("/", "-"))
        ages = [lately[each] for each in beside(name, files) if each in lately] if lately is not None else [0]
        if state.exists():
            clean += 1
        elif options.all or known.exists():
            todo.append((name, flags, directory, state))
        else:
            late.append((min(ages, default=None), (name, flags, directory, state), known))
    late.sort(key=lambda each: (each[0] is None, each[0] or 0))
    for i, (age, unit, known) in enumerate(late):
        if age is not None and i < MOST:
            todo.append(unit)
        else:
            passed_over += 1
            known.touch()
            unit[3].touch()
    print(f"{clean} units unchanged since they were found clean, {passed_over} passed over in a fresh clone, "
          f"{len(todo)} to look at", flush=True)
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        states = {name: state for name, _, _, state in todo}
        running = [pool.submit(check, tool, name, flags, directory) for name, flags, directory, _ in todo]
        for done in concurrent.futures.as_completed(running):
            name, code, text, took = done.result()
            if code == 0:
                states[name].touch()
                (options.cache / ("known-" + name.replace("/", "-"))).touch()
            else:
                wrong += 1
                print(f"---- {name} ({took:.1f} s)\n{text}", flush=True)
    print(f"{wrong} units with findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
