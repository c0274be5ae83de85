# SPDX-License-Identifier: MIT
"""python -m lockstep train.py ARGUMENT...: runs a script, or -m a module, unchanged, and follows it (lockstep.auto)."""
from __future__ import annotations

import os
import runpy
import sys
from typing import List

from lockstep import auto, step_limit, watch

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


def main() -> None:
    """Runs what the command line names."""
    words = take_limits(sys.argv[1:])
    module = words[:1] == ["-m"]
    target = words[int(module):]
    if not target or (not module and target[0].startswith("-")):
        sys.exit(USAGE)
    if not os.environ.get(watch.FRAMES):
        print("lockstep: nobody follows (LOCKSTEP_FRAMES is not set): start it with lockstep-agent run, or with the variables "
              "that lockstepctl listen prints", file=sys.stderr)
    os.environ["PYTHONPATH"] = os.pathsep.join(auto.python_path())  # for the processes that it starts
    auto.install()
    sys.argv = target
    if module:
        sys.path[0] = os.getcwd()
        runpy.run_module(target[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(target[0]))
        runpy.run_path(target[0], run_name="__main__")


if __name__ == "__main__":
    main()
