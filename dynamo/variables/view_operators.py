"""Operators of the views of a dict's keys and items, which give sets: in the order of what C does to make them."""

from __future__ import annotations

import _operator as operator

from dynamo.variables.base import Variable, one_by_one
from dynamo.variables.mapping import MISSING, VIEWS, DictView

UPDATES = {operator.or_: "update", operator.sub: "difference_update", operator.xor: "symmetric_difference_update"}


def combined(frame, op, left: Variable, right: Variable) -> Variable:
    """left op right, of which one is such a view."""
    if op is operator.and_:
        return common(frame, left, right)
    if op is operator.xor and isinstance(left, DictView) and isinstance(right, DictView) and left.kind == right.kind == "items":
        return items_of_one(frame, left.mapping, right.mapping)
    made = frame.world.known(set).call(frame, [left.made_of() if isinstance(left, DictView) else left], {})
    made.method(frame, UPDATES[op], [right], {})
    return made


def common(frame, left: Variable, right: Variable) -> Variable:
    """What both have, in the order of the one that C walks over."""
    view, other = (left, right) if isinstance(left, DictView) else (right, left)
    if other.python_type() is set and len(view.unpack(frame)) <= len(other.unpack_unordered(frame)):
        view, other = other, view
    elif issubclass(other.python_type(), VIEWS) and len(other.unpack(frame)) > len(view.unpack(frame)):
        view, other = other, view
    return frame.values.set_of(frame, [v for v in one_by_one(frame, other) if frame.ops.contains(frame, view, v)])


def items_of_one(frame, first, second) -> Variable:
    """The items that one of two dicts has alone: those of the second, then what is left of the first."""
    found, gone = [], set()
    for key, value in second.pairs(frame):
        mine = first.lookup(frame, key)
        if mine is not MISSING and frame.ops.equals(frame, mine, value):
            gone.add(first.key(frame, key))
        else:
            found.append(frame.values.tuple_([key, value]))
    left = [frame.values.tuple_(p) for p in first.pairs(frame) if first.key(frame, p[0]) not in gone]
    return frame.values.set_of(frame, [*found, *left])
