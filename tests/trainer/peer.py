#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Python's own torch and torchvision for the tests of trainer/data: one word says what to compare.

    peer.py sampler CASES       a line of CASES: size world rank seed epoch; prints DistributedSampler's order of each
    peer.py affine F.safetensors    images (u8), draws, and what our loader made of them (f32); prints the differing pixels
"""

import sys
from pathlib import Path

import torch
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from reference import NORM, read_safetensors  # noqa: E402


def sampler(path):
    for line in Path(path).read_text().splitlines():
        size, world, rank, seed, epoch = map(int, line.split())
        order = DistributedSampler(range(size), world, rank, shuffle=True, seed=seed)
        order.set_epoch(epoch)
        print(*order)


def affine(path):
    from torchvision.transforms import InterpolationMode
    from torchvision.transforms import functional as vision

    given = read_safetensors(path)
    mean, std = NORM["fashion-mnist"]
    torch.set_num_threads(1)
    pixels = differing = 0
    for image, degrees, shift, scale, made in zip(given["images"], given["degrees"], given["shifts"], given["scales"],
                                                  given["made"]):
        ours = image.unsqueeze(0).to(torch.float32).div(255)  # as transforms.ToTensor
        ours = vision.affine(ours, degrees.item(), shift.tolist(), scale.item(), [0.0, 0.0],
                             interpolation=InterpolationMode.NEAREST, fill=0)
        pixels += made.numel()
        differing += int((vision.normalize(ours, [mean], [std]) != made).sum())
    print(len(given["images"]), pixels, differing)


if __name__ == "__main__":
    {"sampler": sampler, "affine": affine}[sys.argv[1]](sys.argv[2])
