# SPDX-License-Identifier: MIT
"""Python imports this module before a script when its folder is in PYTHONPATH: it follows the script (lockstep.auto).

A sitecustomize of the user's own, further down the path, is run as it would have been.
"""
import importlib
import importlib.util
import os
import sys


def _import_package(folder: str) -> None:
    """Imports the package lockstep from its folder, whose neighbours this Python may not know: they may be another one's packages."""
    spec = importlib.util.spec_from_file_location("lockstep", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"no package in {folder}")
    sys.modules["lockstep"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["lockstep"])


def _follow() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    try:
        if "lockstep" not in sys.modules:
            _import_package(os.path.dirname(here))
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
