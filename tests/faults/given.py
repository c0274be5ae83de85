# SPDX-License-Identifier: MIT
"""The first two arguments of a test that preloads a library, which are taken from the command line: the library, and the folder of the
programs."""
import pathlib
import sys

PRELOADED, BIN = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
