"""Arguments that PyTorch 2.13 refuses, each with its class of error and its words."""

import math

import pytest

import weft
from weft.nn import functional as F

X, META = weft.ones(1, 2, 9), weft.ones(1, device="meta")
COUNTS = weft.tensor([2, 1])


@pytest.mark.parametrize(
    "call,error,words",
    [
        (lambda: F.conv1d(X, weft.ones(1, 2, 3), padding="x"), RuntimeError, "Invalid padding string: 'x'"),
        (lambda: weft.fft.rfftn(X, dim=()), RuntimeError, "rfftn must transform at least one axis"),
        (lambda: weft.fft.hfftn(X, s=()), RuntimeError, "hfftn must transform at least one axis"),
        (lambda: weft.baddbmm(X, X, X[0]), IndexError, r"range of \[-2, 1\], but got 2"),
        (lambda: weft.addbmm(X[0], X[0, 0], X), IndexError, r"range of \[-1, 0\], but got 1"),
        (lambda: weft.einsum("ij"), ValueError, "must specify the equation string and at least one operand"),
        (lambda: weft.einsum(), ValueError, "must specify the equation string and at least one operand"),
        (lambda: weft.equal(META, META), NotImplementedError, "meta"),
        (lambda: F.adaptive_avg_pool1d(X, (None, 9)), TypeError, "but found element of type NoneType at pos 0"),
        (lambda: F.adaptive_max_pool1d(X, None), TypeError, "must be tuple of ints, not NoneType"),
        (lambda: F.adaptive_max_pool1d(X, (3, 9)), RuntimeError, r"should contain one int \(got 2\)"),
        (lambda: weft.randint(0, 257, (0,), dtype=weft.uint8), RuntimeError, "to - 1 is out of bounds for unsigned char"),
        (lambda: weft.randint(-129, 3, (2,), dtype=weft.int8), RuntimeError, "from is out of bounds for signed char"),
        (lambda: weft.randint_like(X.to(weft.int16), 32769), RuntimeError, "to - 1 is out of bounds for short"),
        (lambda: weft.randperm(257, dtype=weft.uint8), RuntimeError, "cannot be converted to type uint8_t without overflow"),
        (lambda: weft.randperm(2050, dtype=weft.float16), RuntimeError, "n cannot be greater than 2049 for Half type."),
        (lambda: weft.randperm(2, dtype=weft.bool), NotImplementedError, "not implemented for 'Bool'"),
        (lambda: weft.normal(X, -X), RuntimeError, "normal expects all elements of std >= 0.0"),
        (lambda: weft.normal(1.0, X * math.nan), RuntimeError, "normal expects all elements of std >= 0.0"),
        (lambda: weft.repeat_interleave(COUNTS, output_size=5), RuntimeError, "allocated size does not match required size"),
        (lambda: COUNTS.repeat_interleave(COUNTS, output_size=2), RuntimeError, "allocated size does not match required size"),
        (lambda: COUNTS.repeat_interleave(2, output_size=3), RuntimeError, "Invalid output_size, expected 4 but got 3"),
    ],
)
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_last_that_are_taken():
    assert weft.randint(0, 256, (2,), dtype=weft.uint8).dtype is weft.uint8
    assert sorted(weft.randperm(256, dtype=weft.uint8).tolist()) == list(range(256))
    assert len(weft.randperm(2049, dtype=weft.float16)) == 2049
    assert COUNTS.repeat_interleave(COUNTS, output_size=3).tolist() == [2, 2, 1]
    assert COUNTS.repeat_interleave(2, output_size=4).tolist() == [2, 2, 1, 1]
