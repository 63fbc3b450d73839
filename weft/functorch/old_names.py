"""Names of functorch that have a new home."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def announced(transform: Callable, home: str | None = None) -> Callable:
    """`transform`, which says when it is called where it lives now."""
    name = transform.__name__
    home = home or f"torch.func.{name}"

    @functools.wraps(transform)
    def old(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`functorch.{name}` is deprecated: functorch is part of PyTorch. Please use `{home}` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return transform(*args, **kwargs)

    return old
