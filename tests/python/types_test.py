#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package lockstep under mypy --strict. Arguments: the folder of mypy, a folder for its cache."""
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "resources/python"

mypy = pathlib.Path(sys.argv[1]) / "mypy"
if not mypy.exists():
    print(f"skipped: there is no {mypy}")
    sys.exit(77)
sys.exit(subprocess.call([mypy, "--strict", "--cache-dir", sys.argv[2], "-p", "lockstep"], cwd=PACKAGE))
