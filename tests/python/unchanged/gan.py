# SPDX-License-Identifier: MIT
"""Two optimizers that take turns, and no DataLoader."""
import torch

torch.manual_seed(0)
x = torch.randn(64, 8)
first, second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
one, two = torch.optim.Adam(first.parameters()), torch.optim.SGD(second.parameters(), lr=0.1)
for step in range(50):
    one.zero_grad()
    second(first(x)).mean().backward()
    one.step()
    two.zero_grad()
    (second(first(x).detach()) - 1).square().mean().backward()
    two.step()
