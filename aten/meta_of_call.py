"""What `Op.meta` answers: above both dispatch, which shape rules share with eager calls, and the Tracers that composites run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aten.op
from aten import _native, dispatch
from aten.dtype import DType
from aten.meta import Meta
from aten.op import Op
from aten.symbolic import unknown

# Answers for known sizes, which follow from the arguments alone: programs repeat calls, layer by layer and graph by graph.
_MOST = 1 << 13
_answers: dict[Any, Any] = {}
_PLAIN = frozenset({int, float, complex, bool, str, type(None), type(...), DType, type(_native.Device("cpu"))})


class _Unknown(Exception):
    """An argument that says nothing by its value: a symbol, a tensor, a generator."""


class _Given:
    """The answer is the Meta of this argument: the op returned the argument itself."""

    __slots__ = ("place",)

    def __init__(self, place: int):
        self.place = place


def meta_call(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Result Metas of a call on Metas: by the shape rule, or by running the definition of a composite on Tracers. It is the very
    Meta of an argument if the definition returns that argument, and else one that nobody has."""
    if not op.own or dispatch.stack.top or dispatch.stack.mode_top or unknown.are_allowed():
        return _answer(op, args, kwargs)
    try:
        named = tuple([(name, _key(value)) for name, value in kwargs.items()]) if kwargs else ()
        key = (op, _native.ambient(), tuple(map(_key, args)), named)
    except _Unknown:
        return _answer(op, args, kwargs)
    found = _answers.get(key)
    if found is None:
        _native.asked_for_tracer()
        found = _answer(op, args, kwargs)
        if _native.asked_for_tracer() or not _is_known(found):  # (it warned, say)
            return found
        if len(_answers) >= _MOST:
            _answers.clear()
        place = next((i for i, a in enumerate(args) if a is found), None)
        _answers[key] = _fresh(found) if place is None else _Given(place)
        return found
    return args[found.place] if type(found) is _Given else _fresh(found)


def _key(value: Any) -> Any:
    """What two arguments have in common for which every op answers the same."""
    t = type(value)
    if t is Meta:
        sizes, strides = value.sizes, value.strides
        for n in sizes:
            if type(n) is not int:
                raise _Unknown
        for n in strides:
            if type(n) is not int:
                raise _Unknown
        if type(value.offset) is not int:
            raise _Unknown
        return value.dtype, value.device, sizes, strides, value.offset, value.requires_grad
    if t in _PLAIN:
        return t, value
    if t is tuple or t is list:
        return t, *map(_key, value)
    if t is slice:
        return t, _key(value.start), _key(value.stop), _key(value.step)
    raise _Unknown


def _is_known(answer: Any) -> bool:
    """Whether no number of an answer is one that data decides."""
    if isinstance(answer, (tuple, list)):
        return all(map(_is_known, answer))
    try:
        _key(answer)
    except _Unknown:
        return False
    return True


def _fresh(answer: Any) -> Any:
    """An equal answer, which whoever gets it may change."""
    t = type(answer)
    if t is Meta:
        return Meta(answer.dtype, answer.device, answer.sizes, answer.strides, answer.offset, answer.requires_grad)
    if t is tuple or t is list:
        return t(map(_fresh, answer))
    return answer._make(map(_fresh, answer)) if hasattr(answer, "_make") else answer


def _answer(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    public = op.schema.bind(args, kwargs, op.name)
    if "scalars" in op.tags and op.kind == "core":
        public = dispatch.numbers_alone(op, public)
    if op.refuses is not None:
        op.refuses(public)
    if op.kind in ("composite", "inplace") or (op.special_when is not None and op.special_when(*public)):
        from aten.transforms.tracer import meta_of_call

        return meta_of_call(op, public)
    arguments = dispatch.normalize(op, tuple(map(dispatch._meta_argument, public)))
    made = op.function(*map(dispatch._meta_argument, arguments))
    return _fresh(made) if any(made is a for a in args) else dispatch._public(op, made)


aten.op._meta = meta_call
