"""A batch from a dataset: by keys, or by taking the next samples of an iterator."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any


class Fetcher:
    """`fetch(keys)` gives a batch, or one sample where batches are not made here; `at` is the key in hand."""

    def __init__(self, dataset: Any, batches: bool, collate_fn: Callable, drop_last: bool) -> None:
        self.dataset, self.batches, self.collate_fn, self.drop_last = dataset, batches, collate_fn, drop_last
        self.at: Any = None

    def fetch(self, keys: Any) -> Any:
        raise NotImplementedError


class MapFetcher(Fetcher):
    def fetch(self, keys: Any) -> Any:
        if not self.batches:
            self.at = keys
            data = self.dataset[keys]
        elif callable(getattr(self.dataset, "__getitems__", None)):
            data = self.dataset.__getitems__(keys)
        else:
            data = []
            for self.at in keys:
                data.append(self.dataset[self.at])
        self.at = None
        return self.collate_fn(data)


class IterableFetcher(Fetcher):
    """Raises StopIteration at the end, and at a last batch that is short and to be dropped."""

    def __init__(self, dataset: Any, batches: bool, collate_fn: Callable, drop_last: bool) -> None:
        super().__init__(dataset, batches, collate_fn, drop_last)
        self.items, self.ended = iter(dataset), False

    def fetch(self, keys: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.batches:
            return self.collate_fn(next(self.items))
        data = list(itertools.islice(self.items, len(keys)))
        self.ended = len(data) < len(keys)
        if not data or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(data)
