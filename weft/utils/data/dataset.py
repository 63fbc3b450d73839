"""Datasets: things with a length and items by index, or that are iterated; and how they are put together."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import aten
from aten import Tensor
from aten.random import Generator, default_generator

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Items by key. A subclass defines `__getitem__`, mostly `__len__`, and may define `__getitems__` (a list of keys)."""

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Items in the order of `__iter__`, which a subclass defines.

    Each worker of a DataLoader iterates a copy: `get_worker_info()` tells which share is its own.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Item i is the tuple of t[i] for tensors of one first size."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != t.size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Item i has item i of each of several datasets of one length: a tuple, or a dict if they are given by name."""

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
                if args
                else "At least one dataset should be passed"
            )
        self.datasets: Any = args or kwargs
        sizes = [len(d) for d in self._all()]
        if any(size != sizes[0] for size in sizes):
            raise ValueError("Size mismatch between datasets")
        self._length = sizes[0]

    def _all(self) -> list:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _join(self, items: Iterable) -> Any:
        return dict(zip(self.datasets, items)) if isinstance(self.datasets, dict) else tuple(items)

    def __getitem__(self, index: Any) -> Any:
        return self._join(d[index] for d in self._all())

    def __getitems__(self, indices: list) -> list:
        columns = []
        for d in self._all():
            items = d.__getitems__(indices) if callable(getattr(d, "__getitems__", None)) else [d[i] for i in indices]
            if len(items) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}"
                )
            columns.append(items)
        return [self._join(row) for row in zip(*columns)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """The items of several datasets, one dataset after the other."""

    @staticmethod
    def cumsum(sequence: Iterable) -> list[int]:
        return list(itertools.accumulate(len(d) for d in sequence))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self) -> list[int]:
        warnings.warn(
            "cummulative_sizes attribute is renamed to cumulative_sizes", DeprecationWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """The items of several iterable datasets, one dataset after the other."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self) -> Iterator[IterableDataset]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield d

    def __iter__(self) -> Iterator:
        for d in self._checked():
            yield from d

    def __len__(self) -> int:
        return sum(len(d) for d in self._checked())  # type: ignore[arg-type]


class Subset(Dataset[T_co]):
    """The items of a dataset at `indices`."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        wanted = [self.indices[i] for i in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(wanted)  # type: ignore[attr-defined]
        return [self.dataset[i] for i in wanted]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Disjoint random subsets of the given lengths, or of shares that sum to 1 (what rounding leaves over goes to the
    first ones, one each). Raises ValueError for other sums."""
    size = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, share in enumerate(lengths):
            if share < 0 or share > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(size * share) for share in lengths]
        for i in range(size - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
        lengths = counts
    if sum(lengths) != size:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = aten.randperm(size, generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[int(end - n) : int(end)]) for n, end in zip(lengths, ends)]
