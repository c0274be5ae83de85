# SPDX-License-Identifier: MIT
"""Draws its batches to count them, changes a loss after its step, and calls backward on views of large tensors."""
import json
import resource

import torch


class Drawn(torch.utils.data.Sampler):
    lengths = 0

    def batches(self):
        return [batch.tolist() for batch in torch.randperm(640).split(32)]

    def __iter__(self):
        return iter(self.batches())

    def __len__(self):
        Drawn.lengths += 1
        return len(self.batches())


torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn(640, 8), torch.randn(640, 1))
loader = torch.utils.data.DataLoader(data, batch_sampler=Drawn())
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
large = torch.nn.Parameter(torch.zeros(1_000_000))
for _ in range(100):  # no optimizer takes a step
    (large * 2)[0].backward()
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
for epoch in range(3):
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        last = loss.item()
        with torch.no_grad():
            loss *= 1000
weights = model.weight.sum().item()
print(json.dumps({"weights": weights, "lengths": Drawn.lengths, "last": last, "grown_mb": grown}))
