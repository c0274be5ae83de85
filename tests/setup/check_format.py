#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Says which C++ files are not as .clang-format has them; with --fix, formats them."""
import argparse
import pathlib
import subprocess
import sys

from source_files import ROOT, source_files

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / ".cache/lint/bin", help="folder of clang-format")
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args()
    tool = options.tools / "clang-format"
    if not tool.exists():
        print(f"skipped: no clang-format in {options.tools}; ./test installs it")
        return SKIPPED
    names = source_files(".cpp", ".h")
    if options.fix:
        return subprocess.run([tool, "-i", *names], cwd=ROOT).returncode
    ran = subprocess.run([tool, "--dry-run", *names], cwd=ROOT, capture_output=True, text=True)
    wrong = sorted({line.split(":", 1)[0] for line in ran.stderr.splitlines() if "[-Wclang-format-violations]" in line})
    for name in wrong:
        print(f"{name} is not formatted")
    if wrong:
        print("to format: python3 tests/setup/check_format.py --fix")
    elif ran.returncode != 0:
        print(ran.stderr)
    else:
        print(f"{len(names)} files are formatted")
    return 1 if wrong or ran.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
