"""Where C looks at the classes that a class comes from, no `__subclasscheck__` or `__instancecheck__` of a metaclass runs; and a
class that comes to be a sequence or mapping for patterns is seen."""

import collections.abc

import pytest

import weft
from tests.dynamo.objects.twice import check, listed

x = weft.ones(3)
PROGRAMS: list = []
program = listed(PROGRAMS)


def denies(asked):
    class Meta(type):
        def __subclasscheck__(cls, other):
            asked.append(other.__name__)
            return False

        def __instancecheck__(cls, value):
            asked.append(value)
            return False

    return Meta


@program
def an_object_is_made(C):
    asked = []

    class A(metaclass=denies(asked)):
        def __init__(self, k):
            made.append(k)
            self.k = k

    made = []

    @C
    def f(x):
        a = A(2)
        return x * a.k, len(made)

    return f(x), f(x), asked


@program
def an_exception_is_caught(C):
    class Error(Exception, metaclass=denies([])):  # (`raise` may ask; `except` does not)
        pass

    class Inner(Error):
        pass

    @C
    def f(x, kind):
        try:
            raise kind("e")
        except Error:
            return x * 2
        except Exception:
            return x * 3

    return [f(x, kind) for kind in (Error, Inner, KeyError)]


@program
def an_exception_gets_another_base(C):
    class First(Exception):
        pass

    class Second(Exception):
        pass

    class Error(First):
        pass

    @C
    def f(x):
        try:
            raise Error("e")
        except First:
            return x * 2
        except Second:
            return x * 3

    found = [f(x)]
    Error.__bases__ = (Second,)
    return [*found, f(x)]


@program
def the_operand_of_a_subclass_answers_first(C):
    asked = []

    class A(metaclass=denies(asked)):
        def __add__(self, other):
            return 2

        def __eq__(self, other):
            return "left"

        __hash__ = None

    class B(A):
        def __radd__(self, other):
            return 3

        def __eq__(self, other):
            return "right"

    @C
    def f(x, a, b):
        return x * (a + b), a == b

    return f(x, A(), B()), f(x, B(), A()), asked


@program
def a_class_becomes_a_sequence(C):
    class Pair:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return [3, 4][i]

    @C
    def f(x, value):
        match value:
            case [a, b]:
                return x * a * b
            case _:
                return x

    found = [f(x, Pair()), f(x, (1, 2)), f(x, "ab")]
    collections.abc.Sequence.register(Pair)
    return [*found, f(x, Pair())]


@program
def a_class_becomes_a_mapping(C):
    class Pair:
        def keys(self):
            return ["k"]

        def __getitem__(self, key):
            return 5

        def get(self, key, default=None):
            return 5

        def __len__(self):
            return 1

    @C
    def f(x, value):
        match value:
            case {"k": k}:
                return x * k
            case _:
                return x

    found = [f(x, Pair()), f(x, {"k": 2})]
    collections.abc.Mapping.register(Pair)
    return [*found, f(x, Pair())]


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
def test_compiled_is_plain(program):
    check(program)
