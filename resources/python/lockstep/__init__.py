# SPDX-License-Identifier: MIT
"""Reports any training script to Lockstep, the monitor for distributed training.

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

Metrics of your own: `run.metric(accuracy=0.9)`. In `with lockstep.Run(…) as run:` the run closes itself.

Start the script with `lockstep-agent run -- python3 train.py`, or with the two variables that `lockstepctl listen`
prints. Without LOCKSTEP_FRAMES in the environment, nothing is measured and nothing is sent. If the receiver disappears,
training goes on.

`lockstep.ddp.watch` also times the gradient buckets of PyTorch's DistributedDataParallel. `lockstep.lightning`, `lockstep.huggingface` and
`lockstep.accelerate` have callbacks for these libraries.

The package needs Python 3.8 or newer and nothing else.
"""
from lockstep import sender
from lockstep.run import Run
from lockstep.version import VERSION as __version__

__all__ = ["Run"]

sender.keep_folder()
