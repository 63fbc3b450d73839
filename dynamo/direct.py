"""Results that the native side can make by itself, so that a frame needs no new bytecode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import outcome as o
from .source import Offset, Size, Source, Stride


def readable(source: Source) -> bool:
    """Whether the native side has the value as an object (sizes of tensors are not objects)."""
    return not isinstance(source, (Size, Stride, Offset))


def direct_result(recipe: Any, register: Callable[[Any], int] | None = None) -> tuple | None:
    """The result of a direct entry as the native side reads it, or None when making it needs bytecode.

    register(source) numbers the sources; when None the answer only says whether it can be done.
    """
    if isinstance(recipe, o.Output):
        return ("output", recipe.index)
    if isinstance(recipe, o.Const):
        return ("const", recipe.value)
    if isinstance(recipe, o.Load):
        return ("reg", register(recipe.source) if register else 0)
    if isinstance(recipe, o.Build) and recipe.kind in ("tuple", "list"):
        items = [direct_result(i, register) for i in recipe.items]
        return None if None in items else (recipe.kind, tuple(items))
    if _is_named_tuple(recipe):
        cls, values = recipe.args
        items = [direct_result(i, register) for i in values.items]
        return None if None in items else ("named", (cls.value, tuple(items)))
    if isinstance(recipe, o.Build) and recipe.kind == "dict":
        keys, values = recipe.items[::2], recipe.items[1::2]
        if not all(isinstance(k, o.Const) for k in keys):
            return None
        items = [direct_result(v, register) for v in values]
        return None if None in items else ("dict", (tuple(k.value for k in keys), tuple(items)))
    return None


def _is_named_tuple(recipe: Any) -> bool:
    """Whether a recipe is `tuple.__new__(cls, (…))`: the named results of ops, and whatever `namedtuple` made the class of."""
    return isinstance(recipe, o.Call) and isinstance(recipe.function, o.Const) and recipe.function.value is tuple.__new__


def loaded_sources(recipe: Any) -> list:
    """The sources that a direct result reads."""
    if isinstance(recipe, o.Load):
        return [recipe.source]
    if _is_named_tuple(recipe):
        return loaded_sources(recipe.args[1])
    if isinstance(recipe, o.Build):
        return [s for item in recipe.items for s in loaded_sources(item)]
    return []


