# SPDX-License-Identifier: MIT
"""How many samples a batch has, whatever a script's batches look like. Of an object only what its class has is asked: one that answers
whatever it is asked, such as a dictionary whose keys are attributes, might change, or raise."""
from __future__ import annotations

from itertools import islice
from typing import Any, Callable, Iterator, Optional, Sequence, Set, Tuple

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


def _first_shape(batch: Any) -> Sequence[int]:
    """The shape of the tensor that a batch begins with, as nearly all do; empty: it begins otherwise."""
    part: Any = batch[0] if isinstance(batch, (list, tuple)) and batch else None
    shape: Sequence[int] = part.shape if hasattr(type(part), "shape") else ()
    return shape


def batch_size(batch: Any) -> int:
    """The length of the first tensor in a batch; 0 if there is none."""
    first = _first_shape(batch)
    if first and first[0]:
        return int(first[0])
    return next((int(shape[0]) for shape in shapes(batch) if shape and shape[0]), 0)


def _common_size(seen: Sequence[Tuple[int, ...]]) -> int:
    """The length that all tensors of these shapes have in their first dimension, else the only one that all have in any; 0: there is none."""
    for lengths in ([shape[:1] for shape in seen], seen):
        common = set.intersection(*map(set, lengths)) if lengths else set()
        if len(common) == 1:
            return int(common.pop())
    return 0


def _common_sizes() -> Reader:
    """Reads the length that all tensors of a batch have in common, as long as it is the same dimension of the first one in all batches: of texts
    along whose first dimension time runs it is the time, but the number of texts where only one tensor is cut short."""
    possible: Optional[Set[int]] = None  # dimensions of the first tensor; None: no batch has shown any yet

    def read(batch: Any) -> int:
        """The size; 0: unknown."""
        nonlocal possible
        seen = [shape for shape in shapes(batch) if shape]
        size = _common_size(seen)
        if size:
            found = {dimension for dimension, length in enumerate(seen[0]) if length == size}
            possible = found if possible is None else possible & found
        return size if possible else 0

    return read


def listed_size(batch: Any) -> int:
    """The number of samples in a batch of lists: a list of dictionaries, or lists of the samples' parts, each as long; 0: it is none."""
    if isinstance(batch, (list, tuple)) and batch and all(isinstance(part, dict) for part in batch):
        return len(batch)
    parts = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    lengths = {len(part) for part in parts if isinstance(part, (list, tuple))}
    return lengths.pop() if len(lengths) == 1 else 0


def _list_size(batch: Any) -> int:
    """The length of a list of samples, whatever these are. A tuple has the samples' parts."""
    return len(batch) if isinstance(batch, list) else 0


def _dimension(tensor: int, dimension: int) -> Reader:
    """Reads a dimension of one of a batch's tensors."""
    def read(batch: Any) -> int:
        """The dimension; 0 where the batch has none."""
        shape = (_first_shape(batch) if tensor == 0 else ()) or next(islice(shapes(batch), tensor, None), ())
        return int(shape[dimension]) if dimension < len(shape) else 0

    return read


def readers(batch: Any, full: Optional[int], due: Optional[int], batch_first: bool, only: bool) -> Tuple[Reader, ...]:
    """The ways in which the sizes of a loader's batches may be read, found at its first batch; none: they are unknown.

    What is as long as that batch should be may be its size: a tensor's dimension, or a list. By the loader's sampler it has `due` samples
    (None: unknown), else as many as a `full` one (None: unknown), unless it is the `only` one. `batch_first`: PyTorch has made it, with the
    samples in the first dimension of every tensor. Where neither it nor a full size is known, all tensors have to agree.
    """
    if not full or batch_first:
        return (batch_size if batch_first else _common_sizes(),)
    wanted = due or full
    seen = list(shapes(batch))
    first = [_dimension(tensor, 0) for tensor, shape in enumerate(seen) if shape and shape[0] == wanted]
    lists = [size for size in (listed_size, _list_size) if size(batch) == wanted]
    others = [_dimension(tensor, dimension) for tensor, shape in enumerate(seen) for dimension in range(1, len(shape))
              if shape[dimension] == wanted]
    if only and not due:  # it may have less samples, and another dimension may be as long by chance
        others = []
    lengths = {shape[0] for shape in seen if shape}
    if first and len(lengths) == 1 and not lists and not others:
        return (first[0],)
    if first or lists or others:
        return (*first, *lists, *others)
    # It may be a batch that is not full, whose tensors are equally long. In a list they may be samples.
    is_part = len(lengths) == 1 and 0 < batch_size(batch) < full and not isinstance(batch, list)
    return (batch_size,) if is_part else ()


def agreed(found: Sequence[Reader], batch: Any, most: int, due: Optional[int]) -> Tuple[int, Tuple[Reader, ...]]:
    """The size of a batch, `most` samples or less, and which of the readers may go on to read it; none: it is unknown (0). Where readers
    disagree, those are right that give what is `due` by the loader's sampler (None: unknown)."""
    if due and found and found[0](batch) == due:  # the others would have to agree with it, or be wrong
        return due, tuple(found)
    sizes = [(read(batch), read) for read in found]
    sizes = [each for each in sizes if each[0] <= most]
    if len({size for size, _ in sizes}) > 1:
        known = due
        if due is None and not any(read in (listed_size, _list_size) for _, read in sizes):
            # The number of samples is a dimension of each tensor.
            common = set.intersection(*map(set, shapes(batch))) & {size for size, _ in sizes}
            known = common.pop() if len(common) == 1 else None
        sizes = [each for each in sizes if each[0] == known]
    return sizes[0][0] if sizes else 0, tuple(read for _, read in sizes)
