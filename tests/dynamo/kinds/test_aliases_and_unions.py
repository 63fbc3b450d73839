"""Generic aliases of classes of the program's (`A[int]`), which ask the class; unions of classes, each of which is asked."""

import abc
import types

import pytest

import weft
from tests.dynamo.objects.twice import check, listed

x = weft.ones(3)
PROGRAMS: list = []
program = listed(PROGRAMS)


@program
def attributes_of_an_alias_are_those_of_the_class(C):
    class A:
        k = 1
        __class_getitem__ = classmethod(types.GenericAlias)

        @classmethod
        def made(cls):
            return cls.k

    alias = A[int]

    @C
    def f(x):
        return x * alias.k, alias.made(), alias.__origin__ is A, alias.__args__

    found = [f(x)]
    A.k = 2
    found.append(f(x))
    A.made = classmethod(lambda cls: 7)
    return [*found, f(x)]


@program
def a_class_is_registered_with_one_of_a_union(C):
    class Kind(metaclass=abc.ABCMeta):  # noqa: B024
        flag = True

    class Late:
        pass

    @C
    def f(x, value):
        return x * isinstance(value, Kind | int), issubclass(type(value), Kind | int)

    found = [f(x, Late()), f(x, 1)]
    Kind.register(Late)
    return [*found, f(x, Late())]


@program
def a_class_gets_a_base_of_a_union(C):
    class Old:
        pass

    class New:
        pass

    class Late(Old):
        pass

    @C
    def f(x, value):
        return x * isinstance(value, New | None), issubclass(Late, int | New)

    found = [f(x, Late()), f(x, None)]
    Late.__bases__ = (New,)
    return [*found, f(x, Late())]


@program
def a_metaclass_answers_for_one_of_a_union(C):
    class Meta(type):
        def __instancecheck__(cls, value):
            return True

        def __subclasscheck__(cls, other):
            return False

    class A(metaclass=Meta):
        pass

    @C
    def f(x, value):
        return x * isinstance(value, A | int), issubclass(type(value), A | int), isinstance(value, list[int] | int)

    def outcome(value):
        try:
            return f(x, value)
        except TypeError as e:
            return str(e)

    found = [outcome("a"), outcome(1)]
    Meta.__instancecheck__ = lambda cls, value: False
    return [*found, outcome("a")]


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.__name__ for p in PROGRAMS])
def test_compiled_is_plain(program):
    check(program)
