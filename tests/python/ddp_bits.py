# SPDX-License-Identifier: MIT
"""One rank: trains a small model with DistributedDataParallel plainly and with lockstep_ddp's hook, from the same state
on the same data. Fails when a bit of them differs. With the word `more` two epochs follow, each of a model made anew: in both
it also asks who waits, and rank 1 is slow; in the last one rank 1 reports to nobody."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import lockstep
import lockstep_ddp


def train(run, wait, epoch=1):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 128), torch.nn.Tanh(),
                                torch.nn.Linear(128, 10))
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.02)  # several buckets
    lockstep_ddp.watch(run, ddp, wait=wait)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(100 + dist.get_rank())
    batches = [(torch.randn(32, 64), torch.randint(10, (32,))) for _ in range(12)]
    for x, y in run.epoch(epoch, batches):
        optimizer.zero_grad()
        with run.phase("forward"):
            time.sleep(0.06 if wait and dist.get_rank() == 1 else 0)
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
followed = lockstep.Run(method="ddp")
plain = train(silent, False)
equal = True


def compare(run, wait, epoch):
    global equal
    same = all(torch.equal(a, b) for a, b in zip(plain, train(run, wait, epoch)))
    print("bit-equal" if same else "unlike", flush=True)
    equal = equal and same


compare(followed, False, 1)
if "more" in sys.argv:
    compare(followed, True, 2)
    os.environ["LOCKSTEP_FRAMES"] = "unix:/nowhere/socket"
    compare(lockstep.Run(method="ddp") if dist.get_rank() == 1 else followed, True, 3)
dist.destroy_process_group()
sys.exit(followed.close() if equal else 1)
