# SPDX-License-Identifier: MIT
"""Compiles its model, then a whole step with the optimizer's in it. Prints the losses, and the frames that were compiled for the model."""
import json

import torch
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
x, y = torch.randn(160, 20), torch.randint(0, 3, (160,))
model = torch.nn.Sequential(torch.nn.Linear(20, 50), torch.nn.ReLU(), torch.nn.Linear(50, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
compiled = torch.compile(model, backend="eager")


def train(forward, inputs, targets):
    loss = torch.nn.functional.cross_entropy(forward(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


losses = [train(compiled, *batch).item() for batch in DataLoader(TensorDataset(x, y), 32)]
frames = counters["frames"]["total"]
whole = torch.compile(train, backend="eager")
losses += [whole(model, *batch).item() for batch in DataLoader(TensorDataset(x, y), 32)]
print(json.dumps({"losses": losses, "frames": frames}))
