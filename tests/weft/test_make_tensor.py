"""testing.make_tensor: ranges, layouts and refusals."""

import pytest

import weft
from weft.cuda.amp import autocast
from weft.cuda.amp.autocast_mode import autocast as same
from weft.testing import make_tensor


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [(weft.float32, -9, 9), (weft.bfloat16, -9, 9), (weft.int64, -9, 9), (weft.uint8, 0, 9), (weft.bool, 0, 1)],
)
def test_numbers_fill_the_range_of_their_dtype(dtype, low, high):
    x = make_tensor(40, 50, dtype=dtype, device="cpu")
    assert x.shape == (40, 50) and x.dtype is dtype
    least, most = x.double().min().item(), x.double().max().item()
    assert low <= least < low + 1 and high - 1 < most <= high


def test_options():
    x = make_tensor((3, 4), dtype=weft.complex64, device="cpu", low=1, high=2, requires_grad=True, noncontiguous=True)
    assert x.stride() == (8, 2) and x.requires_grad and x.real.min() >= 1 and x.imag.max() < 2
    assert (make_tensor(100, dtype=weft.int32, device="cpu", low=0, high=2, exclude_zero=True) == 1).all()
    image = make_tensor(2, 3, 4, 5, dtype=weft.float32, device="cpu", memory_format=weft.channels_last)
    assert image.stride() == (60, 1, 15, 3)
    assert make_tensor((), dtype=weft.float64, device="cpu").shape == ()


def test_refusals():
    with pytest.raises(ValueError, match="`requires_grad=True` is not supported for boolean and integral dtypes"):
        make_tensor(2, dtype=weft.int64, device="cpu", requires_grad=True)
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make_tensor(2, dtype=weft.float32, device="cpu", low=3, high=1)


def test_the_older_module_of_autocast():
    assert autocast is same


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16, weft.float8_e4m3fn, weft.complex64, weft.bool])
def test_tensors_of_every_kind_are_compared(dtype):
    x = weft.tensor([0.0, 1.0, 1.0]).to(dtype)
    weft.testing.assert_close(x, x.clone())
    weft.testing.assert_close(x, x.clone(), rtol=0, atol=0)
    with pytest.raises(AssertionError, match="1 of 3 elements"):
        weft.testing.assert_close(x, weft.tensor([0.0, 1.0, 0.0]).to(dtype))
    with pytest.raises(TypeError, match="is no number"):
        weft.testing.assert_close("a", "a")
