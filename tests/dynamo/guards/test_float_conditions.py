"""Conditions on floats hold natively where they hold in Python: signed zeros, infinities, nan and what rounds included."""

import itertools
import math

import pytest

import weft
from aten.symbolic import nodes
from dynamo.guards import Shape, ShapeIs
from tests.dynamo.guards.program import Program, X, Y

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 0.3, 3.0, 5e-324, 1e308, -1e308, 1e16, math.inf, -math.inf, math.nan]
A, B = nodes.sym("a", "float"), nodes.sym("b", "float")
MADE = {
    "floordiv": (nodes.floordiv(A, B), lambda a, b: a // b),
    "mod": (nodes.mod(A, B), lambda a, b: a % b),
    "min": (nodes.min_(A, B), min),
    "max": (nodes.max_(A, B), max),
    "pow": (nodes.pow_(A, B), lambda a, b: a**b),
    "sub": (nodes.sub(A, B), lambda a, b: a - b),
}


def result(function, a, b):
    """A float, or None where Python raises or gives a complex number."""
    try:
        value = function(a, b)
    except ArithmeticError:
        return None
    return value if isinstance(value, float) else None


@pytest.mark.parametrize("name", MADE)
def test_arithmetic(name):
    made, function = MADE[name]
    signed, where = nodes.signbit_(made), {"a": X, "b": Y}
    programs = {False: Program(ShapeIs(None, Shape(nodes.not_(signed), where))), True: Program(ShapeIs(None, Shape(signed, where)))}
    for a, b in itertools.product(SPECIAL, SPECIAL):
        value = result(function, a, b)
        if value is None or value != value:
            continue
        assert Program(ShapeIs(None, Shape(nodes.eq(made, value), where)))(a, b) is True, (a, b)
        assert programs[math.copysign(1, value) < 0](a, b) is True, (a, b)


@pytest.mark.parametrize("asked", [str, float.hex, lambda a: math.copysign(1, a), lambda a: a * 2 and 1.0 or str(a * 2)])
def test_zeros_that_are_read_are_told_apart(asked):
    def f(x, a):
        return x * a, asked(a)

    weft.compiler.reset()  # each case of it is compiled for some values
    compiled = weft.compile(f, backend="eager")
    for a in (1.5, 2.5, -0.0, 0.0, -0.0, 3.0, 0.0):
        assert repr(compiled(weft.ones(2), a)) == repr(f(weft.ones(2), a))
