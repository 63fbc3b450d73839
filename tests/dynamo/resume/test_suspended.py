"""Generators and context managers that are alive at a break: Python makes them, and the rest is captured."""

import contextlib

import pytest

import weft
from dynamo.convert_frame import counters

x = weft.ones(3)
log: list = []


def outside():
    """Not traced: calls break the graph."""
    print(end="")


@contextlib.contextmanager
def timer(name):
    log.append("in " + name)
    try:
        yield name * 2
    finally:
        log.append("out " + name)


def inside_a_context(x):
    y = x + 1
    with timer("a") as name:
        y = y * 2
        outside()
        y = y + len(name)
    return y * 3


def an_expression_in_the_middle(x):
    values = (x * i for i in range(4))
    first = next(values)
    outside()
    second = next(values)
    return first + second + sum(values)


def steps(x):
    for i in range(3):
        log.append(i)
        yield x + i


def not_started(x):
    values = steps(x)
    y = x * 2
    outside()
    for v in values:
        y = y + v
    return y


def made_in_a_loop(x):
    for i in range(3):
        values = steps(x)
        y = next(values) * i
        outside()
        x = x + y + next(values)
    return x


@pytest.mark.parametrize(
    "f", [inside_a_context, an_expression_in_the_middle, not_started, made_in_a_loop], ids=lambda f: f.__name__
)
def test_what_is_alive_at_a_break_is_left_to_python_alone(f):
    log.clear()
    plain = f(x), list(log)
    counters.clear()
    compiled = weft.compile(f, backend="eager")
    for _ in range(3):
        log.clear()
        assert weft.equal(compiled(x), plain[0]) and log == plain[1]
    assert counters["graphs"] > 0


def guarded(name, x):
    try:
        yield x
        yield x + 1
    finally:
        log.append("closed " + name)


class Told:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        log.append("ended " + self.name)


def bound_again(x):
    kept = guarded("first", x)
    y = next(kept)
    outside()
    kept = guarded("second", y)
    log.append("bound again")
    y = y + next(kept)
    outside()
    del kept
    log.append("deleted")
    return y * 2


def loop_left_by_an_exception(x):
    try:
        for y in guarded("a", x):
            outside()
            x = x + y
            raise KeyError(1)
    except KeyError:
        log.append("caught")
    return x


def objects(x):
    told = Told("one")
    outside()
    y = x + 1
    told = Told("two")
    log.append("bound again")
    outside()
    told = None
    log.append("done")
    return y, told


def handed_through_loops(x):
    for i in range(3):
        values = guarded(str(i), x)
        x = x + next(values)
        outside()
        log.append("turn")
    return x


def bound_behind_the_break_of_a_loop(x):
    for i in range(3):
        outside()
        log.append("turn")
        values = guarded(str(i), x)
        x = x + next(values)
    return x


ENDING_LATE = [bound_again, loop_left_by_an_exception, objects, handed_through_loops, bound_behind_the_break_of_a_loop]


@pytest.mark.parametrize("f", ENDING_LATE, ids=lambda f: f.__name__)
def test_what_is_dropped_behind_a_break_ends_there(f):
    log.clear()
    f(x)
    want = list(log)
    compiled = weft.compile(f, backend="eager")
    for _ in range(3):
        log.clear()
        compiled(x)
        assert log == want
