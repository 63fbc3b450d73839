"""Functions of Python's library that a program replaces are the program's: what weft computes for itself is by its own."""

import functools
import itertools
import math
import operator

import pytest

import weft
from tests.dynamo.kinds.alike import alike

REAL = {(m, name): getattr(m, name) for m, name in ((math, "prod"), (math, "gcd"), (math, "floor"), (operator, "mul"))}


@pytest.mark.parametrize("module, name", REAL, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_a_function_that_gives_another_number(monkeypatch, module, name):
    real = REAL[module, name]
    weft.compiler.reset()

    def f(x, n):
        numbers = n * 2.0 + 2, n * 3 * n, (n * 5 + 3) // 2, math.sqrt(n * 2.0)
        return x * 2, getattr(module, name)(*arguments(n)), numbers, x.reshape(2, -1).sum(0) * n, x.repeat(n, 1)

    given = {"prod": lambda n: ([n, 2.0],), "floor": lambda n: (n + 0.5,)}
    arguments = given.get(name, lambda n: (n, 6))
    compiled = weft.compile(f, backend="eager")
    for n in (2, 3, 4):
        assert repr(compiled(weft.ones(4), n)) == repr(f(weft.ones(4), n))
    monkeypatch.setattr(module, name, lambda *args: real(*args) + 2)
    for n in (3, 5):
        assert repr(compiled(weft.ones(4), n)) == repr(f(weft.ones(4), n))


def test_a_constant_that_is_a_class(monkeypatch):
    def f(x, n):
        return x * n, n < 3, math.inf

    monkeypatch.setattr(math, "inf", int)
    alike(f, *((weft.ones(2), n) for n in (1, 2, 3, 4)))


def test_iterators_and_partials_that_refuse():
    def f(x, n):
        pairs = list(zip(range(n), iter([x, x + 1, x + 2])))
        return [a * b for a, b in pairs], sorted([n, 1])

    def refuses(*args, **kwargs):
        raise ValueError("replaced")

    found, compiled = [], weft.compile(f, backend="eager")
    with pytest.MonkeyPatch.context() as patch:  # (pytest itself uses them)
        patch.setattr(functools, "partial", refuses)
        patch.setattr(itertools, "accumulate", refuses)
        try:
            found = [repr(compiled(weft.ones(2), n)) for n in (1, 2, 3)]
        except ValueError as e:
            found.append(e.__traceback__)
    assert found == [repr(f(weft.ones(2), n)) for n in (1, 2, 3)]
