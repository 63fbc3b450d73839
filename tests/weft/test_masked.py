"""Operations on the elements where a mask is True: what they give for the elements alone."""

import math

import pytest

import weft
from weft import masked

X = weft.tensor([[1.0, 5.0, -2.0], [4.0, 0.5, 3.0]])
MASK = weft.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sum", [-1.0, 0.0]),
        ("prod", [-2.0, 1.0]),
        ("amax", [1.0, -math.inf]),
        ("amin", [-2.0, math.inf]),
        ("mean", [-0.5, math.nan]),
        ("norm", [math.sqrt(5), 0.0]),
        ("var", [4.5, math.nan]),
        ("std", [math.sqrt(4.5), math.nan]),
        ("median", [-2.0, math.nan]),
        ("logsumexp", [math.log(math.e + math.exp(-2)), -math.inf]),
    ],
)
def test_reductions(name, expected):
    arguments = (2.0, 1) if name == "norm" else (1,)
    weft.testing.assert_close(getattr(masked, name)(X, *arguments, mask=MASK), weft.tensor(expected), equal_nan=True)
    kept = getattr(masked, name)(X, *arguments, mask=MASK, keepdim=True)
    assert kept.shape == (2, 1)


def test_without_a_mask_and_of_all_dims():
    assert masked.sum(X).item() == X.sum().item() and masked.var(X).item() == pytest.approx(X.var().item())
    assert masked.sum(X, (), mask=MASK).item() == -1 and masked.prod(X, (-1, 0), mask=MASK).item() == -2
    assert masked.sum(weft.tensor([True, True]), mask=weft.tensor([True, False])).dtype is weft.int64
    assert masked.amax(weft.tensor([1, 2], dtype=weft.int8), mask=weft.tensor([False, False])).item() == -128


def test_along_a_dim():
    weft.testing.assert_close(masked.softmax(X, 1, mask=MASK)[0], weft.tensor([1.0, -2.0]).softmax(0)[[0, 0, 1]] * MASK[0])
    assert masked.cumsum(X, 1, mask=MASK).tolist() == [[1, 1, -1], [0, 0, 0]]
    assert masked.cumprod(X, -1, mask=MASK)[0].tolist() == [1, 1, -2]
    assert masked.argmin(X, 1, mask=MASK).tolist() == [2, 0]
    weft.testing.assert_close(masked.normalize(X, 2.0, 1, mask=MASK)[0], weft.tensor([1.0, 0.0, -2.0]) / math.sqrt(5))
    one = masked.logaddexp(X, X, input_mask=MASK)
    weft.testing.assert_close(one, weft.where(MASK, X + math.log(2), X))


def test_gradients_flow_to_what_counts():
    x = X.clone().requires_grad_()
    masked.mean(x, mask=MASK).backward()
    assert x.grad.tolist() == [[0.5, 0, 0.5], [0, 0, 0]]


def test_refusals():
    with pytest.raises(IndexError, match="broadcastable"):
        masked.sum(X[0], mask=MASK)
    with pytest.raises(RuntimeError, match="appears multiple times"):
        masked.sum(X, (0, -2), mask=MASK)
    with pytest.raises(ValueError, match="fully masked"):
        masked.median(weft.tensor([1, 2]), mask=weft.tensor([False, False]))


@pytest.mark.parametrize(
    ("name", "dtype", "value"),
    [
        ("sum", weft.float32, 0.0),
        ("masked.prod", weft.int64, 1),
        ("amax", weft.float32, -float("inf")),
        ("argmin", weft.uint8, 255),
        ("amin", weft.int64, 2**63 - 1),
    ],
)
def test_the_identity_of_a_reduction_is_that_of_the_dtype(name, dtype, value):
    found = masked._reduction_identity(name, weft.ones(2, dtype=dtype))
    assert found.item() == value and found.dtype is dtype


def test_identities_that_are_special():
    x = weft.ones(2)
    assert masked._reduction_identity("norm", x, float("-inf")).item() == float("inf")
    assert masked._reduction_identity("mean", x) is None
    assert masked._reduction_identity("median", x).isnan()
    with pytest.raises(NotImplementedError):
        masked._reduction_identity("foo", x)
