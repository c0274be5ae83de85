# SPDX-License-Identifier: MIT
"""Times the gradients of PyTorch's DistributedDataParallel (DDP) for lockstep.Run.

    lockstep.ddp.watch(run, ddp_model)    # once, before training; needs run.phase("backward") around loss.backward()

DDP sums gradients over all ranks in buckets. Each bucket is timed from the moment when its gradients are ready until
their sum has arrived. The phase `backward` ends when the last gradient is ready; waiting for the remaining sums is
`exposed`. `comm` is the time in which at least one bucket was being summed; part of it lies inside `backward`.

The hook averages as DDP itself does, so results are the same in every bit. With gradient_as_bucket_view and a number of
ranks that is not a power of two, the last bit may differ.

On CUDA the host sees when sums are launched, not when they are done. There all of this time is `backward`, and
`exposed` and `comm` are unknown.
"""
from __future__ import annotations

import atexit
import sys
from functools import partial
from time import sleep
from typing import Any, List, Tuple

from lockstep import signals
from lockstep.clock import clock_ns
from lockstep.run import Run

# PyTorch's types, which this module uses without importing them.
Tensor = Any
Future = Any
GradBucket = Any
DistributedDataParallel = Any

LAST_CALLBACK_S = 0.1


def watch(run: Run, ddp: DistributedDataParallel, wait: bool = False) -> None:
    """Times the buckets of this model. Call it on every rank, once, before training.

    With `wait=True`, the part of `exposed` that was spent waiting for slower ranks is shown too, as `wait`. For this
    the ranks exchange one number each together with the last bucket, which costs one more small all-reduce per step.
    The number is the time since the end of the previous sum, because the ranks' clocks may differ. Otherwise, and in
    the first step, `wait` is unknown.

    A model that cannot be watched, such as one of FSDP or one with a hook of its own, trains as before; stderr says so.
    Several models may be watched.
    """
    # Not `run.on`: a rank whose connection has failed must take part in the exchange, or the others would wait for it.
    if not run.to:
        return
    try:
        buckets = BucketTimes(run, ddp.process_group, wait)
        ddp.register_comm_hook(None, lambda _, bucket: buckets.start(bucket))  # DDP refuses annotations that are not its own
    except Exception as error:
        signals.pass_on(error)
        reason = str(error).partition("\n")[0]
        print(f"lockstep: the sums of this model's gradients are not timed ({reason}); training goes on", file=sys.stderr)
        return
    # The backend's threads release their last callback a moment after the sum has arrived. If Python ends in that
    # moment, the process is aborted. This happens with every hook in Python, PyTorch's own too.
    atexit.register(sleep, LAST_CALLBACK_S)
    run.watched.append(buckets)
    run.rest_of = partial(rest_of, run)


def rest_of(run: Run, phase: str) -> str:
    """At the end of a phase: the phase of the time since the last lap. After backward it is `exposed`."""
    stamps = sorted(stamp for buckets in run.watched for stamp in buckets.stamps)
    comm_ns = end_ns = 0
    for ready, done in stamps:  # their union: time that two buckets share counts once
        comm_ns += max(0, done - max(ready, end_ns))
        end_ns = max(end_ns, done)
    summed = bool(stamps) and phase == "backward"
    for buckets in run.watched:
        buckets.end_phase(summed)
    if not summed:
        return phase
    run.times["comm"] = run.times.get("comm", 0) + comm_ns
    return "exposed"


class BucketTimes:
    """The times at which the buckets of the current step were ready, and at which their sums arrived."""

    def __init__(self, run: Run, group: Any, wait: bool) -> None:
        self._run = run
        self._group = group
        self._wait = wait
        self.stamps: List[List[int]] = []  # of each bucket: when it was ready and done; in starting order
        self._exchanges: List[Tuple[Tensor, Any, int]] = []  # slots, work, start of the measured time
        self._previous_end_ns = 0  # of the previous step's last sum; 0 before the first

    def start(self, bucket: GradBucket) -> Future:
        """DDP's hook: starts the sum of a bucket whose gradients are ready."""
        gradients = bucket.buffer()
        stamp = [clock_ns(), 0]
        on_host = not gradients.is_cuda  # on CUDA the host sees when sums are launched, not when they are done

        def done(future: Future) -> Tensor:
            stamp[1] = clock_ns()
            if on_host:
                self._run.position.leave_collective()
            return future.value()[0]

        if on_host:
            if bucket.is_last():
                self._run.lap("backward")
                if self._wait:
                    self._exchange(gradients, stamp[0])
            self.stamps.append(stamp)
            self._run.position.enter_collective()
        return self._group.allreduce([gradients.mul_(1 / self._group.size())]).get_future().then(done)

    def end_phase(self, summed: bool) -> None:
        """Forgets the stamps. `summed`: the phase was a backward whose gradients were summed."""
        if summed and self.stamps:
            self._add_wait()
            self._previous_end_ns = max(done for _, done in self.stamps)
        self.stamps.clear()

    def _exchange(self, gradients: Tensor, ready_ns: int) -> None:
        slots = gradients.new_zeros(self._group.size()).double()  # each rank fills its own
        slots[self._group.rank()] = ready_ns - self._previous_end_ns
        self._exchanges.append((slots, self._group.allreduce([slots]), self._previous_end_ns))

    def _add_wait(self) -> None:
        exchanges, self._exchanges = self._exchanges, []
        for slots, work, since_ns in exchanges:
            work.wait()
            if since_ns:
                ready = slots.tolist()
                times = self._run.times
                times["wait"] = times.get("wait", 0) + int(max(ready) - ready[self._group.rank()])
