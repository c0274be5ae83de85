# SPDX-License-Identifier: MIT
"""What processes that train together agree upon, through the store of their process group. No collective is called: a process that is not
followed, or has heard nothing yet, goes on undisturbed."""
from __future__ import annotations

from datetime import timedelta
from typing import Any, Optional

from lockstep import signals

_ASKED, _LAST_STEP, _SAMPLES = "lockstep/asked", "lockstep/last_step", "lockstep/samples"
_SUM, _ADDED = "lockstep/sum", "lockstep/added"
_WAIT = timedelta(seconds=60)


def _store(torch: Any) -> Any:
    """The store of the process group; None: this process trains alone."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return None
    return distributed.distributed_c10d._get_default_store()


def of_rank_0(torch: Any, steps: int, samples: int) -> int:
    """What rank 0 gives after so many steps, in every rank. Each must ask once at each; waits until rank 0 has. Raises what the store
    raises."""
    key = f"{_SAMPLES}/{steps}"
    store = _store(torch)
    if store is None:
        return samples
    if torch.distributed.get_rank() == 0:
        store.set(key, str(samples))
        return samples
    store.wait([key], _WAIT)
    return int(store.get(key))


def sum_of_all(torch: Any, samples: int) -> Optional[int]:
    """What all ranks together give, in the last one to ask; None in the others, and where there is no store. Each asks once at most. Waits
    for nobody."""
    try:
        store = _store(torch)
        if store is None:
            return None
        store.add(_SUM, samples)
        added = store.add(_ADDED, 1)
        return int(store.add(_SUM, 0)) if added == torch.distributed.get_world_size() else None
    except Exception as error:  # the group or its store has gone, or is one that can't add
        signals.pass_on(error)
        return None


class LastStep:
    """The step with which all ranks end after each was asked to stop.

    The first rank to see, at the end of step n, that all were asked names step n + 1. No rank can have ended that step yet, since its
    gradients need those of this rank; and all look at the end of each step from when they were asked.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._store = _store(torch)
        self._asked = False
        self._last: Optional[int] = None

    def reached(self, steps: int) -> bool:
        """Call it at the end of each step, once this process was asked to stop. `steps`: how many have ended. Raises what the store
        raises."""
        if self._store is None:
            return True
        if self._last is None:
            asked = self._store.add(_ASKED, 0 if self._asked else 1)
            self._asked = True
            if asked >= self._torch.distributed.get_world_size():
                self._last = int(self._store.compare_set(_LAST_STEP, "", str(steps + 1)))
        return self._last is not None and steps >= self._last
