"""vmap without settings, as older code calls it: `in_dims` and `out_dims` by position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.func import vmap as _mapped

__all__ = ["vmap"]


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0) -> Callable:
    """`func` over dimensions of its arguments. Use `weft.vmap`."""
    return _mapped(func, in_dims, out_dims)


_vmap = vmap
