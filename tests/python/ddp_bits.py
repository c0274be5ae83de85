# SPDX-License-Identifier: MIT
"""One rank: trains a small model with DistributedDataParallel plainly and with lockstep_ddp's hook, from the same state
on the same data. Fails when a bit of them differs. With the word `wait` it also asks who waits, and rank 1 is slow. With the
word `cut` rank 1 reports to nobody."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lockstep
import lockstep_ddp


def train(run):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 128), torch.nn.Tanh(),
                                torch.nn.Linear(128, 10))
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.02)  # several buckets
    lockstep_ddp.watch(run, ddp, wait="wait" in sys.argv)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(100 + dist.get_rank())
    batches = [(torch.randn(32, 64), torch.randint(10, (32,))) for _ in range(12)]
    for x, y in run.epoch(1, batches):
        optimizer.zero_grad()
        with run.phase("forward"):
            time.sleep(0.02 if "wait" in sys.argv and dist.get_rank() == 1 else 0)
            loss = torch.nn.functional.cross_entropy(ddp(x), y)
        with run.phase("backward"):
            loss.backward()
        with run.phase("optimizer"):
            optimizer.step()
        run.step(loss, len(x))
    return [parameter.detach().clone() for parameter in model.parameters()]


torch.set_num_threads(1)
dist.init_process_group("gloo")
frames = os.environ.pop("LOCKSTEP_FRAMES")
silent = lockstep.Run()  # shown nowhere: no hook
os.environ["LOCKSTEP_FRAMES"] = frames
if "cut" in sys.argv and dist.get_rank() == 1:
    os.environ["LOCKSTEP_FRAMES"] = "unix:/nowhere/socket"
followed = lockstep.Run(method="ddp")
plain, hooked = train(silent), train(followed)
equal = all(torch.equal(a, b) for a, b in zip(plain, hooked))
print("bit-equal" if equal else "unlike", flush=True)
dist.destroy_process_group()
sys.exit(followed.close() if equal else 1)
