"""Functions of NumPy arrays: results, dtypes and classes are NumPy's, in one graph."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import weft
from dynamo import convert_frame

pytestmark = pytest.mark.usefixtures("fresh")


def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
        if a.dtype.kind == "O":
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a == b


def n_pointwise(x, y):
    return np.sin(x) * 2 + np.maximum(x, y) / 3, np.exp(-(x**2)), x - 1, 2 * y, -x, abs(x), x > y, ~(x > 0) | (y < 1)


def n_reduce(x):
    return (
        x.sum(),
        x.mean(axis=1),
        np.max(x, axis=0),
        x.std(),
        x.argmax(),
        (x > 0).any(),
        x.min(),
        np.sum(x, axis=(0, 1)),
    )


def n_layout(x):
    return (
        x.T,
        x.reshape(-1),
        np.transpose(x),
        x[:, ::2],
        x[1],
        x[0, 1],
        x[None],
        x.ravel(),
        np.concatenate([x, x], axis=1),
    )


def n_matmul(x, y):
    return x @ y.T, np.dot(x, x[0]), x[0] @ y[0]


def n_create(x):
    return (
        np.zeros(3) + x[0, 0],
        np.ones_like(x) * x,
        np.full((2,), 7) + x[0, :2],
        np.arange(3),
        np.eye(2, dtype=np.float32),
    )


def n_choose(x, y):
    return np.where(x > 0, x, y), np.clip(x, -0.5, 0.5), np.where(x > 0, 1, 0), x.astype(np.float64), np.float32(2) * x


def n_inplace(x):
    x += 1
    x[0] = 5
    y = x * 2
    y[:, 0] -= 3
    return y


def n_shape(x):
    n, m = x.shape
    return x / n, x.ndim, len(x), x.size, x.dtype == np.float32, [r.sum() for r in x]


def n_cast(x):
    return x.astype(int), (x * 9).astype("int8"), np.triu(np.abs(x * 9), k=1).astype("uint8") == 0, x.astype(bool)


FLOATS = (n_cast, n_pointwise, n_reduce, n_layout, n_matmul, n_create, n_choose, n_inplace, n_shape)


def arrays(fn, dtype, n):
    count = fn.__code__.co_argcount
    return [(np.arange(n * 4).reshape(n, 4) / (7 + i) - 1).astype(dtype) for i in range(count)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fn", FLOATS, ids=lambda f: f.__name__)
def test_floating_programs(fn, dtype, backend):
    compiled = weft.compile(fn, backend=backend, fullgraph=True)
    for n in (3, 3, 5):
        args = arrays(fn, dtype, n)
        mine = copy.deepcopy(args)
        expected = fn(*args)
        same(compiled(*mine), expected)
        same(mine, args)
    assert convert_frame.counters["graphs"] == 2 and convert_frame.counters["breaks"] == 0


@pytest.mark.parametrize("a, b", [(np.int8, np.int64), (np.int32, np.float32), (np.uint8, np.int8), (bool, np.float64),
                                  (np.float16, np.float32), (np.int64, np.float32)])  # fmt: skip
def test_promotion_is_numpys(a, b):
    def f(x, y):
        return x + y, x * 2, y / 2, x + 1.5, x.sum(), np.sqrt(y), x == y

    x, y = np.array([1, 0, 3]).astype(a), np.array([2, 1, 1]).astype(b)
    same(weft.compile(f, backend="eager", fullgraph=True)(x, y), f(x, y))


def test_what_tensors_cannot_hold_stays_in_numpy():
    def f(x):
        return x + 1

    compiled = weft.compile(f, backend="eager")
    for x in (np.array([1, 2], dtype=object), np.arange(3, dtype=">i4"), np.array(["a"], dtype="U1")[:0].astype("f8")):
        same(compiled(x), f(x))


def test_tensors_and_arrays_mix_in_one_graph():
    def f(x):
        t = weft.from_numpy(x * 2).relu()
        return np.exp(t.numpy()), weft.tensor(x) + t

    x = np.array([-1.0, 2.0], np.float32)
    (a, t), (b, u) = weft.compile(f, backend="eager", fullgraph=True)(x), f(x)
    same(a, b)
    assert weft.equal(t, u)


def test_integer_division_breaks_the_graph():
    def f(x, y):
        return (x + 1) // y

    with np.errstate(divide="ignore"):
        x, y = np.array([4, 5]), np.array([2, 0])
        same(weft.compile(f, backend="eager")(x, y), f(x, y))


def test_arrays_are_read_whole_before_they_are_written():
    def program(a):
        a[1:] += a[:-1]
        a[:3] = a[1:4]
        np.add(a[1:], a[:-1], out=a[1:])
        a[3:] = [1, 2, 3]
        a[a > 3] = np.float32(7)
        return np.maximum(a, 2), np.logical_or(a, 0), np.hypot(3.0, a)

    for backend in ("eager", "inductor"):
        ours, theirs = np.arange(6.0), np.arange(6.0)
        found, expected = weft.compile(program, backend=backend, fullgraph=True)(ours), program(theirs)
        assert ours.tolist() == theirs.tolist()
        for f, e in zip(found, expected):
            assert f.dtype == e.dtype and f.tolist() == pytest.approx(e.tolist())


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_arrays_made_inside_own_their_memory_where_that_is_asked(backend):
    def program(a):
        b, c, d = a * 2, a + 1, a - 1
        e = c[1:]
        b.resize(3)
        return b, c.flags.owndata, d.base is None, e.base is c, e.flags.owndata

    compiled = weft.compile(program, backend=backend)
    for n in (4, 4, 5):
        found, *facts = compiled(np.arange(float(n)))
        expected, *known = program(np.arange(float(n)))
        same(found, expected)
        assert facts == known == [True, True, True, False]
