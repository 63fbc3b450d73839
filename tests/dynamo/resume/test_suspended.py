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
