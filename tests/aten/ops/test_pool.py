"""Pooling into as many parts as asked, eager and in one graph, against its definition."""

import numpy as np
import pytest

import weft
from aten.op import registry


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("out", [1, 2, 3, 5, 7, 9])
def test_adaptive_max_pool2d(out, dynamic):
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 9)).astype("f4")
    pool = lambda t: weft.nn.functional.adaptive_max_pool2d(t, out, return_indices=True)
    for f in (pool, weft.compile(pool, fullgraph=True, dynamic=dynamic)):
        values, places = (t.numpy() for t in f(weft.from_numpy(x)))
        for i in range(out):
            for j in range(out):
                rows = slice(i * 7 // out, -(-(i + 1) * 7 // out))
                columns = slice(j * 9 // out, -(-(j + 1) * 9 // out))
                part = x[:, :, rows, columns]
                np.testing.assert_array_equal(values[:, :, i, j], part.max((2, 3)))
        flat = x.reshape(2, 3, -1)
        np.testing.assert_array_equal(np.take_along_axis(flat, places.reshape(2, 3, -1), 2), values.reshape(2, 3, -1))


WINDOWS = [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (2, 3, 0, 1), ((2, 3), (1, 2), (0, 1), 1), (4, 4, 2, 1)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "max_pool1d", "avg_pool1d"])
def test_gradients_of_native_pooling_are_those_of_its_definition(name, window, dtype):
    kernel, stride, padding, dilation = window
    if name.endswith("1d"):
        kernel, stride, padding = (v[-1] if isinstance(v, tuple) else v for v in (kernel, stride, padding))
    more = (
        (kernel, stride, padding, dilation, False, False)
        if name.startswith("max")
        else (kernel, stride, padding, False, True, None)
    )
    rng = np.random.default_rng(0)
    sizes = (2, 3, 9, 8) if name.endswith("2d") else (2, 3, 19)
    x = weft.from_numpy(rng.normal(size=sizes).astype(dtype)).requires_grad_()
    op = getattr(weft.nn.functional, name)
    shown = op(x, kernel, stride, padding, dilation) if name.startswith("max") else op(x, kernel, stride, padding)
    defined = registry[name].function(x, *more)
    assert shown.grad_fn.name().startswith("MaxPool" if name.startswith("max") else "AvgPool")
    exact = 0 if name.startswith("max") else 1e-6  # (sums of windows: by rows, or as they come)
    np.testing.assert_allclose(shown.detach().numpy(), defined.detach().numpy(), rtol=exact, atol=exact)
    g = weft.from_numpy(rng.normal(size=tuple(shown.shape)).astype(dtype)).requires_grad_()
    (expected,) = weft.autograd.grad(defined, x, g, retain_graph=True)
    (found,) = weft.autograd.grad(shown, x, g, retain_graph=True)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    (again,) = weft.autograd.grad(shown, x, g, create_graph=True)
    (twice,) = weft.autograd.grad(again.square().sum(), g)
    (defined_again,) = weft.autograd.grad(defined, x, g, create_graph=True)
    np.testing.assert_allclose(twice.numpy(), weft.autograd.grad(defined_again.square().sum(), g)[0].numpy(), rtol=1e-5, atol=1e-6)


def test_places_of_the_largest_elements_follow_padding_and_nan():
    x = weft.tensor([[[-np.inf, -np.inf, 1.0, np.nan], [2.0, 2.0, np.nan, 0.0]]])
    values, places = weft.nn.functional.max_pool2d(x, 2, 1, 1, return_indices=True)
    assert places.tolist() == [[[0, 0, 2, 3, 3], [4, 4, 6, 3, 3], [4, 4, 6, 6, 7]]]
    assert np.array_equal(values.numpy().reshape(-1), x.numpy().reshape(-1)[places.numpy().reshape(-1)], equal_nan=True)
