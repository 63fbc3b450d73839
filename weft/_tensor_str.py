"""How tensors print, under the name that PyTorch has for the file."""

from __future__ import annotations

from typing import Any

from aten.printing import PrintOptions, elements_text, set_printoptions

__all__ = ["PRINT_OPTS", "set_printoptions"]
PRINT_OPTS = PrintOptions


def _tensor_str(self: Any, indent: int) -> str:
    """The elements alone; lines behind the first begin at this column."""
    return elements_text(self, indent)
