"""Negative powers of integers in place, and what quantile, renorm, sort and polygamma_ refuse."""

import pytest

import weft

X = weft.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("dtype", [weft.int8, weft.int32, weft.int64])
def test_negative_powers_in_place_are_those_of_the_function(dtype):
    base, power = weft.tensor([-1, -1, 2, 1, 3, -1], dtype=dtype), weft.tensor([-1, -2, -1, -3, -3, 3], dtype=dtype)
    want = [-1, 1, 0, 1, 0, -1]
    assert base.pow(power).tolist() == want and base.clone().pow_(power).tolist() == want
    for target in (base.clone(), power.clone()):
        a, b = (target, power) if target.equal(base) else (base, target)
        assert weft.pow(a, b, out=target).tolist() == want
    x = base.clone()
    x **= power
    assert x.tolist() == want


REFUSED = {
    "quantile_interpolation": (RuntimeError, "must be one of linear, lower, higher, midpoint or nearest, but got foo",
                               lambda: X.quantile(0.5, interpolation="foo")),
    "quantile_dim": (IndexError, "Dimension out of range", lambda: weft.tensor(1.5).quantile(0.0, 1)),
    "renorm_p": (RuntimeError, "renorm: non-positive-norm not supported", lambda: X.renorm(0, 0, 1.0)),
    "renorm_complex": (RuntimeError, "renorm: p must be real-valued", lambda: X.renorm(2j, 0, 1.0)),
    "renorm_most": (RuntimeError, "renorm: expected maxnorm to be >= 0 but got -1", lambda: X.renorm(1, 0, -1.0)),
    "renorm_dim": (IndexError, "Dimension out of range", lambda: X.renorm(1, 2, 1.0)),
    "sort_float": (TypeError, "sort", lambda: X.sort(1.5)),
    "sort_text": (TypeError, "sort", lambda: X.sort("mean")),
    "sort_tensor": (TypeError, "sort", lambda: X.sort(weft.tensor([0, 1]))),
    "polygamma": (RuntimeError, "result type Float can't be cast to the desired output type Int", lambda: X.int().polygamma_(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    error, text, call = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_taken():
    assert X.sort(weft.tensor(1))[1].tolist() == [[0, 1, 2]] * 2 and X.renorm(1, -1, 1e9).equal(X)
    assert X.quantile(0.5, 0, interpolation="lower").tolist() == [0, 1, 2] and X.clone().polygamma_(1).shape == (2, 3)
