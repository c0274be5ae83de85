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
        # It repeats a batch sampler for ever, as the loaders of Ultralytics and timm do that keep their workers: its sampler holds that one
        # and has no length of its own. Its length is then that of one pass.
        self.endless = (self._sampler is not None and not hasattr(type(self._sampler), "__len__")
                        and _gives_batches(getattr(self._sampler, "sampler", None)))
        expected = getattr(self._sampler, "batch_size", None)
        self._full: Optional[int] = expected if isinstance(expected, int) else None  # how many samples a full batch has
        # PyTorch has made its batches of samples: the first dimension of every tensor is their number.
        collate = getattr(getattr(iterator, "_collate_fn", None), "__module__", None) or ""
        self._batch_first = getattr(iterator, "_auto_collation", True) and collate.startswith("torch.")
        self._most = sys.maxsize if self._batch_first else self._full or sys.maxsize
        self._read: Optional[batch_sizes.Reader] = None  # of its batches' sizes, where there is but one
        self._readers: Optional[Tuple[batch_sizes.Reader, ...]] = None  # all that there may be; None: not looked for yet

    def samples(self, batch: Any, iterator: Any) -> int:
        """How many samples the newest batch of the iterator has; 0: unknown. How that is read is found at the first one."""
        try:
            if self._read is not None:
                size = self._read(batch)
                if size <= self._most:
                    return size
            if self._readers is None:
                self._readers = batch_sizes.readers(batch, self._full, self._due(iterator), self._batch_first, self.length == 1)
            size, self._readers = batch_sizes.agreed(self._readers, batch, self._most, self._due(iterator))
            self._read = self._readers[0] if len(self._readers) == 1 else None
            return size
        except Exception as error:
            signals.pass_on(error)
            return 0

    @cached_property
    def length(self) -> Optional[int]:
        """How many batches it gives, asked once; None for a data set without a length, and where a sampler of the script's own would tell:
        to count, that may draw random numbers, or take long."""
        asked = sampler = self._sampler.sampler if self.endless else self._sampler
        while asked is not None:
            if not _is_of_library(asked, "__len__"):
                return None
            asked = getattr(asked, "batch_sampler", getattr(asked, "sampler", None))
        try:
            return len(sampler)
        except Exception as error:
            signals.pass_on(error)
            return None

    @property
    def gives_full_batches(self) -> bool:
        """Whether its batches are alike but for a pass's last one, by a sampler of a library's."""
        return bool(self._full) and _is_of_library(self._sampler, "__iter__")

    @cached_property
    def _by_sampler(self) -> Tuple[Optional[int], Optional[int]]:
        """How many samples a batch has that is not the last one of a pass, and how many that one has; None: unknown."""
        if not self._full or not self.length or not self.gives_full_batches:
            return None, None
        sampler = getattr(self._sampler, "sampler", None)
        if sampler is None:  # a library's own: whether its last batch is full is not said
            return self._full, None
        rest = self._full if self._sampler.drop_last else len(sampler) - (self.length - 1) * self._full
        return self._full, rest if 0 < rest <= self._full else None

    def _due(self, iterator: Any) -> Optional[int]:
        """How many samples the newest batch of the iterator has by the loader's sampler; None: unknown."""
        number = getattr(iterator, "_num_yielded", 0)
        return self._by_sampler[number % self.length == 0] if number and self.length else None


def _gives_batches(sampler: Any) -> bool:
    """Whether it is a batch sampler."""
    return hasattr(sampler, "batch_sampler") or (hasattr(sampler, "batch_size") and hasattr(sampler, "drop_last"))


def _is_of_library(sampler: Any, method: str) -> bool:
    """Whether a library's code answers, not the script's own."""
    return getattr(getattr(type(sampler), method, None), "__module__", "").partition(".")[0] in LIBRARIES


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


def splits_parameters() -> bool:
    """Whether this process has but a part of some parameter, as in tensor parallelism, where several ranks train on the same batch. Of a
    model that FSDP has sharded that says nothing.

    Looks through all objects, too.
    """
    kind = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    found = living(kind) if kind is not None else []
    return any(getattr(each, "_is_param", False) and any(part.is_shard() for part in each.placements) for each in found)
