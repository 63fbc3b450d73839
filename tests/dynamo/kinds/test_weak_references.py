"""Weak references beside each other and beside those that are made inside: which are one object, which are equal."""

import weakref

import pytest

import weft


class Thing:
    pass


class Alike:
    def __eq__(self, other):
        return type(other) is Alike


class Derived(weakref.ref):
    pass


things = [Thing(), Thing(), Alike(), Alike()]
dead = [weakref.ref(Thing()), weakref.ref(Thing())]
PAIRS = {
    "one": (weakref.ref(things[0]), weakref.ref(things[0])),
    "of two": (weakref.ref(things[0]), weakref.ref(things[1])),
    "of two that are equal": (weakref.ref(things[2]), weakref.ref(things[3])),
    "with a function": (weakref.ref(things[0]), weakref.ref(things[0], print)),
    "of a class of its own": (weakref.ref(things[0]), Derived(things[0])),
    "dead": tuple(dead),
    "dead and alive": (dead[0], weakref.ref(things[0])),
    "dead and the same": (dead[0], dead[0]),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_two_that_are_given(pair):
    def f(x, a, b):
        return a is b, a == b, a != b, x + 1

    assert weft.compile(f)(weft.ones(1), *pair)[:3] == f(weft.ones(1), *pair)[:3]


@pytest.mark.parametrize("given", [p[1] for p in PAIRS.values()], ids=PAIRS)
@pytest.mark.parametrize("thing", things[:2])
def test_one_that_is_made_beside_one_that_is_given(thing, given):
    def f(x, thing, given):
        made = weakref.ref(thing)
        return made is given, given is made, made == given, made is weakref.ref(thing), weakref.ref(thing, print) is given, x + 1

    assert weft.compile(f)(weft.ones(1), thing, given)[:5] == f(weft.ones(1), thing, given)[:5]


def test_what_refers_to_an_argument_is_one_with_it():
    def f(thing, given):
        return weakref.ref(thing) == given, weakref.getweakrefcount(thing), weakref.getweakrefs(thing) == [given]

    thing = Thing()
    given = weakref.ref(thing)
    compiled = weft.compile(f)
    for _ in range(2):
        assert compiled(thing, given) == f(thing, given) == (True, 1, True)
