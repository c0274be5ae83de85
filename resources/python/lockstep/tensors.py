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
    return copied_number(value) if value.numel() == 1 else value.detach()


def copied_number(value: Any) -> Any:
    """The same of a tensor that is one number."""
    return value.item() if type(value).__name__ == "Tensor" and value.is_cpu else value.detach().clone()
