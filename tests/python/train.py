# SPDX-License-Identifier: MIT
"""A training loop without torch: it sleeps where it would compute. Arguments: key=value."""
import math
import sys
import time

import lockstep

options = {"epochs": "2", "steps": "30", "nan_at": "-1", "method": "ddp", "epoch_sleep": "0"}
options.update(word.split("=", 1) for word in sys.argv[1:])
epochs, steps = int(options["epochs"]), int(options["steps"])
run = lockstep.Run(method=options["method"], workers=0, batch_size=64, epochs=epochs, lr=0.01, model=None)
for epoch in range(1, epochs + 1):
    for step in run.epoch(epoch, range(steps)):
        with run.phase("forward"):
            time.sleep(0.004)
        with run.phase("backward"):
            time.sleep(0.003)
        with run.phase("optimizer"):
            time.sleep(0.001)
        run.step(math.nan if step == int(options["nan_at"]) else 1 / (epoch * steps + step), 32)
        if run.stopped:
            break
    if run.stopped:
        break
    if run.rank == 0:
        run.send("eval", epoch=epoch, accuracy=0.5 + epoch / 10, samples=1000, duration_s=0.01)
    time.sleep(float(options["epoch_sleep"]))
sys.exit(run.close())
