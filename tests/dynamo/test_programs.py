"""weft.compile with backend "eager": results, and what happens to the arguments, are those of eager."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import aten
import weft
from dynamo import outcome
from dynamo.interpreter import trace
from tests.dynamo import models
from tests.dynamo.models import PROGRAMS, t


def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, aten.Tensor):
        assert a.dtype is b.dtype and tuple(a.shape) == tuple(b.shape) and a.stride() == b.stride()
        assert a.requires_grad == b.requires_grad
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6, atol=1e-6)
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            same(a[k], b[k])
    elif hasattr(a, "__dict__") and not callable(a):
        same(vars(a), vars(b))
    elif not isinstance(a, weft.nn.Module):
        assert a == b


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
            same(got, expected)
            same(mine, args)
    finally:
        trace.listeners.pop()
    eager = [made for made in outcomes if isinstance(made, outcome.RunEager) and made.raises is not None]
    assert not eager, eager


def test_a_closure_that_escapes_works():
    f = weft.compile(models.f_returns_closure, backend="eager")(t(3))
    same(f(t(3)), models.f_returns_closure(t(3))(t(3)))


def test_globals_are_stored():
    before = models.COUNTER
    f = weft.compile(models.f_global, backend="eager")
    f(t(3)), f(t(3)), f(t(3))
    assert models.COUNTER == before + 3
