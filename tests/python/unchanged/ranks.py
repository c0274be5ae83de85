# SPDX-License-Identifier: MIT
"""DDP as many people write it. With torchrun's variables it is one rank; without, it starts two by mp.spawn. In each step one rank
waits for 30 ms, named by the argument "slow=RANK". One has half the batch, named by "half=RANK". It trains 2 epochs, or "epochs=N"."""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def given(name, default):
    return next((int(word.partition("=")[2]) for word in sys.argv if word.startswith(f"{name}=")), default)


SLOW = given("slow", -1)


def work(rank, world, port):
    torch.set_num_threads(1)
    if port:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        dist.init_process_group("gloo", rank=rank, world_size=world)
    else:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(20, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(640, 20), torch.randint(0, 3, (640,)))
    for epoch in range(given("epochs", 2)):
        for x, y in DataLoader(data, 16 if rank == given("half", -1) else 32, sampler=DistributedSampler(data)):
            if rank == SLOW:
                time.sleep(0.03)
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    if "RANK" in os.environ:
        work(0, 0, 0)
    else:
        mp.spawn(work, args=(2, free_port()), nprocs=2)
