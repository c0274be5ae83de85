# SPDX-License-Identifier: MIT
"""The name that `lockstep.ddp` had as a file of its own. Scripts that import lockstep_ddp go on working."""
from lockstep.ddp import watch

__all__ = ["watch"]
