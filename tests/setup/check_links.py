#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The link rules as the loader sees them: which libraries each program that was built really loads."""
import argparse
import pathlib
import re
import subprocess
import sys

RULES = {
    "lockstepctl": r"libQt6(Gui|Widgets|Charts|Svg|OpenGL|DBus)|libtorch|libc10",
    "lockstep-agent": r"libQt6|libtorch|libc10",
    "lockstep-trainer": r"libQt6",
    "lockstep": r"libtorch|libc10",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where the programs are")
    folder = parser.parse_args().folder
    seen = wrong = 0
    for program, forbidden in RULES.items():
        path = folder / program
        if not path.exists():
            continue
        seen += 1
        ran = subprocess.run(["ldd", path], capture_output=True, text=True, check=True)
        for line in ran.stdout.splitlines():
            library = line.split()[0]
            if re.match(forbidden, pathlib.Path(library).name):
                print(f"{program} loads {library}")
                wrong += 1
            if "not found" in line:
                print(f"{program} needs {line.strip()}")
                wrong += 1
    print(f"{seen} programs looked at")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
