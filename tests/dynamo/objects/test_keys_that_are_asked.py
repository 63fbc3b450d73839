"""Keys of containers whose classes define `__hash__` and `__eq__`: they hear what plain Python asks them, in the first call too."""

import collections
import enum

import numpy as np
import pytest

import weft

heard: list[str] = []


@weft.compiler.disable
def note(what):
    heard.append(what)


class Hears(bytes):
    def __getattribute__(self, name):
        note("read")

    def __hash__(self):
        return hash(self.v)


class Text(str):
    def __eq__(self, other):
        note("eq")
        return str.__eq__(self, other)

    def __hash__(self):
        note("hash")
        return str.__hash__(self)


class Number(int):
    def __hash__(self):
        note("hash")
        return 5


class Shouts(str):
    def m(self):
        return self + "!"


class Plain(enum.IntEnum):
    A = 1
    B = 2


class Asked(enum.IntEnum):
    A = 1
    B = 2

    def __hash__(self):
        note("hash")
        return 7


KEYS = {
    "hears": lambda: Hears(2),
    "text": lambda: Text("a"),
    "number": lambda: Number(3),
    "method": lambda: Shouts("q"),
    "enum": lambda: Plain.A,
    "asked": lambda: Asked.A,
    "float64": lambda: np.float64(2.5),
    "str_": lambda: np.str_("s"),
}


class Dict(dict):
    pass


class Set(set):
    pass


def uses(k, k2):
    d, s, fs, d1 = {k: 1, 2: 3}, {k, 2}, frozenset([k, 2]), Dict({k: 4})
    s1, dd, od = Set([k]), collections.defaultdict(int, {k: 2}), collections.OrderedDict({k: 2})
    return {
        "dict": lambda x: (x + 1, d[k], k in d, d.get(k2)),
        "set": lambda x: (x + 1, k in s, k2 in s, len(s)),
        "frozenset": lambda x: (x + 1, k in fs, k2 in fs),
        "dict subclass": lambda x: (x + 1, d1[k], d1.get(k2, 0)),
        "set subclass": lambda x: (x + 1, k in s1, k2 in s1),
        "defaultdict": lambda x: (x + 1, dd[k], dd[k2], list(dd)),
        "OrderedDict": lambda x: (x + 1, od[k], [type(q) for q in od]),
        "iterated": lambda x: (x + 1, [q.m() if hasattr(q, "m") else type(q) for q in d]),
        "types": lambda x: (x + 1, [type(q) for q in s], [type(q) for q in sorted(fs, key=str)]),
    }


@pytest.mark.parametrize("use", uses(1, 1))
@pytest.mark.parametrize("kind", KEYS)
def test_keys_hear_what_python_asks_them(kind, use):
    f = uses(KEYS[kind](), KEYS[kind]())[use]

    def told(function):
        heard.clear()
        try:
            return repr(function(weft.ones(1))), list(heard)
        except TypeError as e:
            return repr(e), list(heard)

    compiled = weft.compile(f)
    assert [told(compiled) for _ in range(2)] == [told(f) for _ in range(2)]


class Hears5:
    """(All of one hash.)"""

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        heard.append((self.v, other.v))  # (traced)
        return self.v == other.v

    def __hash__(self):
        return 5


@pytest.mark.parametrize("kind", [dict.fromkeys, set, frozenset, collections.OrderedDict.fromkeys, Set])
def test_keys_of_one_hash_are_not_compared_where_the_container_is_only_read(kind):
    held = kind([Hears5(1), Hears5(2)])
    compiled = weft.compile(lambda x: (x * len(held), [k.v for k in held], Hears5(1) in held))
    plain = compiled.__wrapped__

    def told(function):
        heard.clear()
        return repr(function(weft.ones(1))), list(heard)

    assert [told(compiled) for _ in range(2)] == [told(plain) for _ in range(2)]


def put(held, x):
    held[3] = x


@pytest.mark.parametrize(
    "kind, add",
    [
        (dict.fromkeys, put),
        (lambda keys: collections.defaultdict(int, dict.fromkeys(keys)), put),
        (set, lambda held, x: held.add(3)),
    ],
    ids=["dict", "defaultdict", "set"],
)
def test_keys_that_have_become_equal_all_stay(kind, add):
    class Key:
        same = False

        def __eq__(self, other):
            return Key.same

        def __hash__(self):
            return 7

    def f(x, held):
        add(held, x)
        return x * len(held)

    held = kind([Key(), Key()])
    Key.same = True
    assert weft.compile(f)(weft.ones(1), held).item() == 3
    assert len(held) == 3
