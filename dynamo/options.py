"""What the user asked of weft.compile, as capture needs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Options:
    """One call of weft.compile. Entries belong to the Options they were made under.

    `backend(gm, example_inputs) -> callable`; `dynamic`: True makes every size a symbol, False none, None those seen to
    change. `keep_empty` captures frames without any operation on tensors too.
    """

    backend: Callable | None = None
    fullgraph: bool = False
    dynamic: bool | None = None
    keep_empty: bool = False
