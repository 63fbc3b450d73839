"""How tensors print, under the name that PyTorch has for the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from aten.printing import PrintOptions, elements_text, set_printoptions

__all__ = ["PRINT_OPTS", "get_printoptions", "printoptions", "set_printoptions"]
PRINT_OPTS = PrintOptions
_NAMES = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")


def get_printoptions() -> dict[str, Any]:
    """The options by name."""
    return {name: getattr(PrintOptions, name) for name in _NAMES}


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Options as for `set_printoptions`, within the block."""
    before = get_printoptions()
    set_printoptions(**{"sci_mode": before["sci_mode"], **kwargs})
    try:
        yield
    finally:
        set_printoptions(**before)


def _tensor_str(self: Any, indent: int) -> str:
    """The elements alone; lines behind the first begin at this column."""
    return elements_text(self, indent)
