"""What the new code of a frame loads from outside without having looked at it: guards say that it is there.

New code reads all values that it hands on before it makes any change, and plain Python where the program names them. A name
that is gone must not raise there, before the effects that come first: such a call is no call for the entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import outcome as o
from .real_objects import instance_dict, members_of, mro_of
from .source import Attr, Closure, Global, InstanceDict, Item, Scope, Source


def loaded_from_outside(traced: o.Traced, scope: Scope) -> list[Source]:
    """The sources that the statements and the ending load, as far as a guard can read them without running Python."""
    found: dict[Source, None] = {}
    for source in _loads([traced.statements, traced.ending]):
        if source.base is not None or type(source) in (Closure, Global):
            try:
                _read(source, scope)
            except LookupError:
                continue
            found[source] = None
    return list(found)


def _loads(part: Any) -> Iterator[Source]:
    if isinstance(part, o.Load):
        yield part.source
    elif isinstance(part, o.Part) and not isinstance(part, o.Const):  # (of which a dict may be the globals of a module)
        yield from _loads(part.values())
    elif isinstance(part, (list, tuple)):
        for item in part:
            yield from _loads(item)
    elif type(part) is dict:
        yield from _loads(list(part.values()))


def _read(source: Source, scope: Scope) -> Any:
    """The value; LookupError where it is not there, or where reading it may run Python."""
    if type(source) is Attr:
        obj = _read(source.base, scope)
        cls = type(obj)
        if any(source.key in members_of(c) or "__getattribute__" in members_of(c) for c in mro_of(cls)[:-1]):
            raise LookupError
        return (instance_dict(obj) or {})[source.key]
    if type(source) is Item:
        items = _read(source.base, scope)
        if type(items) not in (list, tuple) and not (type(items) is dict and type(source.key) is str):
            raise LookupError
        return items[source.key]
    if type(source) is InstanceDict:
        return instance_dict(_read(source.base, scope))
    if source.base is not None:
        raise LookupError
    try:
        return source.get(scope)
    except (ValueError, NameError):
        raise LookupError from None
