#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A simple training loop in one process. The lines marked `# +` report it to Lockstep.

    lockstep-agent run -- python3 few_lines.py
    python3 few_lines.py
"""
import pathlib
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))  # not needed where the package is installed
import lockstep  # noqa: E402  # +

torch.manual_seed(1)
angles = torch.rand(4096, 1) * 6.28 - 3.14
data = list(zip(angles.split(64), angles.sin().split(64)))
model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

run = lockstep.Run(method="baseline", model="sine", batch_size=64, epochs=5, optimizer="adam", lr=0.01)  # +
for epoch in range(1, 6):
    for x, y in run.epoch(epoch, data):  # +
        optimizer.zero_grad()
        with run.phase("forward"):  # +
            loss = nn.functional.mse_loss(model(x), y)
        with run.phase("backward"):  # +
            loss.backward()
        with run.phase("optimizer"):  # +
            optimizer.step()
        run.step(loss, len(x))  # +
    print(f"epoch {epoch}: loss {loss.item():.5f}")
sys.exit(run.close())  # +
