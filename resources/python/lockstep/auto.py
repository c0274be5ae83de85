# SPDX-License-Identifier: MIT
"""Follows an unchanged PyTorch script: its steps, phases, losses and epochs, as lockstep.follower defines them.

    python -m lockstep train.py --epochs 2        # a script that Lockstep's variables were set for
    lockstep-agent run --auto -- python train.py  # the same for whatever the command starts

Nothing is sent before the first backward. Then the process says hello with its rank in torch.distributed. Three places
of PyTorch are watched (lockstep.torch_hooks): DataLoader's iterators, `torch.autograd.backward`, and the
hooks that PyTorch calls around every optimizer's step. DistributedDataParallel's own timers say how long gradients were
summed. Scalars that a SummaryWriter writes are metrics. A script can be ended after so many steps (lockstep.step_limit).

What can't be read of a batch or a loss is unknown. If anything else is not as expected, one line on stderr says so, following
ends, and training goes on. A script that uses lockstep.Run is left to it.
"""
from __future__ import annotations

import os
from typing import Any, List, Optional

from lockstep import run
from lockstep.imports import when_imported
from lockstep.sender import FRAMES
from lockstep.watch import Watch

_watch: Optional[Watch] = None


def install() -> None:
    """Follows this process from now on, if frames are to be sent and nobody does yet."""
    global _watch
    if _watch or run.reports or not os.environ.get(FRAMES):
        return
    _watch = Watch()
    when_imported("torch", _watch.attach)
    when_imported("torch.distributed.fsdp.sharded_grad_scaler", _watch.attach_sharded_scaler)
    when_imported("torch._dynamo.trace_rules", _watch.attach_compiler)
    for writers in ("torch.utils.tensorboard.writer", "tensorboardX.writer"):
        when_imported(writers, _watch.attach_writer)


def join(**about: Any) -> Optional[Watch]:
    """For the callback of a library that trains: follows this process from now on, if nobody does yet, and takes what the library knows
    of the run (method, model, epochs, …). None: no frames are wanted, or a script's own lockstep.Run reports this process."""
    install()
    if _watch is None or not _watch.on:
        return None
    _watch.about.update({key: value for key, value in about.items() if value is not None})
    _watch.hears_writers = False  # what the library logs, it also writes for TensorBoard
    return _watch


def leave() -> None:
    """Ends following without a word: a script's own lockstep.Run reports this process from now on."""
    if _watch:
        _watch.leave()


def exits(code: object) -> None:
    """The script ends by SystemExit with this code."""
    if _watch and run.is_failure(code):
        _watch.failed = True


def python_path() -> List[str]:
    """PYTHONPATH for child processes that are to be followed: our sitecustomize, which finds this package, and what was there."""
    ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site")
    given = os.environ.get("PYTHONPATH")  # in which an empty folder is the current one, unless there is no other
    return [ours] + [folder for folder in given.split(os.pathsep) if folder != ours] if given else [ours]
