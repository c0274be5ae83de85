# SPDX-License-Identifier: MIT
"""What can be seen of a script: its batches' size, how its model is wrapped, which of several processes it is."""
from __future__ import annotations

import gc
import os
import sys
from typing import Any, List, Optional, Tuple

from lockstep import batch_sizes, signals

LIBRARIES = {"torch", "accelerate", "transformers", "datasets", "lightning", "pytorch_lightning"}  # whose samplers count without side effects


def samples(iterator: Any, batch: Any) -> int:
    """How many samples a batch of a DataLoader's iterator has; 0: unknown. How that is read is found at the first one."""
    try:
        if not hasattr(iterator, "_lockstep_reader"):
            expected = getattr(getattr(iterator, "_index_sampler", None), "batch_size", None)
            iterator._lockstep_reader = batch_sizes.reader(batch, expected if isinstance(expected, int) else None, length(iterator) == 1)
        return int(iterator._lockstep_reader(batch))
    except Exception as error:
        signals.pass_on(error)
        return 0


def length(iterator: Any) -> Optional[int]:
    """How many batches it gives, asked once; None for a data set without a length, and where a sampler of the script's own would tell:
    to count, that may draw random numbers, or take long."""
    if not hasattr(iterator, "_lockstep_length"):
        iterator._lockstep_length = _length(iterator)
    known: Optional[int] = iterator._lockstep_length
    return known


def endless(iterator: Any) -> bool:
    """Whether it repeats a sampler for ever, as the loaders of Ultralytics and timm do that keep their workers: its sampler holds another one
    and has no length of its own. Its length is then that of one pass."""
    sampler = getattr(iterator, "_index_sampler", None)
    return sampler is not None and not hasattr(type(sampler), "__len__") and hasattr(sampler, "sampler")


def _length(iterator: Any) -> Optional[int]:
    sampler: Any = getattr(iterator, "_index_sampler", None)
    asked = sampler = sampler.sampler if endless(iterator) else sampler
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
