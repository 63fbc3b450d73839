"""Bound methods of C that come from outside: C's own, whatever the class of their object defines over them."""

import collections
import re

import pytest

import weft


class Row(list):
    def append(self, x):
        list.append(self, ("mine", x))

    def __len__(self):
        return 99


class Table(dict):
    def get(self, key, default=None):
        return "mine"

    def __getitem__(self, key):
        return "own"


class Word(str):
    def upper(self):
        return "mine"

    def __add__(self, other):
        return "plus"


class Thing:
    def __repr__(self):
        return "mine"


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code

    def __str__(self):
        return "mine"


MAKERS = {
    "super append": lambda: (Row([1]), lambda o: super(Row, o).append, (5,)),
    "append": lambda: (Row([1]), lambda o: o.append, (5,)),
    "super __len__": lambda: (Row([1]), lambda o: super(Row, o).__len__, ()),
    "pop": lambda: (Row([1, 2]), lambda o: o.pop, ()),
    "super get": lambda: (Table(a=1), lambda o: super(Table, o).get, ("a",)),
    "super __getitem__": lambda: (Table(a=1), lambda o: super(Table, o).__getitem__, ("a",)),
    "super upper": lambda: (Word("ab"), lambda o: super(Word, o).upper, ()),
    "super __add__": lambda: (Word("ab"), lambda o: super(Word, o).__add__, ("c",)),
    "lower": lambda: (Word("AB"), lambda o: o.lower, ()),
    "super __repr__": lambda: (Thing(), lambda o: super(Thing, o).__repr__, ()),
    "super __init__": lambda: (Failure(1, "a"), lambda o: super(Failure, o).__init__, ("b",)),
    "super __str__": lambda: (Failure(1, "a"), lambda o: super(Failure, o).__str__, ()),
}


def shown(o):
    own = list(list.__iter__(o)) if isinstance(o, list) else [(k, dict.get(o, k)) for k in o] if isinstance(o, dict) else o
    return re.sub("0x[0-9a-f]+", "", repr((own, getattr(o, "args", None))))


@pytest.mark.parametrize("name", MAKERS)
def test_called(name):
    def f(x, method, *args):
        return x + 1, method(*args)

    compiled = weft.compile(f, backend="eager")
    weft.compiler.reset()
    for _ in range(2):
        told = []
        for call in (f, compiled):
            o, bound, args = MAKERS[name]()
            told.append((re.sub("0x[0-9a-f]+", "", repr(call(weft.ones(1), bound(o), *args)[1])), shown(o)))
        assert told[0] == told[1]


class Ordered(collections.OrderedDict):
    def move(self):
        return "mine"


def test_two_methods_of_one_name_and_object():
    compiled = weft.compile(lambda x, method: (x + 1, method()), backend="eager")
    for cls in (collections.OrderedDict, dict, collections.OrderedDict):
        o = Ordered(a=1)
        for maker in (cls, dict, collections.OrderedDict):
            bound = maker.keys.__get__(o)
            assert type(compiled(weft.ones(1), bound)[1]) is type(bound())


def test_what_a_break_leaves_between_the_look_and_the_call():
    """Where the cell of `super()` was empty once, the call goes on from a method of C."""
    compiled = weft.compile(lambda x: (x + 1, Failure(3, "text")), backend="eager")
    cell = Failure.__init__.__closure__[0]
    assert compiled(weft.ones(1))[1].code == 3
    del cell.cell_contents
    try:
        with pytest.raises((RuntimeError, NameError), match="__class__"):  # (since 3.12 a NameError)
            compiled(weft.ones(1))
    finally:
        cell.cell_contents = Failure
    failure = compiled(weft.ones(1))[1]
    assert failure.code == 3 and failure.args == ("text",)
