# SPDX-License-Identifier: MIT
"""A follower that takes whole steps at once, where they are like the one before: most are, and call by call they would cost three times as much."""
from __future__ import annotations

from typing import Any, Sequence, Tuple

from lockstep.follower import NOTHING, Follower
from lockstep.open_step import Step

# The calls of a step, in one of these orders: in the second, the optimizer's step computes the loss, as Lightning has it.
ONE_BY_ONE = ("fetched", "backward_begins", "backward_ends", "optimizer_begins", "optimizer_ends")
INSIDE = ("fetched", "optimizer_begins", "backward_begins", "backward_ends", "optimizer_ends")

Call = Tuple[str, Tuple[Any, ...], int]  # the follower's method, all its arguments, and when it was called


class AlikeFollower(Follower):
    """What it knows after these steps is what a Follower knows that was told their calls one by one."""

    def take(self, calls: Sequence[Call]) -> int:
        """Takes the steps, from the first one on, that these calls make, all in one order and of one iterator. Gives how many calls that were:
        where another kind of step begins, the rest are to be told one by one. Raises what `Follower.fetched` raises."""
        lead, stepped = self._lead, self._stepped
        group = self._groups.newest
        if (self.alike is None or not group or len(stepped) != 1 or lead.over or self._left or self._fetches
                or not self._groups.ends_alike()):
            return 0
        iterator, fetches = group[0]
        (optimizer,) = stepped
        kind = (iterator, fetches.data, fetches.length, True, fetches.endless)
        taken, inside = 0, len(calls) > 1 and calls[1][0] == INSIDE[1]
        while taken + len(INSIDE) <= len(calls) and not lead.has_made_a_pass():
            fetch, first, second, third, (_, _, stepped_ns) = calls[taken:taken + len(INSIDE)]
            begun, backward, ended = (first, second, third) if inside else (third, first, second)
            (*of, begin_ns, end_ns, samples, learns, endless), (loss, backward_ns, _) = fetch[1], backward[1]
            if (*of, learns, endless) != kind or not samples or begun[1] != (optimizer, False):
                break
            self._end_step(begin_ns)
            lead.batches += 1
            ended_ns, exposed_ns, comm_ns = ended[1]
            exposed_ns = max(0, min(exposed_ns, ended_ns - backward[2]))
            self._step = self._done = step = Step()
            step.times = {"load": end_ns - begin_ns, "backward": ended_ns - exposed_ns - backward[2]}
            if inside:
                step.times.update(other=begun[2] - end_ns, forward=backward_ns - begun[2], optimizer=stepped_ns - ended[2])
            else:
                step.times.update(forward=backward_ns - end_ns, other=begun[2] - ended[2], optimizer=stepped_ns - begun[2])
            if comm_ns > 0:
                step.times.update(exposed=exposed_ns, comm=comm_ns)
            step.samples, step.batches, step.backwards, step.losses = samples, 1, 1, [loss]
            self._step_begin_ns, self._mark_ns, self._stepped = begin_ns, stepped_ns, {optimizer}
            fetches.taken = samples
            taken += len(INSIDE)
        if taken:
            self._groups.begin([(iterator, fetches)])
            self._groups.backward()
            self._done = step.copy()
            self._before_backward = (step.samples, False, 1, 0) if inside else NOTHING
        return taken
