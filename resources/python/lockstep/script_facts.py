# SPDX-License-Identifier: MIT
"""What can be seen of a script: its batches' size, how its model is wrapped, which of several processes it is."""
from __future__ import annotations

import gc
import os
import sys
from functools import cached_property
from typing import Any, List, Optional, Tuple

from lockstep import batch_sizes, signals

LIBRARIES = {"torch", "accelerate", "transformers", "datasets", "lightning", "pytorch_lightning"}  # whose samplers count without side effects


class Loader:
    """What can be seen of a DataLoader's iterator."""

    def __init__(self, iterator: Any, number: int) -> None:
        self.number = number
        self.data = id(getattr(iterator, "_dataset", None))
        self._sampler: Any = getattr(iterator, "_index_sampler", None)
        # It repeats a sampler for ever, as the loaders of Ultralytics and timm do that keep their workers: its sampler holds another one
        # and has no length of its own. Its length is then that of one pass.
        self.endless = self._sampler is not None and not hasattr(type(self._sampler), "__len__") and hasattr(self._sampler, "sampler")
        self._read: Optional[batch_sizes.Reader] = None

    def samples(self, batch: Any) -> int:
        """How many samples a batch has; 0: unknown. How that is read is found at the first one."""
        try:
            if self._read is None:
                expected = getattr(self._sampler, "batch_size", None)
                self._read = batch_sizes.reader(batch, expected if isinstance(expected, int) else None, self.length == 1)
            return self._read(batch)
        except Exception as error:
            signals.pass_on(error)
            return 0

    @cached_property
    def length(self) -> Optional[int]:
        """How many batches it gives, asked once; None for a data set without a length, and where a sampler of the script's own would tell:
        to count, that may draw random numbers, or take long."""
        asked = sampler = self._sampler.sampler if self.endless else self._sampler
        while asked is not None:
            if getattr(getattr(type(asked), "__len__", None), "__module__", "").partition(".")[0] not in LIBRARIES:
                return None
            asked = getattr(asked, "batch_sampler", getattr(asked, "sampler", None))
        try:
            return len(sampler)
        except Exception as error:
            signals.pass_on(error)
            return None


def place(torch: Any) -> Tuple[int, int, Optional[str]]:
    """Rank, number of ranks, backend; None: there is no process group."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")), None


def living(kinds: Any) -> List[Any]:
    """All objects of a class, or of several: looks through everything in the process."""
    return [each for each in gc.get_objects() if issubclass(type(each), kinds)]


def sharded_model() -> Optional[str]:
    """The name of the model that FSDP has sharded, by FullyShardedDataParallel or by fully_shard(); None: there is none.

    Looks through all objects, so it is asked once, and only where several processes train without DistributedDataParallel.
    """
    fsdp = sys.modules.get("torch.distributed.fsdp")
    kinds = tuple(kind for kind in (getattr(fsdp, name, None) for name in ("FullyShardedDataParallel", "FSDPModule")) if kind)
    found = living(kinds) if kinds else []
    if not found:
        return None
    outermost = max(found, key=lambda model: sum(1 for _ in model.modules()))
    if isinstance(outermost, kinds[:1]):
        return type(outermost.module).__name__
    return type(outermost).__mro__[2].__name__  # FSDPNet, FSDPModule, Net: the class that fully_shard() made a class of
