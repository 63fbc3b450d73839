"""Means of large windows, columns of a window first: the numbers of eager."""

import pytest

import weft
from inductor import choices
from weft import nn

F = nn.functional


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16, weft.float64])
@pytest.mark.parametrize("inside, divisor", [(True, None), (False, None), (True, 2)])
@pytest.mark.parametrize("kernel, stride, padding, ceil", [
    (3, 1, 1, False), (5, 2, 2, False), ((3, 5), (2, 3), (1, 0), True), ((7, 2), 1, (3, 1), False), (3, 4, 0, True),
    (31, 31, 0, False),
])  # fmt: skip
def test_means_of_images(dtype, kernel, stride, padding, ceil, inside, divisor):
    x = weft.randn(2, 3, 33, 37).to(dtype)
    f = lambda x: F.avg_pool2d(x, kernel, stride, padding, ceil, inside, divisor) * 2
    tolerance = 2e-2 if dtype is weft.bfloat16 else 1e-5
    weft.testing.assert_close(weft.compile(f)(x), f(x), rtol=tolerance, atol=tolerance)


def test_means_of_volumes_and_of_what_is_transposed():
    x = weft.randn(2, 9, 10, 11)
    for t in (x, x.transpose(1, 3)):
        f = lambda t: F.avg_pool3d(t, (2, 3, 4), 2, 1)
        weft.testing.assert_close(weft.compile(f)(t), f(t))


def test_gradients():
    x = weft.randn(2, 3, 20, 21, requires_grad=True)
    f = lambda x: F.avg_pool2d(x, 5, 2, 2, False, False)
    g = weft.randn_like(f(x))
    want, got = (weft.autograd.grad(c(x), x, g)[0] for c in (f, weft.compile(f)))
    weft.testing.assert_close(got, want)


def test_a_minus_zero_and_what_is_infinite():
    x = weft.full((1, 1, 9, 9), -0.0)
    x[0, 0, 4, 4] = float("inf")
    f = lambda x: F.avg_pool2d(x, 3, 1)
    assert weft.equal(weft.compile(f)(x), f(x))


def test_which_windows_are_summed_in_turn():
    assert [choices.sums_in_turn(k) for k in ([9], [2, 2], [3, 3], [5, 5], [31, 31], [56, 56], [3, 3, 3])] == [
        False, False, True, True, False, False, True,
    ]  # fmt: skip
