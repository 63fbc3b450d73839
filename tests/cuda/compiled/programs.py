"""Programs of users by name, which take the name of a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import weft


def seq(d, *size, dtype=None):
    """Few different numbers of both signs, of a size, on a device."""
    n = int(np.prod(size)) if size else 1
    return ((weft.arange(float(n)) * 7 % 11 - 5) / 3).reshape(size).to(d, dtype or weft.float32)


class Programs(dict[str, Callable[[str], Any]]):
    """By the names of functions that it decorates."""

    def __call__(self, f: Callable[[str], Any]) -> Callable[[str], Any]:
        self[f.__name__] = f
        return f
