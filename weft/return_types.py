"""The named tuples that ops of several results return: `return_types.max` of `max(input, dim)`."""

from typing import Any

import aten
from aten import return_types


def __getattr__(name: str) -> Any:
    for op in (aten.registry.get(name), aten.registry.get(f"{name}_dim")):
        if op is not None and not name.startswith("_") and len(op.schema.returns) > 1:
            _ = op.schema.result_type  # (which declares the class)
    found = getattr(return_types, name, None)
    if not (isinstance(found, type) and issubclass(found, tuple)):
        raise AttributeError(f"module 'weft.return_types' has no attribute {name!r}")
    globals()[name] = found
    return found
