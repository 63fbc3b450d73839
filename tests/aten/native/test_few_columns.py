"""Sums, products and extremes down few columns, and sums that leave NaN out: NumPy's numbers, at all sizes."""

import numpy as np
import pytest

import weft

KINDS = {"sum": np.sum, "amax": np.max, "amin": np.min, "nansum": np.nansum, "mean": np.mean}
rng = np.random.default_rng(0)


def given(n, m, dtype, nans=0):
    x = weft.from_numpy(rng.normal(size=(n, m))).to(dtype)
    for _ in range(nans):
        x[int(rng.integers(n)), int(rng.integers(m))] = float("nan")
    return x


def check(x, kind, dim):
    exact = x.double().numpy()
    axis = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    want = KINDS[kind](exact, axis=axis)
    got = getattr(weft, kind)(x, dim)
    assert got.dtype is x.dtype
    tolerance = {weft.bfloat16: 2e-2, weft.float16: 2e-3, weft.float32: 1e-4, weft.float64: 1e-11}[x.dtype]
    np.testing.assert_allclose(got.double().numpy(), want, rtol=tolerance, atol=tolerance * max(1, x.shape[0] ** 0.5))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 2, 3, 5, 8, 17, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("n", [1, 63, 64, 127, 128, 1000, 4099, 9000])
def test_down_the_columns(n, m, kind):
    check(given(n, m, weft.float32), kind, 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [weft.float64, weft.float16, weft.bfloat16])
def test_of_each_dtype(dtype, kind):
    x = given(3001, 5, dtype)
    check(x, kind, 0)
    check(x, kind, 1)
    check(given(40, 33, dtype), kind, 0)


@pytest.mark.parametrize("m", [1, 3, 5, 31, 40])
def test_a_nan_is_seen_or_left_out(m):
    for n in (130, 2000, 5003):
        x = given(n, m, weft.float32, nans=9)
        for kind in KINDS:
            check(x, kind, 0)
        check(x, "nansum", 1)
        check(x, "nansum", (0, 1))


def test_rows_that_lie_apart_and_other_layouts():
    x = given(3000, 12, weft.float32, nans=4)
    for t in (x[:, 2:7], x[::2, :5], x.t()[3:8].t(), x[:2999].reshape(2999, 3, 4).permute(0, 2, 1)):
        check(t, "nansum", 0)
        check(t, "nansum", 1)
        check(weft.nan_to_num(t), "sum", 0)


def test_infinities_that_meet_are_nan():
    x = weft.zeros(200, 3)
    x[5, 1], x[190, 1], x[100, 2], x[7, 0] = float("inf"), -float("inf"), float("inf"), float("nan")
    for _ in range(2):
        got = weft.nansum(x, 0).tolist()
        assert got[0] == 0 and got[1] != got[1] and got[2] == float("inf")
        x = x.expand(2, 200, 3).reshape(2, 200, 3).transpose(0, 1)[:, 0].contiguous()
    y = weft.stack([x, x]).transpose(1, 2)  # two dims are reduced, one after the other
    assert weft.isnan(weft.nansum(y, (0, 2))).tolist() == [False, True, False]


def test_the_bits_of_a_sum_of_what_is_left():
    for shape, dim in (((4099, 5), 0), ((700, 64), 0), ((64, 700), 1), ((9, 33, 40), 1), ((5000,), 0)):
        x = weft.randn(shape)
        x[weft.rand(shape) < 0.1] = float("nan")
        assert weft.equal(weft.nansum(x, dim), weft.sum(weft.where(weft.isnan(x), 0, x), dim))


def test_dtypes_and_what_has_no_elements():
    assert weft.nansum(weft.tensor([[1, 2], [3, 4]]), 0).tolist() == [4, 6]
    assert weft.nansum(weft.tensor([1.0, float("nan")]), dtype=weft.float64).dtype is weft.float64
    assert weft.nansum(weft.zeros(0, 3), 0, keepdim=True).tolist() == [[0, 0, 0]]
    x = weft.tensor([[1.0, float("nan")], [2.0, 3.0]], requires_grad=True)
    weft.nansum(x, 0).sum().backward()
    assert x.grad.tolist() == [[1, 0], [1, 1]]
