"""Operations over objects of Python's, NumPy's and weft's own classes, inside of a handler and beside a tensor operation."""

# ruff: noqa: B018
import array
import collections
import contextvars
import ctypes
import datetime
import decimal
import enum
import fractions
import functools
import io
import ipaddress
import numbers
import operator
import pathlib
import random
import re
import string
import struct
import threading
import types
import uuid
import weakref
import zoneinfo

import numpy as np
import sympy

import weft
from tests.review.harness import check_handled

X = weft.ones(1)

OBJECTS = {
    "Decimal": lambda: decimal.Decimal(1),
    "Fraction": lambda: fractions.Fraction(1, 2),
    "date": lambda: datetime.date(2020, 1, 1),
    "timedelta": lambda: datetime.timedelta(1),
    "array": lambda: array.array("i", [1]),
    "deque": lambda: collections.deque([1]),
    "memoryview": lambda: memoryview(b"a"),
    "Pattern": lambda: re.compile("a"),
    "Match": lambda: re.match("(a)", "a"),
    "Path": lambda: pathlib.Path("/a"),
    "SimpleNamespace": lambda: types.SimpleNamespace(a=1),
    "float64": lambda: np.float64(1),
    "float32": lambda: np.float32(2),
    "int64": lambda: np.int64(3),
    "np.bool": lambda: np.bool_(True),
    "np.str": lambda: np.str_("a"),
    "np.dtype": lambda: np.dtype("f4"),
    "mappingproxy": lambda: types.MappingProxyType({"a": 1}),
    "itemgetter": lambda: operator.itemgetter(0),
    "partial": lambda: functools.partial(max, 1),
    "OrderedDict": lambda: collections.OrderedDict(a=1),
    "Counter": lambda: collections.Counter("a"),
    "ChainMap": lambda: collections.ChainMap({"a": 1}),
    "UserDict": lambda: collections.UserDict(a=1),
    "bytearray": lambda: bytearray(b"a"),
    "slice": lambda: slice(1),
    "Ellipsis": lambda: Ellipsis,
    "NotImplemented": lambda: NotImplemented,
    "object": lambda: object(),
    "type": lambda: type,
    "class int": lambda: int,
    "len": lambda: len,
    "Exception": lambda: Exception("a"),
    "datetime": lambda: datetime.datetime(2020, 1, 1),
    "timezone": lambda: datetime.UTC,
    "list_iterator": lambda: iter([1]),
    "generator": lambda: (i for i in [1]),
    "dtype": lambda: weft.float32,
    "device": lambda: weft.device("cpu"),
    "Size": lambda: weft.Size([1]),
    "Generator": lambda: weft.Generator(),
    "tensor": lambda: weft.tensor(2.0),
    "UUID": lambda: uuid.UUID(int=1),
    "IPv4Address": lambda: ipaddress.ip_address("1.1.1.1"),
    "Enum": lambda: enum.Enum("E", "a").a,
    "ZoneInfo": lambda: zoneinfo.ZoneInfo("UTC"),
    "array of none": lambda: array.array("d"),
    "Struct": lambda: struct.Struct("i"),
    "Random": lambda: random.Random(0),
    "Lock": lambda: threading.Lock(),
    "Template": lambda: string.Template("$a"),
    "StringIO": lambda: io.StringIO("a"),
    "c_int": lambda: ctypes.c_int(3),
    "WeakKeyDictionary": lambda: weakref.WeakKeyDictionary(),
    "ContextVar": lambda: contextvars.ContextVar("a"),
    "Symbol": lambda: sympy.Symbol("x"),
    "frozenset": lambda: frozenset([1]),
    "range": lambda: range(2),
}

NAMES = ("__len__", "__iter__", "__call__", "__getitem__", "__float__", "__index__", "keys", "shape", "foo", "__array__")
ABSTRACT = (
    collections.abc.Mapping,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Hashable,
    collections.abc.Callable,
    collections.abc.Sized,
    numbers.Number,
)

OPERATIONS = {
    "len": len,
    "bool": bool,
    "callable": callable,
    "+1": lambda a: a + 1,
    "1+": lambda a: 1 + a,
    "*2": lambda a: a * 2,
    "-": lambda a: -a,
    "abs": abs,
    "float": float,
    "int": int,
    "[0]": lambda a: a[0],
    "['a']": lambda a: a["a"],
    "in": lambda a: 1 in a,
    "==": lambda a: a == a,
    "<": lambda a: a < a,
    "hash": lambda a: hash(a) == hash(a),
    "str": str,
    "iter": lambda a: type(iter(a)).__name__ if not isinstance(a, (list, tuple, dict, str)) else 0,
    "call": lambda a: a() if a is not type else 0,
    "attr": lambda a: a.foo,
    "hasattr": lambda a: [hasattr(a, q) for q in NAMES],
    "isinstance": lambda a: [isinstance(a, q) for q in ABSTRACT],
    "fstr": lambda a: f"{a}",
    "round": round,
    "with": lambda a: a.__enter__,
    "setattr": lambda a: setattr(a, "zz", 1),
    "index": lambda a: [1, 2, 3, 4, 5][a],
    "matmul": lambda a: a @ a,
    "floordiv": lambda a: a // 2,
    "pow": lambda a: a**2,
    "np.asarray": lambda a: np.asarray(a).shape,
    "tensor of it": lambda a: weft.tensor(a).shape,
    "X*a": lambda a: (X * a).item(),
    "X[a]": lambda a: X[a].shape,
}


def case(operation, make):
    return lambda backend: check_handled(operation, lambda: (make(),), backend)


def cases() -> dict:
    return {
        f"{op}|{name}".replace(" ", "_"): case(operation, make)
        for name, make in OBJECTS.items()
        for op, operation in OPERATIONS.items()
    }
