"""Divisions of integers by vectors are Python's, at the ends of every dtype and in every instruction set."""

import numpy as np
import pytest

import weft
from aten import _native
from aten.op import registry

DTYPES = "int64 int32 int16 int8 uint8".split()
rng = np.random.default_rng(0)


def quotients(x, y):
    floor = [int(a) // int(b) for a, b in zip(x, y)]
    cut = [abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y)]
    return floor, [int(a) - int(b) * q for a, b, q in zip(x, y, floor)], [int(a) - int(b) * q for a, b, q in zip(x, y, cut)]


@pytest.mark.parametrize("level", [1, 3, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_and_rests(dtype, level):
    ends = np.iinfo(dtype)
    special = [ends.min, ends.max, ends.min + 1, ends.max // 3, 0, 1, 5, 2**53 + 1 if ends.bits == 64 else 7, 100]
    x = np.array([*special * 9, *rng.integers(ends.min, ends.max, 40)], dtype)
    y = np.array([*np.repeat([d for d in special if d], 9), *rng.integers(1, ends.max, x.size)], dtype)[: x.size]
    _native._use_kernels(level)
    try:
        a, b = weft.from_numpy(x), weft.from_numpy(y)
        for u, v in ((a, b), (a[1:], b[1:]), (a[::3], b[::3]), (a, weft.full_like(b, 7)), (a, b[3].expand_as(a))):
            found = weft.floor_divide(u, v), weft.remainder(u, v), weft.fmod(u, v)
            for made, wanted in zip(found, quotients(u.tolist(), v.tolist())):
                assert made.tolist() == np.array(wanted, dtype=object).astype(dtype).tolist()
    finally:
        _native._use_kernels(4)


@pytest.mark.parametrize("level", [1, 3, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_towards_zero(dtype, level):
    ends = np.iinfo(dtype)
    x = np.array([ends.min, ends.max, ends.min + 1, 0, 1, 7, 100, *rng.integers(ends.min, ends.max, 60)], dtype)
    y = np.array([3, *rng.integers(1, ends.max, x.size - 1)], dtype)
    y[5::7] = -1 if ends.min else 1
    cut = [abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y)]
    expected = [(q - ends.min) % 2**ends.bits + ends.min for q in cut]
    _native._use_kernels(level)
    try:
        a, b = weft.from_numpy(x), weft.from_numpy(y)
        assert weft.div(a, b, rounding_mode="trunc").tolist() == expected
        assert weft.div(a[::3], b[::3], rounding_mode="trunc").tolist() == expected[::3]
        assert weft.div(a[:0], b[:0], rounding_mode="trunc").tolist() == []
    finally:
        _native._use_kernels(4)


def test_the_least_by_minus_one_is_itself():
    least = weft.full([20], -(2**63), dtype=weft.int64)
    assert weft.floor_divide(least, weft.full_like(least, -1)).tolist() == least.tolist()
    assert weft.floor_divide(least.int().fill_(-(2**31)), -1).tolist() == [-(2**31)] * 20


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "truncated_quotient"])
def test_calls_that_come_again_run_the_native_kernel(name, monkeypatch):
    def refused(*args):
        raise AssertionError("by NumPy")

    monkeypatch.setattr(registry[name], "kernel_fn", refused)
    x, y = weft.arange(21, dtype=weft.int16).reshape(3, 7), weft.arange(1, 22, dtype=weft.int16).reshape(3, 7)
    for _ in range(20):
        made = weft.div(x, y, rounding_mode="trunc") if name == "truncated_quotient" else getattr(weft, name)(x, y)
    assert made.tolist()[0][:3] == ([0, 1, 2] if name in ("remainder", "fmod") else [0, 0, 0])


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_zero_is_refused_in_calls_that_come_again(name):
    x, y = weft.arange(6).reshape(2, 3), weft.ones(2, 3, dtype=weft.int64)
    for _ in range(20):
        getattr(weft, name)(x, y)
    y[1, 2] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        getattr(weft, name)(x, y)
