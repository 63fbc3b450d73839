"""`clamp` between tensors of other dtypes, its gradients where numbers are equal, and the dtype of its `out`."""

import pytest

import weft
from aten import _native


@pytest.mark.parametrize("dtype", [weft.float64, weft.int32, weft.float16])
def test_of_equal_numbers_x_has_the_gradient_whatever_the_dtype_of_the_bounds(dtype):
    x = weft.tensor([1.0, 2.0, 3.0, 0.0], requires_grad=True)
    weft.clamp(x, weft.ones(4).to(dtype), weft.full((4,), 2).to(dtype)).sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0]
    x.grad = None
    weft.clamp(x, max=weft.ones(4).to(dtype)).sum().backward()
    assert x.grad.tolist() == [1, 0, 0, 1] and x.grad.dtype is weft.float32


def test_between_tensors_is_one_pass_and_one_node():
    x, low, high = (weft.randn(50).requires_grad_() for _ in range(3))
    for _ in range(8):
        y = x.clamp(low, high)
    _native.python_entries(True)
    y = x.clamp(low, high)
    assert _native.python_entries(True) == {} and y.grad_fn.name() == "ClampBetweenBackward0"
    assert weft.equal(y, weft.minimum(weft.maximum(x, low), high))
    assert weft.autograd.gradgradcheck(lambda *t: weft.clamp(*t), [t.detach().double().requires_grad_() for t in (x, low, high)])


def test_bounds_that_are_tensors_cast_their_result_to_out():
    x, one = weft.arange(4.0), weft.ones(4)
    assert weft.clamp(x, one, out=weft.zeros(4, dtype=weft.float64)).tolist() == [1, 1, 2, 3]
    assert weft.clip(x, max=one, out=weft.zeros(4, dtype=weft.float16)).dtype is weft.float16
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        weft.clamp(x, max=one, out=weft.zeros(4, dtype=weft.int64))
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        weft.clamp(x, 1, 2, out=weft.zeros(4, dtype=weft.float64))


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
@pytest.mark.parametrize("bounds", [(1, None), (None, 0.7), (-2.7, 1.003), (float("nan"), None), (1e-6, float("inf")), (5, -5.1)])
def test_every_half_is_limited_natively_as_a_float_is_and_rounded_once(bounds, dtype):
    x = weft.arange(-32768, 32768).to(weft.int16).view(dtype)
    _native.python_entries(True)
    found, written = x.clamp(*bounds), x.clone().clamp_(*bounds)
    assert _native.python_entries(True) == {}
    for y in (found, written):
        weft.testing.assert_close(y, x.float().clamp(*bounds).to(dtype), rtol=0, atol=0, equal_nan=True)
