# SPDX-License-Identifier: MIT
"""python -m lockstep train.py ARGUMENT...: runs a script, or -m a module, unchanged, and follows it (lockstep.auto)."""
from __future__ import annotations

import builtins
import importlib.util
import io
import os
import pkgutil
import runpy
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any, List, Optional

from lockstep import auto, step_limit
from lockstep.sender import FRAMES

USAGE = """usage: python -m lockstep [OPTION...] SCRIPT [ARGUMENT...]
       python -m lockstep [OPTION...] -m MODULE [ARGUMENT...]
  --max-steps N     end the script after N steps
  --max-samples N   end it after N samples, counted over all ranks: each makes as many steps as that takes"""
LIMITS = {"--max-steps": step_limit.MAX_STEPS, "--max-samples": step_limit.MAX_SAMPLES}


def take_limits(words: List[str]) -> List[str]:
    """Puts the limits where the processes that this one starts find them too. Gives the words after them."""
    while words and words[0] in LIMITS:
        if len(words) < 2 or not words[1].isdecimal() or int(words[1]) < 1:
            sys.exit(f"lockstep: {words[0]} needs a whole number from 1, not {words[1] if len(words) > 1 else 'nothing'!r}")
        os.environ[LIMITS[words[0]]] = words[1]
        words = words[2:]
    return words


def become_main(code: CodeType, **names: Any) -> None:
    """Runs code as the module __main__, which stays: threads and functions that run at the end of the process may need it."""
    main_module = ModuleType("__main__")
    main_module.__dict__.update(__builtins__=builtins, **names)
    sys.modules["__main__"] = main_module
    exec(code, main_module.__dict__)


def run_script(path: str) -> None:
    """Runs a script as Python does."""
    if path.endswith(".pyc") or pkgutil.get_importer(path) is not None:  # no text: a folder, or an archive
        runpy.run_path(path, run_name="__main__")
        return
    file = os.path.abspath(path)
    with io.open_code(file) as text:
        code = compile(text.read(), file, "exec", dont_inherit=True)
    become_main(code, __file__=file, __cached__=None, __loader__=SourceFileLoader("__main__", file), __package__=None, __spec__=None)


def find_module(name: str) -> Optional[ModuleSpec]:
    """Finds the module that python -m runs: of a package, its __main__. None: there is none, or it has no code."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return spec if spec is not None and hasattr(spec.loader, "get_code") else None


def run_module(name: str) -> None:
    """Runs a module as python -m does."""
    spec = find_module(name)
    loader: Any = spec.loader if spec is not None else None
    code = loader.get_code(spec.name) if spec is not None else None
    if spec is None or code is None:
        runpy.run_module(name, run_name="__main__", alter_sys=True)  # says why it can't
        return
    sys.argv[0] = str(spec.origin)
    become_main(code, __file__=spec.origin, __cached__=spec.cached, __loader__=loader, __package__=spec.parent, __spec__=spec)


def main() -> None:
    """Runs what the command line names."""
    words = take_limits(sys.argv[1:])
    module = words[:1] == ["-m"]
    target = words[int(module):]
    if not target or (not module and target[0].startswith("-")):
        sys.exit(USAGE)
    if not os.environ.get(FRAMES):
        print("lockstep: nobody follows (LOCKSTEP_FRAMES is not set): start it with lockstep-agent run, or with the variables "
              "that lockstepctl listen prints", file=sys.stderr)
    os.environ["PYTHONPATH"] = os.pathsep.join(auto.python_path())  # for the processes that it starts
    auto.install()
    sys.argv = target
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):  # else Python puts no folder of the script first
        sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.abspath(target[0]))
    try:
        run_module(target[0]) if module else run_script(target[0])
    except SystemExit as end:
        auto.exits(end.code)
        raise


if __name__ == "__main__":
    main()
