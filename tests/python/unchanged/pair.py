# SPDX-License-Identifier: MIT
"""Two DDP models that are trained in turns. Rank 1 waits for 30 ms before the first one's backward. Prints, in rank 0, how long all
backwards took, in seconds."""
import json
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
dist.init_process_group("gloo")
torch.manual_seed(0)
x = torch.randn(64, 8)
models = [DistributedDataParallel(torch.nn.Linear(8, 1)) for _ in range(2)]
optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
seconds = 0.0
for step in range(20):
    for model, optimizer in zip(models, optimizers):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        if dist.get_rank() == 1 and model is models[0]:
            time.sleep(0.03)
        begun = time.perf_counter()
        loss.backward()
        seconds += time.perf_counter() - begun
        optimizer.step()
if dist.get_rank() == 0:
    print(json.dumps({"backward": seconds}))
dist.destroy_process_group()
