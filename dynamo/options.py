"""What the user asked of weft.compile, as capture needs it."""

from __future__ import annotations

from aten.records import record


@record(frozen=True)
class Options:
    """`dynamic`: True makes every size a symbol, False none, None those seen to change. `keep_empty` captures frames
    without any operation on tensors too. `export`: the whole program is wanted, and there is no call to leave to Python.
    """

    fullgraph: bool = False
    dynamic: bool | None = None
    keep_empty: bool = False
    export: bool = False
