"""Derivatives where the data hold NaN or infinities: which elements share them is PyTorch 2.13's."""

import math

import pytest

import weft
from weft.nn import functional as F

NAN, INF = math.nan, math.inf


def gradient(f, *rows, dtype=weft.float64):
    x = weft.tensor(rows, dtype=dtype, requires_grad=True)
    out = f(x)
    out.sum().backward()
    return x.grad.tolist()


def same(found, wanted):
    return weft.testing.assert_close(weft.tensor(found), weft.tensor(wanted), equal_nan=True)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_norm_of_infinite_order_with_nan_has_no_slope(compiled, dtype):
    for order, chosen in ((INF, [0.0, -1.0, 0.0]), (-INF, [1.0, 0.0, 0.0])):
        for norm in (lambda x, p=order: x.norm(p, 1), lambda x, p=order: weft.linalg.vector_norm(x, p, 1)):
            f = weft.compile(norm, fullgraph=True) if compiled else norm
            same(gradient(f, [1.0, -3.0, 2.0], [1.0, NAN, 2.0], dtype=dtype), [chosen, [0.0, 0.0, 0.0]])
    same(gradient(lambda x: x.norm(INF), [1.0, NAN]), [[0.0, 0.0]])
    same(gradient(lambda x: x.norm(INF), [2.0, -2.0, 1.0]), [[0.5, -0.5, 0.0]])


def test_norms_of_infinite_order_under_transforms():
    x = weft.tensor([[1.0, -3.0], [4.0, 2.0]])
    norm = lambda row: weft.linalg.vector_norm(row, INF)
    assert weft.vmap(norm)(x).tolist() == [3.0, 4.0]
    assert weft.vmap(weft.func.grad(norm))(x).tolist() == [[0.0, -1.0], [1.0, 0.0]]
    assert weft.func.jvp(norm, (x[0],), (weft.tensor([5.0, 7.0]),))[1].item() == -7.0
    z = weft.tensor([3 + 4j, 1j], requires_grad=True)
    weft.linalg.vector_norm(z, INF).backward()
    weft.testing.assert_close(z.grad, weft.tensor([0.6 + 0.8j, 0j]))


@pytest.mark.parametrize("compiled", [False, True])
def test_products_of_zeros_and_what_is_not_finite(compiled):
    own = (lambda f: weft.compile(f, fullgraph=True)) if compiled else (lambda f: f)
    rows = [[2.0, 0.0, NAN], [2.0, 0.0, INF], [0.0, 0.0, NAN], [2.0, 3.0, 0.0], [0.0, NAN, NAN]]
    wanted = [[NAN, NAN, 0.0], [NAN, INF, 0.0], [NAN, NAN, 0.0], [0.0, 0.0, 6.0], [NAN, NAN, NAN]]
    same(gradient(own(lambda x: x.prod(1)), *rows), wanted)
    same(gradient(own(lambda x: x.prod()), [2.0, 0.0, NAN]), [[NAN, NAN, 0.0]])
    same(gradient(own(lambda x: x.prod()), [0.0, 0.0, NAN]), [[0.0, 0.0, 0.0]])  # several zeros hide it where all is multiplied
    same(gradient(own(lambda x: x.cumprod(1)), [2.0, 0.0, NAN, 1.0]), [[1.0, NAN, 0.0, 0.0]])


def test_activations():
    row = [-1.0, 0.0, NAN, 2.0]
    e = math.exp(-1.0)
    same(gradient(lambda x: F.elu(x, 2.0), row), [[2 * e, 2.0, 1.0, 1.0]])
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    same(gradient(F.selu, row), [[scale * alpha * e, scale * alpha, scale, scale]])
    same(gradient(lambda x: F.rrelu(x, 0.25, 0.25, training=True), row), [[0.25, 0.25, 1.0, 1.0]])


def test_slices_that_renorm_leaves_have_the_slope_of_what_stays():
    found = gradient(lambda x: x.renorm(2, 0, 5.0), [1.0, NAN], [3.0, 0.0], [30.0, 40.0])
    same(found[:2], [[1.0, 1.0], [1.0, 1.0]])
    assert abs(found[2][0] * 30 + found[2][1] * 40) < 1e-6  # a longer slice is scaled to the same


def test_quantiles_with_nan_are_the_nan():
    for interpolation in ("linear", "lower", "higher", "midpoint", "nearest"):
        q = lambda x, kind=interpolation: x.quantile(0.3, 1, interpolation=kind)
        assert math.isnan(q(weft.tensor([[1.0, NAN, 2.0]])).item())
        same(gradient(q, [1.0, NAN, 2.0]), [[0.0, 1.0, 0.0]])


def test_differences_do_not_see_the_element_between():
    x = weft.tensor([1.0, NAN, 3.0, 7.0])
    same(weft.gradient(x)[0].tolist(), [NAN, 1.0, NAN, 4.0])
    same(weft.gradient(x, spacing=2.0)[0].tolist(), [NAN, 0.5, NAN, 2.0])


def test_the_extreme_of_one_nan():
    """amin, amax and aminmax of a NaN alone have a derivative of NaN, as of several elements; max, median and sort have 1."""
    x = weft.tensor(float("nan"), requires_grad=True)
    slope = lambda y: weft.autograd.grad(y, x)[0].item()
    for y in (x.amin(), x.amax(0), x.amin(-1, True), weft.aminmax(x)[0], weft.aminmax(x, dim=0)[1]):
        assert math.isnan(slope(y))
    for y in (x.max(), x.min(), x.max(0)[0], x.median(), x.nanmedian(), x.sort()[0]):
        assert slope(y) == 1
    three = weft.tensor(3.0, requires_grad=True)
    assert weft.autograd.grad(three.amax(), three)[0].item() == 1


def _gradient(call, value, compiled):
    x = weft.tensor(value, requires_grad=True)
    (weft.compile(call) if compiled else call)(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", [2, 3, 0.5, -1])
def test_the_norm_of_a_number_that_is_not_finite_has_no_slope(order, compiled):
    for value in (math.nan, math.inf, -math.inf):
        assert _gradient(lambda x: x.norm(order), value, compiled).isnan()
    assert _gradient(lambda x: x.norm(order), -4.0, compiled) == -1 and _gradient(lambda x: x.norm(order), 0.0, compiled) == 0


@pytest.mark.parametrize("compiled", [False, True])
def test_the_mean_of_no_numbers_has_no_slope(compiled):
    found = _gradient(lambda x: x.nanmean(-1), [[math.nan, math.nan], [math.nan, 2.0]], compiled)
    assert found[0].isnan().all() and found[1].tolist() == [0, 1]
    assert _gradient(lambda x: x.nansum(), [math.nan, 2.0], compiled).tolist() == [0, 1]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", [2, 3, 0.5])
def test_the_norm_of_one_element_is_its_size(order, compiled):
    x = weft.tensor([[1e30], [-1e-30]])
    call = weft.compile(weft.linalg.vector_norm) if compiled else weft.linalg.vector_norm
    assert call(x, order, 1).equal(x.abs().flatten())
    assert call(x[0], order) == call(x[0, 0], order) == x[0, 0]
    assert _gradient(lambda x: x.norm(2, 1), [[1e30], [-1e-30]], compiled).tolist() == [[1], [-1]]
