# SPDX-License-Identifier: MIT
"""How many samples a batch has, whatever a script's batches look like. Of an object only what its class has is asked: one that answers
whatever it is asked, such as a dictionary whose keys are attributes, might change, or raise."""
from __future__ import annotations

from itertools import islice
from typing import Any, Callable, Iterator, Optional, Tuple

DEEPEST = 4  # levels of lists and dictionaries in which tensors are looked for
MOST_PARTS = 16  # of one list or dictionary that are looked at
MOST_LOOKS = 128  # parts of one batch that are looked at
PLAIN = (str, bytes, int, float, type(None))

Reader = Callable[[Any], int]


def _shapes(batch: Any, left: Iterator[int], level: int = 0) -> Iterator[Tuple[int, ...]]:
    """The shapes of the tensors in a list or dictionary, in its order. In a list of numbers or texts there are none."""
    if isinstance(batch, (list, tuple)):
        parts = batch
    else:
        parts = batch.values() if callable(getattr(type(batch), "values", None)) else ()
    for part in islice(parts, MOST_PARTS):
        if next(left, None) is None or (level and isinstance(batch, list) and isinstance(part, PLAIN)):
            return
        if hasattr(type(part), "shape"):
            yield tuple(part.shape)
        elif level + 1 < DEEPEST and not isinstance(part, PLAIN):
            yield from _shapes(part, left, level + 1)


def shapes(batch: Any) -> Iterator[Tuple[int, ...]]:
    """The shapes of the first tensors in a batch, or that of a batch that is one."""
    if hasattr(type(batch), "shape"):
        return iter((tuple(batch.shape),))
    return _shapes(batch, iter(range(MOST_LOOKS)))


def batch_size(batch: Any) -> int:
    """The length of the first tensor in a batch; 0 if there is none."""
    return next((int(shape[0]) for shape in shapes(batch) if shape and shape[0]), 0)


def listed_size(batch: Any) -> int:
    """The number of samples in a batch of lists: a list of dictionaries, or lists of the samples' parts, each as long; 0: it is none."""
    if not isinstance(batch, (list, tuple)) or not batch:
        return 0
    if all(isinstance(part, dict) for part in batch):
        return len(batch)
    lengths = {len(part) for part in batch if isinstance(part, (list, tuple))}
    return lengths.pop() if len(lengths) == 1 else 0


def _list_size(batch: Any) -> int:
    """The length of a list of samples, whatever these are."""
    return len(batch) if isinstance(batch, (list, tuple)) else 0


def _unknown(batch: Any) -> int:
    return 0


def _dimension(tensor: int, dimension: int) -> Reader:
    """Reads a dimension of one of a batch's tensors."""
    def read(batch: Any) -> int:
        """The dimension; 0 where the batch has none."""
        part: Any = batch[0] if tensor == 0 and isinstance(batch, (list, tuple)) and batch else None
        shape = part.shape if hasattr(type(part), "shape") else next(islice(shapes(batch), tensor, None), ())
        return int(shape[dimension]) if dimension < len(shape) else 0

    return read


def reader(batch: Any, expected: Optional[int], only: bool) -> Reader:
    """How the sizes of a loader's batches are read, found at its first batch, which has as many samples as are `expected` (None: unknown),
    unless it is the `only` one: the first dimension of a tensor is so long, or lists are, or any dimension is. Else the first tensor's
    length may be the size of a batch that is not full; a longer one is something else's."""
    if not expected:
        return batch_size
    seen = list(shapes(batch))
    first = [(tensor, 0) for tensor, shape in enumerate(seen) if shape]
    others = [(tensor, dimension) for tensor, shape in enumerate(seen) for dimension in range(1, len(shape))]
    found = [_dimension(*place) for place in first if seen[place[0]][0] == expected]
    if not found and listed_size(batch) == expected:
        found = [listed_size]
    if not found and not only:  # in an only batch, which may have less samples, it might be a length by chance
        found = [_dimension(*place) for place in others if seen[place[0]][place[1]] == expected]
    if not found and _list_size(batch) == expected:
        found = [_list_size]
    return found[0] if found else batch_size if batch_size(batch) < expected else _unknown
