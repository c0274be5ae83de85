# SPDX-License-Identifier: MIT
"""Times the gradients of PyTorch's DistributedDataParallel (DDP) for lockstep.Run.

    lockstep.ddp.watch(run, ddp_model)    # once, before training; needs run.phase("backward") around loss.backward()

DDP sums gradients over all ranks in buckets. Each bucket is timed from when its gradients are ready to when their sum is
there. `backward` ends when the last gradient is ready, and what is left of it is `exposed`. `comm` is the time in which any
bucket was under way; a part of it lies inside `backward`.

The hook averages as DDP itself does, so results are the same in every bit. With gradient_as_bucket_view and a number of
ranks that is not a power of two, the last bit may differ.

On CUDA the host sees when sums are launched, not when they are done. All of it stays `backward` there; `exposed` and `comm`
are unknown.
"""
from __future__ import annotations

import atexit
from time import monotonic_ns, sleep
from typing import Any, List, Tuple

from lockstep.run import Run

# PyTorch's types, which this module uses without importing them.
Tensor = Any
Future = Any
GradBucket = Any
DistributedDataParallel = Any

LAST_CALLBACK_S = 0.1


def watch(run: Run, ddp: DistributedDataParallel, wait: bool = False) -> None:
    """Times the buckets of this model. Call it on every rank, once, before training.

    With `wait=True` the part of `exposed` in which slower ranks were waited for is shown, too. For that the ranks exchange one
    number each with the last bucket, one more small sum a step. The number is the time since the end of the last sum, because
    the ranks' clocks may differ. Without it, and in the first step, `wait` is unknown.
    """
    # Not `run.on`: a rank whose connection has failed must take part in the exchange, or the others would wait for it.
    if not run.to:
        return
    buckets = BucketTimes(run, ddp.process_group, wait)
    # The backend's threads release their last callback a moment after the sum is there. A Python that ends in that moment is
    # aborted. This is so with every hook in Python, PyTorch's own too.
    atexit.register(sleep, LAST_CALLBACK_S)
    ddp.register_comm_hook(None, lambda _, bucket: buckets.start(bucket))  # DDP refuses annotations that are not its own
    run.rest_of = buckets.rest_of


class BucketTimes:
    """When the buckets of the present step were ready, and when their sums were there."""

    def __init__(self, run: Run, group: Any, wait: bool) -> None:
        self._run = run
        self._group = group
        self._wait = wait
        self._stamps: List[List[int]] = []  # ready and done, in the order the buckets started
        self._exchanges: List[Tuple[Tensor, Any, int]] = []  # slots, work, what they count from
        self._previous_end_ns = 0  # of the previous step's last sum; 0 before the first

    def start(self, bucket: GradBucket) -> Future:
        """DDP's hook: starts the sum of a bucket whose gradients are ready."""
        gradients = bucket.buffer()
        stamp = [monotonic_ns(), 0]

        def done(future: Future) -> Tensor:
            stamp[1] = monotonic_ns()
            return future.value()[0]

        if not gradients.is_cuda:
            if bucket.is_last():
                self._run.lap("backward")
                if self._wait:
                    self._exchange(gradients, stamp[0])
            self._stamps.append(stamp)
        return self._group.allreduce([gradients.mul_(1 / self._group.size())]).get_future().then(done)

    def rest_of(self, phase: str) -> str:
        """At the end of a phase: which phase its rest is. After backward that is `exposed`."""
        comm_ns = end_ns = 0
        for ready, done in self._stamps:  # their union: time in which two were under way counts once
            comm_ns += max(0, done - max(ready, end_ns))
            end_ns = max(end_ns, done)
        self._stamps.clear()
        if not end_ns or phase != "backward":
            return phase
        self._add_wait()
        self._previous_end_ns = end_ns
        self._add("comm", comm_ns)
        return "exposed"

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
                self._add("wait", int(max(ready) - ready[self._group.rank()]))

    def _add(self, phase: str, duration_ns: int) -> None:
        self._run.times[phase] = self._run.times.get(phase, 0) + duration_ns
