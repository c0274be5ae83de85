# SPDX-License-Identifier: MIT
"""A follower that takes whole steps at once, where they are like the one before: most are, and call by call they would cost three times as much."""
from __future__ import annotations

from typing import Any, Sequence, Tuple

from lockstep.follower import NOTHING, Follower
from lockstep.open_step import Step

CALLS = ("fetched", "backward_begins", "backward_ends", "optimizer_begins", "optimizer_ends")  # of a step like the one before, in this order

Call = Tuple[str, Tuple[Any, ...], int]  # the follower's method, all its arguments, and when it was called


class AlikeFollower(Follower):
    """What it knows after these steps is what a Follower knows that was told their calls one by one."""

    def take(self, calls: Sequence[Call]) -> int:
        """Takes the steps, from the first one on, that these calls make, in the order of CALLS and all of one iterator. Gives how many calls
        that were: where another kind of step begins, the rest are to be told one by one. Raises what `Follower.fetched` raises."""
        lead, stepped = self._lead, self._stepped
        group = self._groups.newest
        if (self.alike is None or not group or len(stepped) != 1 or lead.over or self._left or self._fetches
                or not self._groups.ends_alike()):
            return 0
        iterator, fetches = group[0]
        (optimizer,) = stepped
        kind = (iterator, fetches.data, fetches.length, True, fetches.endless)
        taken = 0
        while taken + len(CALLS) <= len(calls) and not lead.has_made_a_pass():
            (_, (*of, begin_ns, end_ns, samples, learns, endless), _), (_, (loss, backward_ns, _), went_ns), (_, ends, ended_ns), (
                _, begins, optimizer_ns), (_, _, stepped_ns) = calls[taken:taken + len(CALLS)]
            if (*of, learns, endless) != kind or not samples or begins != (optimizer, False):
                break
            self._end_step(begin_ns)
            lead.batches += 1
            end_of_backward_ns, exposed_ns, comm_ns = ends
            exposed_ns = max(0, min(exposed_ns, end_of_backward_ns - went_ns))
            self._step = step = Step()
            step.times = {"load": end_ns - begin_ns, "forward": backward_ns - end_ns, "backward": end_of_backward_ns - exposed_ns - went_ns,
                          "other": optimizer_ns - ended_ns, "optimizer": stepped_ns - optimizer_ns}
            if comm_ns > 0:
                step.times.update(exposed=exposed_ns, comm=comm_ns)
            step.samples, step.batches, step.backwards, step.losses = samples, 1, 1, [loss]
            self._step_begin_ns, self._mark_ns, self._stepped = begin_ns, stepped_ns, {optimizer}
            fetches.taken = samples
            taken += len(CALLS)
        if taken:
            self._groups.begin([(iterator, fetches)])
            self._groups.backward()
            self._done = step.copy()
            self._before_backward = NOTHING
        return taken
