"""DataLoader: batches of a dataset, made in this process or in others."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import aten
from aten import _native
from aten.random import Generator
from weft.utils.data import _utils as _utils  # users take it from here
from weft.utils.data.collate import default_collate, default_convert
from weft.utils.data.dataset import Dataset, IterableDataset
from weft.utils.data.fetch import Fetcher, IterableFetcher, MapFetcher
from weft.utils.data.pinning import pin
from weft.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from weft.utils.data.worker import get_worker_info as get_worker_info
from weft.utils.data.workers import WorkerPool

T_co = TypeVar("T_co", covariant=True)


class _Endless(Sampler[None]):
    """None for ever: the keys of a dataset that is iterated."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Iterates over batches of `dataset`, each time in a new order if `shuffle`.

    batch_size: None gives single samples, converted. sampler, batch_sampler: keys, or lists of keys, instead.
    num_workers: processes that make batches, `prefetch_factor` (2) each ahead; batches come through shared memory, in the
    order of the sampler if `in_order`. collate_fn(samples) makes the batch. generator: draws base_seed and the order; worker
    i is seeded base_seed + i (weft, random, NumPy), then worker_init_fn(i) runs. timeout: seconds to wait for a batch
    (0: for ever). persistent_workers: they stay from one iteration to the next. pin_memory: batches come in pinned memory,
    which a CUDA device copies from without staging; without a device it warns.

    An exception in a worker is raised here with its class, naming worker, batch and index; a worker that dies or times out
    is a RuntimeError that names it. Raises ValueError for options that contradict each other.
    """

    _FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.generator, self.persistent_workers = worker_init_fn, generator, persistent_workers
        self.multiprocessing_context = multiprocessing_context
        if pin_memory and _native.device_count("cuda") == 0:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
                stacklevel=2,
            )
        iterable = isinstance(dataset, IterableDataset)
        if iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if iterable:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.__initialized = True
        self._iterator: Any = None
        self._told: int | None = None  # what `len` said of a dataset that is iterated
        if num_workers > 0:
            _warn_of_many(num_workers)

    @property
    def multiprocessing_context(self) -> Any:
        return self.__context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers <= 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(
                        "multiprocessing_context option should specify a valid start method in "
                        f"{known!r}, but got multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the start "
                    f"method, but got multiprocessing_context={context}"
                )
        self.__context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in self._FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _make_fetcher(self) -> Callable[[], Fetcher]:
        kind = IterableFetcher if isinstance(self.dataset, IterableDataset) else MapFetcher
        return _Maker(kind, self.dataset, self._auto_collation, self.collate_fn, self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers or self.num_workers == 0:
            return _iterator_of(self)
        if self._iterator is None:
            self._iterator = _iterator_of(self)
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        self._told = _batches_of(self.dataset, self.batch_size, self.drop_last)
        return self._told


class _Maker:
    """Makes a worker's fetcher; an object, so that it is pickled where workers are spawned."""

    def __init__(self, kind: type[Fetcher], *arguments: Any) -> None:
        self.kind, self.arguments = kind, arguments

    def __call__(self) -> Fetcher:
        return self.kind(*self.arguments)


def _batches_of(dataset: Any, batch_size: int | None, drop_last: bool) -> int:
    length = len(dataset)
    if batch_size is None:
        return length
    return length // batch_size if drop_last else -(-length // batch_size)


class _Iterator:
    """What `iter(loader)` returns; `_next_data` is where batches come from.

    It does not hold the loader, which may hold it: with the last of them the workers go, without waiting for a collection.
    """

    def __init__(self, loader: DataLoader) -> None:
        self._dataset, self._num_workers = loader.dataset, loader.num_workers
        self._told, self._index_sampler = loader._told, loader._index_sampler
        self._pinned = loader.pin_memory and _native.device_count("cuda") > 0
        self._base_seed = int(aten.empty((), dtype=aten.int64).random_(generator=loader.generator).item())
        self._start(loader)

    def _start(self, loader: DataLoader) -> None:
        self._keys, self._yielded, self._warned = iter(loader._index_sampler), 0, False

    def __iter__(self) -> _Iterator:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        data = pin(self._next_data()) if self._pinned else self._next_data()
        self._yielded += 1
        if isinstance(self._dataset, IterableDataset) and not self._warned:
            self._warn_of_length()
        return data

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_of_length(self) -> None:
        if self._told is not None and self._yielded > self._told:
            self._warned = True
            text = (
                f"Length of IterableDataset {self._dataset} was reported to be {self._told}(when accessing len(dataloader)), "
                f"but {self._yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                text += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker."
                )
            warnings.warn(text, stacklevel=3)


class _SingleProcessDataLoaderIter(_Iterator):
    def _start(self, loader: DataLoader) -> None:
        super()._start(loader)
        self._fetcher = loader._make_fetcher()()

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._keys))


class _MultiProcessingDataLoaderIter(_Iterator):
    def _start(self, loader: DataLoader) -> None:
        super()._start(loader)
        self._pool = WorkerPool(loader, self._base_seed, self._keys)

    def _reset(self, loader: DataLoader) -> None:
        super()._start(loader)
        self._pool.reset(self._keys)

    @property
    def _workers(self) -> list:
        return self._pool.processes

    def _next_data(self) -> Any:
        return self._pool.next()

    def _shutdown_workers(self) -> None:
        self._pool.close()


_BaseDataLoaderIter = _Iterator


def _iterator_of(loader: DataLoader) -> _Iterator:
    return _SingleProcessDataLoaderIter(loader) if loader.num_workers == 0 else _MultiProcessingDataLoaderIter(loader)


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )
    if shuffle not in (False, None):
        raise ValueError(
            f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}"
        )


def _warn_of_many(num_workers: int) -> None:
    allowed = len(os.sched_getaffinity(0))
    if num_workers > allowed:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total. Our suggested max number of worker in "
            f"current system is {allowed}, which is smaller than what this DataLoader is going to create. Please be aware "
            "that excessive worker creation might get DataLoader running slow or even freeze, lower the worker number to "
            "avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )
