"""Compiled equals plain: values, dtypes, sizes, strides, which results are one object, and errors."""

from __future__ import annotations

import numpy as np

import inductor
import weft
from aten import settings


def agree(f, *args, dynamic=None, tolerance: float = 0.0, graphs: int | None = 1, strides: bool = True) -> None:
    """f(*args) compiled in one graph gives what it gives plain, an exception included. Tensors among the arguments are
    copied for each. `graphs`: how many graphs inductor compiles; None where it is not asked."""
    plain = outcome(f, args)
    weft._dynamo.reset()
    inductor.counters.clear()
    with settings.patch(cache=False):
        compiled = outcome(weft.compile(f, fullgraph=True, dynamic=dynamic), args)
    if graphs is not None:
        assert inductor.counters["graphs"] == graphs, dict(inductor.counters)
    same(plain, compiled, tolerance, strides)


def outcome(f, args) -> tuple:
    """(what f returns, or its exception; what its arguments are afterwards)."""
    own = [copied(a) for a in args]
    try:
        result = f(*own)
    except Exception as e:
        result = e
    return result, own


def copied(a):
    if not isinstance(a, weft.Tensor):
        return [copied(x) for x in a] if isinstance(a, list) else a
    out = weft.empty_strided(tuple(a.shape), a.stride(), dtype=a.dtype).copy_(a.detach())
    return out.requires_grad_() if a.requires_grad else out


def same(a, b, tolerance: float = 0.0, strides: bool = True, seen: dict | None = None) -> None:
    """Assert that two results are equal, and share objects alike."""
    seen = {} if seen is None else seen
    assert type(a) is type(b), (a, b)
    if isinstance(a, weft.Tensor):
        assert seen.setdefault(id(a), (a, b))[1] is b, "one tensor returned twice is one object"
        assert (a.dtype, tuple(a.shape), a.requires_grad) == (b.dtype, tuple(b.shape), b.requires_grad)
        if strides:
            assert a.stride() == b.stride(), (tuple(a.shape), a.stride(), b.stride())
        x, y = ((t.detach().float() if t.dtype is weft.bfloat16 else t.detach()).numpy() for t in (a, b))
        if tolerance:
            np.testing.assert_allclose(y, x, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            np.testing.assert_array_equal(y, x)
            if x.dtype.kind == "f":
                assert np.array_equal(np.signbit(x), np.signbit(y))
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y, tolerance, strides, seen)
    elif isinstance(a, Exception):
        assert str(a) == str(b)
    else:
        assert a == b or (a != a and b != b)
