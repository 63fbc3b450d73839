"""Modules of Python's library as they were when this was imported.

Programs patch modules (`math.prod = mine`), and so do their tests. Such a function is the program's: capture looks at it where the
program does, and what weft itself computes of sizes, ranges and strides must not come to it.
"""

from __future__ import annotations

import functools as _functools
import itertools as _itertools
import math as _math
import types as _types
from typing import Any


def _copy(module: _types.ModuleType) -> Any:
    return _types.SimpleNamespace(**vars(module))


math, itertools, functools = _copy(_math), _copy(_itertools), _copy(_functools)

__all__ = ["functools", "itertools", "math"]
