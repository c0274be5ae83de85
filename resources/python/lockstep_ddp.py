"""Times the gradients of torch's DistributedDataParallel for lockstep.Run, beside which this file lies.

    lockstep_ddp.watch(run, ddp_model)    # once, before training; needs run.phase("backward") around loss.backward()

Each bucket is stamped when its gradients are ready and when their sum is there. Backward ends at the last gradient's
readiness, what is left of it is `exposed`, and `comm` is the time in which any bucket was on its way (a part of it lies
inside backward). The hook averages as DDP itself does, so its results are the same in every bit; with
gradient_as_bucket_view and a number of ranks that is no power of two the last bit may differ.
watch(run, ddp_model, wait=True) also tells `wait`, the part of exposed in which slower ranks were waited for. For that the
ranks exchange one number each with the last bucket, timed from the end of the last sum, since their clocks may differ: one
small sum more a step, so it is asked for. Without it wait is unknown, as in the first step.
On CUDA the host sees sums launched, not done: there all of it stays `backward`; exposed and comm are unknown."""
import atexit
from time import monotonic_ns as now, sleep


def watch(run, ddp, wait=False):
    group, buckets, asked = ddp.process_group, [], []
    ended = 0  # of the step before, by its last sum

    def hook(_, bucket):
        gradients, stamp = bucket.buffer(), [now(), 0]

        def done(future):
            stamp[1] = now()
            return future.value()[0]

        if not gradients.is_cuda:
            if bucket.is_last():
                run.lap("backward")
                if wait:
                    slots = gradients.new_zeros(group.size()).double()  # each rank fills its own
                    slots[group.rank()] = stamp[0] - ended
                    asked.append((slots, group.allreduce([slots]), ended))
            buckets.append(stamp)
        return group.allreduce([gradients.mul_(1 / group.size())]).get_future().then(done)

    def add_wait():
        for slots, work, since in asked:
            work.wait()
            if since:
                ready = slots.tolist()
                run.times["wait"] = run.times.get("wait", 0) + int(max(ready) - ready[group.rank()])
        asked.clear()

    def rest_of(phase):
        nonlocal ended
        covered = comm = 0
        for ready, end in buckets:  # in the order they started: their union is a sweep
            comm += max(0, end - max(ready, covered))
            covered = max(covered, end)
        buckets.clear()
        if not covered or phase != "backward":
            return phase
        add_wait()
        ended = covered
        run.times["comm"] = run.times.get("comm", 0) + comm
        return "exposed"

    if run.on:
        # The backend's threads let go of their last callback a moment after the sum is there; a Python that ends in
        # that moment is aborted. So it is with every hook in Python, PyTorch's own too.
        atexit.register(sleep, 0.1)
        ddp.register_comm_hook(None, hook)
        run.rest_of = rest_of
