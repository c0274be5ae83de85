# SPDX-License-Identifier: MIT
"""Tensors of a script, which goes on working with them."""
from __future__ import annotations

from typing import Any


def copied(value: Any) -> Any:
    """One number as it is now, outside of the autograd graph, since the script may change a tensor in place, and a view would keep all that it
    was cut from. That of a CPU is read: small tensors that stay would keep the room of large ones between them from being used again. A
    tensor of more numbers is only taken out of the graph; what is no tensor is given back."""
    if not hasattr(value, "detach"):
        return value
    if value.numel() != 1:
        return value.detach()
    return value.item() if type(value).__name__ == "Tensor" and value.device.type == "cpu" else value.detach().clone()
