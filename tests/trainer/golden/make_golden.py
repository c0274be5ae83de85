# SPDX-License-Identifier: MIT
"""Writes the golden files beside it with PyTorch's own Python code. Needs torch alone (no numpy, no torchvision).

    .venv/bin/python tests/trainer/golden/make_golden.py

sampler.txt         torch.utils.data.DistributedSampler(shuffle=True) for several sizes, world sizes, ranks, epochs
lenet.safetensors   fp64: parameters after torch.manual_seed(7), an input, its logits, loss and gradients; convnet too
affine.txt          source pixels of torchvision's tensor path (its two functions are repeated here), nearest, zeros
"""

import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data.distributed import DistributedSampler

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "bench"))
from reference import make_model, write_safetensors  # noqa: E402


def sampler_lines():
    for size, world, seed, epoch in [(10, 1, 1, 0), (10, 3, 1, 0), (10, 3, 1, 2), (11, 4, 5, 1), (3, 8, 1, 0),
                                     (640, 2, 1, 0), (1000, 3, 2**40 + 3, 9)]:
        for rank in sorted({0, world // 2, world - 1}):
            sampler = DistributedSampler(range(size), world, rank, shuffle=True, seed=seed)
            sampler.set_epoch(epoch)
            yield " ".join(map(str, [size, world, rank, seed, epoch, *sampler]))


def model_tensors(name):
    torch.manual_seed(7)
    model = make_model(name, dropout=0.0)
    fresh = {k: v.clone() for k, v in model.state_dict().items()}
    model.double()
    torch.manual_seed(8)
    images = torch.randn(4, 1, 28, 28, dtype=torch.float64)
    labels = torch.tensor([3, 0, 9, 3])
    logits = model(images)
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    tensors = {"param." + k: v for k, v in fresh.items()}
    tensors.update(images=images, labels=labels, logits=logits.detach(), loss=loss.detach())
    # The large matrices' gradients are covered by a product with a fixed vector, to keep the file small.
    for k, v in model.named_parameters():
        probe = torch.linspace(-1, 1, v.numel(), dtype=torch.float64)
        tensors["grad_probe." + k] = torch.stack([v.grad.flatten() @ probe, v.grad.abs().sum()])
    return tensors


def inverse_affine_matrix(angle, tx, ty, scale):
    """torchvision.transforms.functional._get_inverse_affine_matrix, centre (0, 0), no shear."""
    rot = math.radians(angle)
    a, b, c, d = math.cos(rot), -math.sin(rot), math.sin(rot), math.cos(rot)
    m = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    m[2] += m[0] * -tx + m[1] * -ty
    m[5] += m[3] * -tx + m[4] * -ty
    return m


def affine_sources(angle, tx, ty, scale, side=28):
    """The source pixel of each result pixel, by torchvision's _gen_affine_grid and grid_sample; -1: the fill."""
    theta = torch.tensor(inverse_affine_matrix(angle, tx, ty, scale), dtype=torch.float32).reshape(1, 2, 3)
    base = torch.empty(1, side, side, 3)
    line = torch.linspace(-side * 0.5 + 0.5, side * 0.5 - 0.5, steps=side)
    base[..., 0].copy_(line)
    base[..., 1].copy_(line.unsqueeze(-1))
    base[..., 2].fill_(1)
    grid = base.view(1, side * side, 3).bmm(theta.transpose(1, 2) / torch.tensor([0.5 * side, 0.5 * side]))
    numbers = torch.arange(1, side * side + 1, dtype=torch.float32).view(1, 1, side, side)
    shown = F.grid_sample(numbers, grid.view(1, side, side, 2), mode="nearest", padding_mode="zeros",
                          align_corners=False)
    return (shown.flatten().to(torch.int64) - 1).tolist()


def affine_lines():
    torch.manual_seed(3)
    draws = [(0.0, 0, 0, 1.0), (0.0, 2, -3, 1.0), (15.0, 0, 0, 1.0), (-15.0, 3, 3, 1.1), (7.5, -1, 0, 0.9)]
    for _ in range(35):
        angle = float(torch.empty(1).uniform_(-15.0, 15.0).item())
        tx = int(round(torch.empty(1).uniform_(-2.8, 2.8).item()))
        ty = int(round(torch.empty(1).uniform_(-2.8, 2.8).item()))
        scale = float(torch.empty(1).uniform_(0.9, 1.1).item())
        draws.append((angle, tx, ty, scale))
    for angle, tx, ty, scale in draws:
        yield " ".join(map(str, [angle, tx, ty, scale, *affine_sources(angle, tx, ty, scale)]))


def main():
    (HERE / "sampler.txt").write_text("\n".join(sampler_lines()) + "\n")
    (HERE / "affine.txt").write_text("\n".join(affine_lines()) + "\n")
    write_safetensors(HERE / "lenet.safetensors", model_tensors("lenet"))
    # convnet's parameters take 4.8 MB: the seed alone makes them, a probe of each shows whether they are right.
    tensors = model_tensors("convnet")
    for key in [k for k in tensors if k.startswith("param.")]:
        value = tensors.pop(key).double().flatten()
        probe = torch.linspace(-1, 1, value.numel(), dtype=torch.float64)
        tensors["param_probe." + key.removeprefix("param.")] = torch.stack([value @ probe, value.abs().sum()])
    write_safetensors(HERE / "convnet.safetensors", tensors)


if __name__ == "__main__":
    main()
