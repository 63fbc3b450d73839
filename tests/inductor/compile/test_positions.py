"""Integer arithmetic on positions and sizes wraps as int64 does, and stays an index where it cannot wrap."""

from __future__ import annotations

import pytest

import weft
from inductor.lowering.graph import lower
from tests.inductor.agree import agree
from tests.inductor.graphs import CPU, Builder

HASH, MORE = 6364136223846793005, 1442695040888963407
ints = weft.zeros(64, dtype=weft.int64)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ((weft.arange(64) * HASH + MORE) < 0).long() + x,
        lambda x: ((weft.arange(64) * HASH + MORE) % 1000) + x,
        lambda x: ((weft.arange(64) * HASH + MORE) >> 33) + x,
        lambda x: (weft.arange(64) * 2**62 > 0) | (x > 0),
        lambda x: weft.arange(64) * 2**62 * 4 + x,
        lambda x: (weft.arange(64) * 2**60 - 2**62 - 2**62) < 2**61 - weft.arange(64) + x,
        lambda x: weft.arange(2**62, 2**62 + 64) > x - 2**62,
        lambda x: weft.arange(2**62, 2**62 + 64) > -(2**62) - weft.arange(64),
        lambda x: weft.arange(2**63 - 65, 2**63 - 1) * 2 + x,
        lambda x: weft.arange(64, dtype=weft.int32) * 2**30 + x.int(),
        lambda x: (weft.arange(64, dtype=weft.int32) * 2**30 < 0) | (x > 0),
    ],
)
def test_arithmetic_wraps(f):
    agree(f, ints)


def windows(x):
    n = x.shape[0]
    i = weft.arange(n)
    band = (i[:, None] >= i[None] - 3) & (i[:, None] * 2 < n + i[None])
    return band.float() + x, x[(i + 1) % n], x[i - 1], x[n - 1 - i], (i * n + n).sum()


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("dynamic", [False, True])
def test_positions_of_any_size(n, dynamic):
    agree(windows, weft.randn(n), dynamic=dynamic)


def test_large_symbols_wrap_too():
    f = weft.compile(lambda x, k: (weft.arange(8) * k < 0) | (x > 0), dynamic=True)
    for k in (3, 2**20, 2**31 + 5, 2**61 + 1):
        assert weft.equal(f(weft.zeros(8), k), weft.arange(8) * k < 0)


def test_what_cannot_wrap_is_an_index():
    b = Builder()
    x = b.input("x", (9, 40))
    i = b("arange", 0, 9, 1, dtype=weft.int64, device=CPU)
    rows = b("add", b("mul", i, -1), 8)
    (made,) = lower(b.module(b("index", x, [rows]))).operations
    load = made.loops.body
    assert load.kind == "load" and not load.args  # no data in the index, nothing to check
