# SPDX-License-Identifier: MIT
"""Python imports this module before a script when its folder is in PYTHONPATH: it follows the script (lockstep.auto).

A sitecustomize of the user's own, further down the path, is run as it would have been.
"""
import importlib
import os
import sys


def _follow() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    try:
        from lockstep import auto

        auto.install()
    except Exception as error:
        print(f"lockstep: this process can't be followed ({error}); it goes on", file=sys.stderr)
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if ours is not None:
            sys.modules["sitecustomize"] = ours


_follow()
