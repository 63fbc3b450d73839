"""The dtype of `out=`, as PyTorch 2.13 takes it: sums and products are computed in it; logcumsumexp takes no other than its own."""

import pytest

import weft

HALVES = [1.5, 2.5, -1.5]


@pytest.mark.parametrize(
    "name,dtype,expected",
    [
        ("cumsum", weft.int64, [1, 3, 2]),
        ("cumprod", weft.int8, [1, 2, -2]),
        ("cumsum", weft.float64, [1.5, 4.0, 2.5]),
        ("sum", weft.int64, 2),
        ("prod", weft.int8, -2),
        ("sum", weft.bool, True),
    ],
)
def test_what_is_written_is_computed_in_its_dtype(name, dtype, expected):
    sizes = (3,) if name.startswith("cum") else ()
    out = weft.empty(sizes, dtype=dtype)
    assert getattr(weft, name)(weft.tensor(HALVES), 0, out=out) is out
    assert out.tolist() == expected


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "sum", "prod"])
def test_a_dtype_that_is_asked_for_must_be_that_of_out(name):
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        getattr(weft, name)(weft.tensor(HALVES), 0, dtype=weft.float32, out=weft.empty(3, dtype=weft.float64))


def test_logcumsumexp_takes_no_other_dtype():
    with pytest.raises(RuntimeError, match="expected scalar_type Float but found Double"):
        weft.logcumsumexp(weft.ones(3), 0, out=weft.empty(3, dtype=weft.float64))
