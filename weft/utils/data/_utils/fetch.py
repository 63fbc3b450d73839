"""Batches from datasets, under the names that PyTorch has for them."""

from weft.utils.data.fetch import Fetcher as _BaseDatasetFetcher
from weft.utils.data.fetch import IterableFetcher as _IterableDatasetFetcher
from weft.utils.data.fetch import MapFetcher as _MapDatasetFetcher

__all__ = ["_BaseDatasetFetcher", "_IterableDatasetFetcher", "_MapDatasetFetcher"]
