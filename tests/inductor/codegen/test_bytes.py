"""Bytes in memory: eight of them fill no register."""

import numpy as np
import pytest

import weft


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_])
@pytest.mark.parametrize("to", ["float32", "float64", "int32", "int64"])
def test_bytes_become_numbers(dtype, to):
    values = np.arange(256).astype(np.uint8).view(dtype) if dtype is not np.bool_ else np.arange(256) % 3 == 0
    x = weft.from_numpy(np.concatenate([values, values[:5]]))
    weft.compiler.reset()
    got = weft.compile(lambda x: x.to(getattr(weft, to)) * 2)(x)
    assert got.tolist() == [2 * int(v) for v in x.tolist()]


def test_where_by_bytes():
    mask = weft.from_numpy(np.arange(77) % 5 < 2)
    x = weft.arange(77.0)
    weft.compiler.reset()
    got = weft.compile(lambda x, m: x.masked_fill(m, -1))(x, mask)
    assert got.tolist() == [-1 if i % 5 < 2 else float(i) for i in range(77)]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 8191, 8193, 70001])
def test_one_number_everywhere(n):
    x = weft.arange(n)
    weft.compiler.reset()
    for f in (
        lambda x: (weft.isnan(x), x + 1),
        lambda x: weft.isreal(x),
        lambda x: weft.full_like(x, -7, dtype=weft.int8),
        lambda x: weft.full_like(x, 250, dtype=weft.uint8),
        lambda x: weft.full_like(x, -30001, dtype=weft.int16),
        lambda x: weft.full_like(x, -8.5, dtype=weft.bfloat16),
        lambda x: weft.zeros_like(x, dtype=weft.float16),
        lambda x: weft.cat([weft.isnan(x), x > 3, weft.isreal(x)]),
    ):
        got, want = weft.compile(f)(x), f(x)
        for a, b in zip(got, want) if isinstance(got, tuple) else ((got, want),):
            assert a.dtype is b.dtype and weft.equal(a, b)


def test_bytes_that_are_read_before_they_are_filled():
    x = weft.from_numpy(np.arange(100) % 3 == 0)

    def f(x):
        y = x.to(weft.float32) + 1
        x.fill_(True)
        return y

    got = x.clone()
    weft.compiler.reset()
    assert weft.equal(weft.compile(f)(got), f(x)) and got.all()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 1003])
@pytest.mark.parametrize("dtype", [weft.int64, weft.float64, weft.int32, weft.float32])
def test_comparisons_become_bytes(n, dtype):
    x, y = (weft.randint(-3, 3, (n,)).to(dtype) for _ in range(2))
    weft.compiler.reset()
    f = lambda x, y: (x <= y, x == 1, weft.logical_not(x), weft.logical_xor(x, y))
    for got, want in zip(weft.compile(f)(x, y), f(x, y)):
        assert got.numpy().tobytes() == want.numpy().tobytes()  # 0 and 1, nothing else


@pytest.mark.parametrize("n", [3, 40, 9000])
def test_bools_that_lie_in_several_tensors(n):
    x = weft.from_numpy(np.arange(3 * n).reshape(3, n) % 7 < 3)
    beside = weft.from_numpy(np.array([[1], [255], [0]], np.uint8).view(np.bool_))  # a byte of numpy's may be any
    for f in (
        lambda x, b: weft.diff(x, 1, 1, b, b),
        lambda x, b: weft.cat([x, b], 1) & weft.cat([b, x], 1),
        lambda x, b: ~weft.cat([x, b], 1).roll(1, 1) ^ weft.nn.functional.pad(x, (0, 1), value=True),
    ):
        assert weft.equal(weft.compile(f, fullgraph=True)(x, beside), f(x, beside))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "uint8", "bool", "complex64", "float64"])
def test_long_runs_are_moved_as_they_are(dtype):
    x = (weft.arange(3 * 5001).reshape(3, 5001) % 120).to(getattr(weft, dtype))
    for f in (
        lambda x: (x.clone(), weft.cat([x, x[:, :4099]], 1), weft.stack([x, x])),
        lambda x: weft.nn.functional.pad(x[:, 7:4500], (5, 2000)),
        lambda x: x[:, ::2].contiguous(),
        lambda x: x.roll(4200, 1),
    ):
        got, want = weft.compile(f, fullgraph=True)(x), f(x)
        for a, b in zip(got, want) if isinstance(got, tuple) else ((got, want),):
            assert a.dtype is b.dtype and weft.equal(a, b)
