# SPDX-License-Identifier: MIT
"""Shows any training script in Lockstep.

    import lockstep

    run = lockstep.Run(method="baseline", model="lenet", batch_size=64)
    for epoch in range(1, epochs + 1):
        for x, y in run.epoch(epoch, loader):
            with run.phase("forward"):
                loss = criterion(model(x), y)
            with run.phase("backward"):
                loss.backward()
            with run.phase("optimizer"):
                optimizer.step()
            run.step(loss, len(x))
    sys.exit(run.close())

Start the script with `lockstep-agent run -- python3 train.py`, or with the two variables that `lockstepctl listen` prints.
Without LOCKSTEP_FRAMES in the environment, nothing is measured and nothing is sent. When nobody reads what is sent,
training goes on.

`lockstep.ddp.watch` also times the gradient buckets of PyTorch's DistributedDataParallel.

The package needs Python 3.8 or newer and nothing else.
"""
from lockstep.run import Run

__version__ = "0.1.0"  # of Lockstep itself: CMakeLists.txt has the same
__all__ = ["Run"]
