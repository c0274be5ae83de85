# SPDX-License-Identifier: MIT
"""python -m lockstep train.py ARGUMENT...: runs a script, or -m a module, unchanged, and follows it (lockstep.auto)."""
from __future__ import annotations

import os
import runpy
import sys

from lockstep import auto

USAGE = "usage: python -m lockstep SCRIPT [ARGUMENT...]\n       python -m lockstep -m MODULE [ARGUMENT...]"


def main() -> None:
    """Runs what the command line names."""
    words = sys.argv[1:]
    module = words[:1] == ["-m"]
    target = words[int(module):]
    if not target or (not module and target[0].startswith("-")):
        sys.exit(USAGE)
    if not os.environ.get(auto.FRAMES):
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
