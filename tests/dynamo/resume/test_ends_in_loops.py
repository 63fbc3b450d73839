"""Objects whose end is seen, by a `__del__` or a weak reference, in frames that a break in a loop has taken apart."""

import weakref

import pytest

import weft

log: list = []


@weft.compiler.disable
def outside():
    pass


class Thing:
    pass


class Told:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        log.append(self.name)


def bound_in_each_turn(x):
    for i in range(3):
        outside()
        told = Told(i)  # noqa: F841
        log.append("bound")
    log.append("after")
    return x + 1


def of_a_class_made_here(x):
    class Here:
        def __del__(self):
            log.append("ended")

    for _ in range(3):
        outside()
        log.append("turn")
        here = Here()  # noqa: F841
        log.append("bound")
    return x + 1


def referred_to_and_kept(x):
    for turn in (0, 1):
        outside()
        if turn:
            thing = Thing()
    reference = weakref.ref(thing)
    outside()
    return x + 1, reference() is None


def referred_to_and_deleted(x):
    for turn in (0, 1):
        outside()
        if turn:
            thing = Thing()
    reference = weakref.ref(thing, lambda r: log.append("gone"))
    del thing
    log.append("deleted")
    return x + 1, reference() is None


def referred_to_by_python(x):
    thing = Thing()
    references = [thing]
    refer(references)
    before = references[0]() is thing
    del thing
    return x + 1, before, references[0]() is None


@weft.compiler.disable
def refer(things):
    things[0] = weakref.ref(things[0])


SEEN = [bound_in_each_turn, of_a_class_made_here, referred_to_and_kept, referred_to_and_deleted, referred_to_by_python]


@pytest.mark.parametrize("f", SEEN, ids=lambda f: f.__name__)
def test_what_a_local_holds_ends_where_python_ends_it(f):
    def shown(f):
        log.clear()
        result = f(weft.ones(2))
        return result[1:] if isinstance(result, tuple) else None, list(log)

    expected = shown(f)
    compiled = weft.compile(f, backend="eager")
    assert [shown(compiled) for _ in range(3)] == [expected] * 3
