"""`weft.jit.isinstance`: whether a value has a type such as List[Tensor] or Dict[str, int], elements included."""

from __future__ import annotations

import types
import typing
from typing import Any

_plain = isinstance


def _all(values: Any, kind: Any) -> bool:
    return all(isinstance(v, kind) for v in values)


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether `obj` is of `target_type`: a class, a tuple of them, Optional, Union, or List, Dict, Tuple of such."""
    if _plain(target_type, tuple):
        return any(isinstance(obj, t) for t in target_type)
    if target_type is Any:
        return True
    if target_type is None:
        return obj is None
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, a) for a in args)
    if origin is typing.Annotated:
        return isinstance(obj, args[0])
    if origin is None:
        return _plain(obj, target_type)
    if not args:
        raise RuntimeError(f"Attempted to use {target_type} without a contained type. Please add a contained type, e.g. List[int]")
    if not _plain(obj, origin):
        return False
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return _all(obj, args[0])
        return len(obj) == len(args) and all(isinstance(o, a) for o, a in zip(obj, args))
    if issubclass(origin, dict):
        return _all(obj.keys(), args[0]) and _all(obj.values(), args[1])
    return _all(obj, args[0])
