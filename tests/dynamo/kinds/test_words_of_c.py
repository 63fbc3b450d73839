"""What C says of values that it refuses: the names of their classes, and who is asked; compiled as in plain Python."""

import collections
import functools
import math
import operator
import types

import numpy as np
import pytest

import weft


class List(list):
    pass


class Plain:
    def m(self):
        return 1


def pairs(n=2):
    for i in range(n):
        yield i, str(i)


EXPRESSIONS = """
# after a star
len(*np.int64(2)) | max(1, *np.int64(2)) | [1, *np.float32(2)] | dict(1, **np.float32(1)) | len(**weft.ones(1))
dict.__class_getitem__(1, **np.float32(1)) | Plain(*Plain()) | Plain(1, **Plain())
# methods made by reading them
dict.fromkeys.__name__ | int.from_bytes.__qualname__ | bytes.fromhex.__self__ | dict.fromkeys.__module__ | dict.fromkeys.nope
[].append.__name__ | ''.join.__qualname__
# names of classes
np.float32.nope | collections.deque.nope | object.__new__(np.float32) | dict.__new__(np.float32) | functools.partial.nope
len(np.int64) | iter(np.int64) | setattr(np.float32, 'a', 1)
# subclasses
List([1])[List([1])] | {}[List()] | [1][List()] | {List()} | collections.Counter('a')[collections.Counter('a')]
'ab'[List()] | (1, 2)[collections.defaultdict(list)] | List([1])[collections.OrderedDict()]
# methods that are loaded
False.bit_length(int, default=3) | b'a'.index(1, x=len) | 'a'.upper(1) | True.conjugate(k=1) | (1.5).hex(3)
Plain().m.__format__() | Plain().m.__reduce__(1) | Plain().m.__str__(1) | len.__format__() | pairs.__format__(1)
pairs.__format__(3j) | Plain().__format__(None) | pairs.__format__('a')
# places
[].index(1, 2, 'x') | [].index(1, None) | (1,).index(1, 0, None) | (1,).index(1, 1.5) | collections.deque().index(1, 'a')
# thrown
pairs().throw({1: 2}, 3) | pairs().throw(3, 'a') | pairs().throw(3, 'a', 4) | pairs().throw(ValueError(1), 2)
pairs().throw(int, ValueError)
# mapping proxies
p.__eq__(1) | p.__eq__({'a': 1}) | p == 1 | p < 1 | operator.or_(p, {1: 2}) | operator.or_(p, 1) | operator.or_(1, p)
operator.or_({1: 2}, p) | p.__or__(1) | p.__ror__('a') | p.__ror__(collections.OrderedDict(b=1)) | p.__lt__([])
operator.ior(p, {}) | p.__ne__(p)
"""
PROGRAMS = [e for line in EXPRESSIONS.strip().split("\n") if line[0] != "#" for e in line.split(" | ")]


def given(f):
    try:
        return f(weft.ones(2), types.MappingProxyType({"a": 1}))[1]
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("expression", PROGRAMS)
def test_compiled_as_in_plain_python(expression):
    scope = {"weft": weft, "np": np, "collections": collections, "functools": functools, "math": math, "operator": operator}
    scope |= {"List": List, "Plain": Plain, "pairs": pairs}
    body = f"    y = x * 2\n    try:\n        found = {expression}\n    except Exception as e:\n        found = type(e), str(e)\n"
    exec(f"def f(x, p):\n{body}    return y, found", scope)
    weft.compiler.reset()
    expected, found = given(scope["f"]), given(weft.compile(scope["f"], backend="eager"))
    assert type(found) is type(expected) and found == expected
