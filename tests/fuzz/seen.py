"""What can be seen of values: kinds, contents, attributes of objects, and which of them are one object."""

from __future__ import annotations

import collections
import contextlib
import enum
import io
import re
import sys
import types
import warnings

import numpy as np

import weft
from aten import overrides

# What a text may say otherwise: an address, and what was being called where the stack ended.
ADDRESS = re.compile(r"0x[0-9a-f]+|(?<=maximum recursion depth exceeded) (?:while calling|in|during)[ \w]+")
CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, types.GeneratorType, types.CodeType)
PLAIN = (int, float, str, bool, type(None), bytes, complex, range)
NUMBERS = (np.number, np.bool_)  # which one of equal ones it is, Python does not promise of those either (docs/differences.md)
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class of the program


def seen(value, memo: dict | None = None, depth: int = 0):
    """A value as nested lists. An object met twice is a reference to where it was met first."""
    memo = {} if memo is None else memo
    if type(value) in PLAIN or issubclass(type(value), NUMBERS) and not type(value).__flags__ & HEAP_TYPE:
        return [type(value).__name__, ADDRESS.sub("", repr(value))]
    if id(value) in memo:
        return ["again", memo[id(value)][0]]
    if type(value) is not frozenset:  # (of equal ones, as of numbers, it may be any)
        memo[id(value)] = len(memo), value  # kept alive: its address is its name
    if depth > 12:
        return "..."
    down = lambda v: seen(v, memo, depth + 1)
    is_a = lambda kinds: issubclass(type(value), kinds)  # isinstance asks the object, which the program may hear
    if is_a(type):
        return ["class", value.__name__]
    if is_a(CODE):
        return [type(value).__name__, getattr(value, "__name__", "")]
    content = contents(value, is_a, down)
    if (attributes := own_dict(value)) is not None:
        content = [*content, [[str(k), down(v)] for k, v in attributes.items()]]
    return [type(value).__name__, *content]


def contents(value, is_a, down) -> list:
    """What lies in a value, beside its attributes."""
    if is_a(weft.Tensor):
        data = value.detach()
        if any(overrides.kind_of(type(t)) & overrides.DISPATCH for t in (value, data)):
            numbers = ""  # (the memory of a wrapper itself has no meaning, also where its `detach` shows it)
        else:
            numbers = repr(data.tolist()) if data.numel() <= 64 else repr(data.double().sum().item())
        return [str(value.dtype), str(tuple(value.shape)), value.requires_grad, value.is_leaf, numbers]
    if is_a(np.ndarray):
        return [str(value.dtype), str(value.shape), repr(value.tolist())]
    if is_a(dict):
        return [[[down(k), down(v)] for k, v in dict.items(value)]]
    for kind in (list, tuple, collections.deque):
        if is_a(kind):
            return [[down(v) for v in kind.__iter__(value)]]
    for kind in (set, frozenset):
        if is_a(kind):
            return [sorted(map(str, map(down, kind.__iter__(value))))]
    if is_a(BaseException):
        return [down(value.args), str(value), type(value.__cause__).__name__, type(value.__context__).__name__]
    if is_a(enum.Enum):
        return [value.name]
    if is_a(PLAIN):
        base = next(t for t in (int, float, str, bytes, complex) if is_a(t))
        return [base.__repr__(value)]
    if type(value).__flags__ & HEAP_TYPE:  # a class of the program: its attributes say it
        return [down(slot(value, n)) for n in slots(type(value))]
    return [ADDRESS.sub("", repr(value))[:300]]


def own_dict(value) -> dict | None:
    """The attributes of an object, without asking it."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def slot(value, name: str):
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


def slots(cls: type) -> list[str]:
    names = []
    for c in cls.__mro__:
        given = c.__dict__.get("__slots__", ())
        names += [given] if isinstance(given, str) else list(given)
    return [n for n in names if not n.startswith("__")]


def attempt(f, *args, memo: dict | None = None, **kwargs) -> list:
    """The result of a call or its exception, with what it printed and what became of the arguments."""
    out = io.StringIO()
    memo = {} if memo is None else memo
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("ignore")
        try:
            result = seen(f(*args, **kwargs), memo)
        except Exception as e:
            chain = [type(c).__name__ if c is not None else "" for c in (e.__cause__, e.__context__)]
            result = ["RAISED", type(e).__name__, ADDRESS.sub("", str(e))[:200], *chain]
            del e
    return [result, seen(args, memo), ADDRESS.sub("", out.getvalue()), str(sys.exc_info()[0])]
