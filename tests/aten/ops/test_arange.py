"""How many numbers `arange` counts, and into which memory, as PyTorch 2.13 does it."""

import math

import pytest

import weft


@pytest.mark.parametrize(
    "args,dtype,expected",
    [
        ((100, 98.75, -0.25), weft.int16, [100] * 5),  # the step's whole part is 0
        ((0, 2, 0.5), weft.uint8, [0] * 4),
        ((2.5,), weft.int32, [0, 1, 2]),
        ((2**62, 2**62 + 38), weft.int32, []),  # counted in doubles
        ((2**62, 2**62 + 2), weft.int64, [2**62, 2**62 + 1]),
    ],
)
def test_counts_of_integers(args, dtype, expected):
    made = weft.arange(*args, dtype=dtype)
    assert made.dtype is dtype and made.tolist() == expected


@pytest.mark.parametrize(
    "args,dtype,error,words",
    [
        ((0, 2, 0.5), weft.int64, ValueError, "step must be nonzero"),
        ((2, 0, 0.5), weft.int64, RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        ((0, math.nan, math.nan), weft.int8, RuntimeError, "step must be nonzero"),
        ((-(2**63), math.inf), weft.float32, RuntimeError, "unsupported range: -9.22337e+18 -> inf"),
    ],
)
def test_refused_ranges(args, dtype, error, words):
    with pytest.raises(error) as raised:
        weft.arange(*args, dtype=dtype)
    assert str(raised.value) == words and type(raised.value) is error


def test_out_keeps_its_sizes_where_it_has_as_many_elements():
    column = weft.zeros(5, 1)
    assert weft.arange(5, out=column.t()).shape == (1, 5) and column.flatten().tolist() == [0, 1, 2, 3, 4]
    assert weft.linspace(0, 3, 4, out=weft.zeros(2, 2)).tolist() == [[0, 1], [2, 3]]


def test_out_of_another_dtype_than_asked_for_is_refused():
    with pytest.raises(RuntimeError, match=r"dtype Long does not match dtype of out parameter \(Float\)"):
        weft.arange(5, out=weft.zeros(5), dtype=weft.int64)
