"""Times the gradients of torch's DistributedDataParallel for lockstep.Run, beside which this file lies.

    lockstep_ddp.watch(run, ddp_model)    # once, before training; needs run.phase("backward") around loss.backward()

Each bucket is stamped when its gradients are ready and when their sum is there. Backward ends at the last gradient's
readiness, what is left of it is `exposed`, and `comm` is the time in which any bucket was on its way (a part of it lies
inside backward). The hook averages as DDP itself does, so its results are the same in every bit; with
gradient_as_bucket_view and a number of ranks that is no power of two the last bit may differ.
On CUDA the host sees sums launched, not done: there all of it stays `backward`; exposed and comm are unknown."""
import atexit
from time import monotonic_ns as now, sleep


def watch(run, ddp):
    group, buckets = ddp.process_group, []

    def hook(_, bucket):
        gradients, stamp = bucket.buffer(), [now(), 0]

        def done(future):
            stamp[1] = now()
            return future.value()[0]

        if not gradients.is_cuda:
            if bucket.is_last():
                run.lap("backward")
            buckets.append(stamp)
        return group.allreduce([gradients.mul_(1 / group.size())]).get_future().then(done)

    def rest_of(phase):
        covered = comm = 0
        for ready, end in buckets:  # in the order they started: their union is a sweep
            comm += max(0, end - max(ready, covered))
            covered = max(covered, end)
        buckets.clear()
        if not covered or phase != "backward":
            return phase
        run.times["comm"] = run.times.get("comm", 0) + comm
        return "exposed"

    if run.on:
        # The backend's threads let go of their last callback a moment after the sum is there; a Python that ends in
        # that moment is aborted. So it is with every hook in Python, PyTorch's own too.
        atexit.register(sleep, 0.1)
        ddp.register_comm_hook(None, hook)
        run.rest_of = rest_of
