"""Values added at indexed places of an array, repeated places one after the other: `np.add.at`, natively where that is possible."""

from typing import Any

import numpy as np

from aten import _native

_KINDS = "iuf"


def add_at(out: np.ndarray, where: tuple[Any, ...], values: Any) -> None:
    """out[where] += values in the order of the indices; the values broadcast. Raises IndexError for an index out of range."""
    values = np.asarray(values)
    simple = out.dtype == values.dtype and out.dtype.kind in _KINDS and out.dtype != np.float16
    if not simple or not all(isinstance(w, np.ndarray) and w.dtype.kind in "iu" for w in where) or not 0 < len(where) <= out.ndim:
        np.add.at(out, where, values)
        return
    shape = np.broadcast_shapes(*[w.shape for w in where])
    places = [np.broadcast_to(w.astype(np.int64, copy=False), shape) for w in where]
    arrays = [out, *places, np.broadcast_to(values, shape + out.shape[len(where) :])]
    if any(s < 0 or s % a.itemsize for a in arrays for s in a.strides):  # no tensor lies so
        np.add.at(out, where, values)
        return
    target, *indices, added = [_native.from_numpy(a) for a in arrays]
    _native.at_places("add", target, tuple(indices), added)


__all__ = ["add_at"]
