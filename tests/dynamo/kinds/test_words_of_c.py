"""What C says of values that it refuses: the names of their classes, and who is asked; compiled as in plain Python."""

import collections
import copy
import enum
import functools
import math
import operator
import re
import sys
import types

import numpy as np
import pytest

import weft


class List(list):
    pass


class Text(str):
    pass


class Whole(int):
    pass


class Number(float):
    pass


class Pair(tuple):
    pass


class Level(enum.IntEnum):
    LOW = 1


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
List([1])[List([1])] | {}[List()] | [1][List()] | {List()} | collections.Counter('a')[collections.Counter('a')] | 'ab'[List()]
(1, 2)[collections.defaultdict(list)] | List([1])[collections.OrderedDict()]
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
# searched
operator.countOf(np.bool_(True), 1) | operator.countOf(weft.tensor(2), 1) | operator.indexOf(3, 1) | operator.countOf([1, 1], 1)
# repeated
List([1]) * ... | Text('a') * iter([1]) | ... * List([1]) | List([1]).__mul__(...) | operator.imul(List([1]), 'a')
List([1]) * Whole(2)
# keywords that are no strings
iter([]).__gt__(1, **{1: 2}) | slice(**{1: 2}) | Plain(**{1: 2}) | Plain().m(**{1: 2}) | DeprecationWarning(1, b=2, **{3: 4})
dict(**{1: 2})
# attributes of C's classes
type.__setattr__(str, True, 1) | type.__setattr__(str, 'a', 1) | operator.itemgetter(0).__format__(Plain)
operator.itemgetter(0).__format__('') | Plain().m.__call__(*7) | Plain().m.__call__(1) | type(Plain().m.__call__)
# places in sequences
collections.deque([1]).__getitem__(int) | collections.deque([1])[int] | collections.deque([1]).__setitem__(int, 1)
'ab'[Text('a')] | collections.deque([1]).__delitem__(int) | collections.deque([1]).__getitem__(0) | Text('ab')[Text('a')]
b'ab'[Whole(1)] | range(5)[Text('a')] | np.array(2.0)[Plain()] | (1,)[np.array(2.0)] | [1, 2, 3][np.array(2)]
(1,).__getitem__(np.array(2.0)) | list(np.arange(3)[len:np.arange(3)]) | list(np.arange(3)[1:np.arange(3)])
# who is asked first
enumerate(3, int) | enumerate(True, object) | enumerate(3, 2)
# operators called by name
[1].__eq__(List([1])) | [1].__add__(List([2])) | (1,).__lt__(Pair((1, 2))) | {1: 2}.__ror__(collections.OrderedDict(a=1))
weft.Size([2]).__add__(slice(None)) | weft.Size([2]) + slice(None) | weft.Size([2]).__mul__('a')
np.float32(1.5).__eq__(np.array(2.0)) | np.float32(1.5).__add__(weft.tensor(2)) | Number(2.5).__rpow__(1, 'a')
Number(2.5).__pow__(2, 3) | Whole(2).__pow__(3, 5)
# lengths
operator.length_hint(weft.tensor(True)) | operator.length_hint([1, 2]) | operator.length_hint(3, 4)
operator.length_hint(Plain(), 'a')
# numbers of NumPy beside those of subclasses
np.float32(1.5) + Whole(4) | Whole(4) * np.float32(1.5) | np.int8(3) - Level.LOW | np.float16(2) / Number(2)
np.float32(1) ^ Whole(1) | np.int8(3) == Whole(3) | np.float32(1.5) < Number(2)
list(np.arange(3, dtype=np.int8).__eq__(Level.LOW)) | (np.arange(3, dtype=np.int8) + Level.LOW).dtype
np.maximum(np.arange(3, dtype=np.int8), Level.LOW).dtype
# which object it is
p is p | a is b | a is a | [a].index(b) | range(3) is range(3)
# what is counted or asked before anything is done
{}.pop(slice(None)) | {}.pop([], 3) | {1: 2}.pop([]) | collections.OrderedDict().pop([]) | collections.defaultdict(list).pop([])
types.MappingProxyType({}).pop([]) | again(List([1, 2]), 1, 2) | again(Text('a'), 1) | range([], 1, 1, 1)
again(collections.Counter('a'), 1, 2)
again(List([1, 2]), [3])
"""
PROGRAMS = [e for line in EXPRESSIONS.strip().split("\n") if line[0] != "#" for e in line.split(" | ")]


def again(value, *args):
    """The value behind another `__init__`, which may refuse."""
    try:
        value.__init__(*args)
    except TypeError as e:
        return value, str(e)
    return value


ADDRESS = re.compile("0x[0-9a-f]+")


def given(f):
    try:
        return f(weft.ones(2), types.MappingProxyType({"a": 1}), np.float32(1.5), np.float32(1.5))[1]
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("expression", PROGRAMS)
def test_compiled_as_in_plain_python(expression):
    scope = {
        "weft": weft,
        "np": np,
        "collections": collections,
        "functools": functools,
        "math": math,
        "operator": operator,
        "types": types,
    }
    scope |= {c.__name__: c for c in (List, Text, Whole, Number, Pair, Level, Plain, pairs, again)}
    body = f"    y = x * 2\n    try:\n        found = {expression}\n    except Exception as e:\n        found = type(e), str(e)\n"
    exec(f"def f(x, p, a, b):\n{body}    return y, found", scope)
    weft.compiler.reset()
    expected, found = given(scope["f"]), given(weft.compile(scope["f"], backend="eager"))
    assert type(found) is type(expected) and ADDRESS.sub("", repr(found)) == ADDRESS.sub("", repr(expected))


class Above:
    def m(self):
        return 1


class Below(Above):
    def m(self):
        return super().m() + 1

    def start(self):
        return super().__thisclass__, super().__self_class__


def test_super_of_no_object_and_its_own_attributes():
    def called(x, o, name):
        try:
            found = getattr(Below, name)(o)
        except (AttributeError, TypeError) as e:
            found = type(e), str(e)
        return x + 1, found

    def asked(x, o):
        found = []
        for name in ("__thisclass__", "__self__", "__self_class__", "m", "nope", "__class__"):
            try:
                found.append(str(getattr(super(Below, o), name))[:40])
            except (AttributeError, TypeError) as e:
                found.append(str(e))
        return x + 1, found

    weft.compiler.reset()
    for o in (Below(), None, 3, Below, None):
        if o is None and sys.version_info >= (3, 12):  # (Python itself answers in two ways there)
            assert weft.compile(asked)(weft.zeros(1), o)[1] == asked(weft.zeros(1), o)[1]
            continue
        for name in ("m", "start"):
            assert weft.compile(called)(weft.zeros(1), o, name) == called(weft.zeros(1), o, name)
        assert weft.compile(asked)(weft.zeros(1), o)[1] == asked(weft.zeros(1), o)[1]


class Counted:
    """An iterator that tells how far it was asked."""

    def __init__(self, items):
        self.items, self.asked = items, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.asked == len(self.items):
            raise StopIteration
        self.asked += 1
        return self.items[self.asked - 1]


def test_sum_asks_for_no_more_than_it_adds():
    def f(x, items, start):
        it, found = Counted(items), None
        made = (i for i in items)
        try:
            found = sum(it, start)
        except TypeError as e:
            found = str(e)
        try:
            sum(made, start)
        except TypeError:
            found = found, list(made)
        return x + 1, found, it.asked

    weft.compiler.reset()
    for items, start in (([1, "a", 2], 0), ([1, 2.5, 3], 0), ([0.1] * 10, 0.0), (["a"], 0), ([[1], [2], 3, 4], [])):
        assert weft.compile(f)(weft.zeros(1), items, start)[1:] == f(weft.zeros(1), items, start)[1:]
    x = [weft.ones(2), 2, weft.ones(2)]
    assert weft.equal(weft.compile(lambda x: sum(x))(x), sum(x))


def test_deepcopy_asks_the_hook_of_a_class():
    class Hooked:
        def __init__(self):
            self.a = [1]

        def __getattr__(self, name):
            if name == "__deepcopy__":
                return lambda memo: "copied"
            raise AttributeError(name)

    f = lambda x, o: (x + 1, copy.deepcopy(o))
    assert weft.compile(f)(weft.zeros(1), Hooked())[1] == "copied"


class TextWithANumber(str):
    def __float__(self):
        return 1.5

    def __complex__(self):
        return 9j


@pytest.mark.parametrize("cls", [int, float, complex])
def test_text_that_has_a_number_of_its_own(cls):
    def f(x, text):
        return x * 2, cls(text)

    assert str(weft.compile(f)(weft.ones(1), TextWithANumber("3"))) == str(f(weft.ones(1), TextWithANumber("3")))
