# SPDX-License-Identifier: MIT
"""The older name of `lockstep.ddp`. Scripts that import lockstep_ddp still work."""
from lockstep.ddp import watch

__all__ = ["watch"]
