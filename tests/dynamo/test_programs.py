"""weft.compile with backend "eager": results, and what happens to the arguments, are those of eager."""

from __future__ import annotations

import copy

import pytest

import weft
from dynamo import outcome
from dynamo.interpreter import trace
from tests.dynamo import models
from tests.dynamo.models import PROGRAMS, t
from tests.dynamo.same import same


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()
    yield
    weft.compiler.reset()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn, make", PROGRAMS, ids=[f"{f.__name__}-{i}" for i, (f, _) in enumerate(PROGRAMS)])
def test_compiled_is_eager(fn, make, backend):
    compiled = weft.compile(fn, backend=backend)
    outcomes = []
    trace.listeners.append(lambda code, made: outcomes.append(made))
    try:
        for n in (4, 4, 5, 6):
            args = make(n)
            mine = copy.deepcopy(args)
            expected = fn(*args)
            got = compiled(*mine)
            same(got, expected, tolerance=1e-6, strides=True)
            same(mine, args, tolerance=1e-6, strides=True)
    finally:
        trace.listeners.pop()
    eager = [made for made in outcomes if isinstance(made, outcome.RunEager) and made.raises is not None]
    assert not eager, eager


def test_a_closure_that_escapes_works():
    f = weft.compile(models.f_returns_closure, backend="eager")(t(3))
    same(f(t(3)), models.f_returns_closure(t(3))(t(3)), tolerance=1e-6, strides=True)


def test_globals_are_stored():
    before = models.COUNTER
    f = weft.compile(models.f_global, backend="eager")
    f(t(3)), f(t(3)), f(t(3))
    assert models.COUNTER == before + 3
