"""Pooling into as many parts as asked, eager and in one graph, against its definition."""

import numpy as np
import pytest

import weft
from aten import _native
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


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "sizes, outs",
    [((2, 3, 101), (3,)), ((2, 3, 7, 13), (3, 5)), ((2, 3, 1, 9), (1, 2)), ((3, 2, 3), (5, 2)), ((2, 2, 5, 7, 9), (2, 3, 4))],
)
def test_means_of_unequal_parts_and_their_gradients(sizes, outs, dtype):
    rng = np.random.default_rng(0)
    n = len(outs)
    x = rng.normal(size=sizes).astype(dtype)
    leaf = weft.from_numpy(x).requires_grad_()
    found = getattr(weft.nn.functional, f"adaptive_avg_pool{n}d")(leaf, outs if n > 1 else outs[0])
    g = rng.normal(size=tuple(found.shape)).astype(dtype)
    (grown,) = weft.autograd.grad(found, leaf, weft.from_numpy(g))
    expected, back = np.zeros(g.shape), np.zeros(x.shape)
    for at in np.ndindex(*outs):
        part = tuple(slice(i * size // out, -(-(i + 1) * size // out)) for i, size, out in zip(at, sizes[-n:], outs))
        whole = x[(..., *part)]
        expected[(..., *at)] = whole.mean(tuple(range(-n, 0)), dtype="f8")
        back[(..., *part)] += g[(..., *at, *[None] * n)] / np.prod(whole.shape[-n:])
    tolerance = 1e-6 if dtype == "f4" else 1e-15
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(grown.numpy(), back, rtol=tolerance, atol=tolerance)


WINDOWS = [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 2), (2, 3, 0, 1), ((2, 3), (1, 2), (0, 1), 1), (4, 4, 2, 1)]


SIZES = {"1": (2, 3, 19), "2": (2, 3, 9, 8), "3": (2, 2, 5, 7, 6)}


def _bits(found, expected):
    np.testing.assert_array_equal(found.double().numpy(), expected.double().numpy())


def _as_defined(name, more, dtype, exact):
    """Results, gradients and second gradients of a native pooling, and its definition's."""
    rng = np.random.default_rng(0)
    x = weft.from_numpy(rng.normal(size=SIZES[name[-2]])).to(dtype).requires_grad_()
    shown, defined = getattr(weft.nn.functional, name)(x, *more), registry[name].function(x, *more)
    np.testing.assert_allclose(shown.detach().double().numpy(), defined.detach().double().numpy(), rtol=exact, atol=exact)
    g = weft.from_numpy(rng.normal(size=tuple(shown.shape))).to(dtype).requires_grad_()
    (expected,) = weft.autograd.grad(defined, x, g, retain_graph=True)
    (found,) = weft.autograd.grad(shown, x, g, retain_graph=True)
    _bits(found, expected)
    (again,) = weft.autograd.grad(shown, x, g, create_graph=True)
    (twice,) = weft.autograd.grad(again.square().sum(), g)
    (defined_again,) = weft.autograd.grad(defined, x, g, create_graph=True)
    (defined_twice,) = weft.autograd.grad(defined_again.square().sum(), g)
    close = 1e-5 if dtype.itemsize > 2 else 2e-2
    np.testing.assert_allclose(twice.double().numpy(), defined_twice.double().numpy(), rtol=close, atol=close)
    return shown.grad_fn.name()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [7, 8, 17, 64, 65])
def test_the_first_of_the_largest_in_large_windows_has_the_place(width, dtype):
    rng = np.random.default_rng(width)
    x = rng.integers(-3, 3, (40, 1, 5, width)).astype(dtype)
    x[x == 0] = rng.choice([0.0, -0.0], (x == 0).sum())
    x[5:15][rng.random((10, 1, 5, width)) < 0.02] = np.nan
    x[20:25] = -np.inf
    values, places = weft.nn.functional.max_pool2d(weft.from_numpy(x), (5, width), return_indices=True)
    rows = x.reshape(40, -1)
    at = rows.argmax(1)  # (of NumPy too the first, and NaN the largest)
    assert places.reshape(-1).tolist() == at.tolist()
    assert values.numpy().tobytes() == rows[np.arange(40), at].tobytes()


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16, weft.float16], ids=str)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("name", ["max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"])
def test_gradients_of_native_pooling_are_those_of_its_definition(name, beyond, window, dtype):
    kernel, stride, padding, dilation = window
    if name.endswith("1d"):
        kernel, stride, padding = (v[-1] if isinstance(v, tuple) else v for v in (kernel, stride, padding))
    if name.endswith("3d"):
        kernel, stride, padding = ((2, *v) if isinstance(v, tuple) else v for v in (kernel, stride, padding))
        padding = (0, *padding[1:]) if isinstance(padding, tuple) else padding
    if name.startswith("max"):
        node = _as_defined(name, (kernel, stride, padding, dilation, beyond, False), dtype, 0)
        assert dtype.itemsize == 2 or node.startswith("MaxPool")
        return
    exact = 1e-6 if dtype.itemsize > 2 else 1e-2  # (sums of windows: by rows, or as they come)
    for of_padding, divisor in ((True, None), (False, None), (True, 5), (False, -3)):
        node = _as_defined(name, (kernel, stride, padding, beyond, of_padding, divisor), dtype, exact)
        assert dtype.itemsize == 2 or node.startswith("AvgPool")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_pools_with_gradients_do_not_enter_python(n):
    F = weft.nn.functional
    before = sum(_native.python_entries().values())
    for dtype in (weft.float32, weft.bfloat16):
        x = weft.ones(SIZES[str(n)], dtype=dtype).requires_grad_()
        getattr(F, f"max_pool{n}d")(x, 2, ceil_mode=True)
        getattr(F, f"max_pool{n}d")(x, 2, 1, 1, return_indices=True)
        getattr(F, f"avg_pool{n}d")(x, 3, 2, 1, True, False)
    assert sum(_native.python_entries().values()) == before


@pytest.mark.parametrize(
    "window",
    [
        ((9, 3, 2), (9, 2, 2), 1, 1),
        ((4, 1, 1), 1, (2, 0, 0), 1),
        ((3, 2, 2), 1, 1, (2, 1, 1)),
        ((3, 2, 2), 1, 1, (1, 2, 1)),
        ((9, 1, 1), 1, (4, 0, 0), 1),
    ],
)
def test_gradients_of_ones_count_how_often_a_place_is_named(window):
    """Windows of more planes than are told apart in one pass, and dilated ones."""
    leaf = weft.from_numpy(np.random.default_rng(0).normal(size=(2, 11, 6, 5))).requires_grad_()
    values, places = weft.nn.functional.max_pool3d(leaf, *window, return_indices=True)
    (found,) = weft.autograd.grad(values, leaf, weft.ones_like(values))
    counts = np.stack([np.bincount(row, minlength=330) for row in places.reshape(2, -1).numpy()])
    np.testing.assert_array_equal(found.numpy().reshape(2, -1), counts)


@pytest.mark.parametrize("window", [(3, 1, 1, 1), (4, 1, 2, 1), (3, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("name", ["max_pool1d", "max_pool2d", "max_pool3d"])
def test_gradients_of_largest_elements_are_added_in_the_order_of_the_windows(name, window):
    rng = np.random.default_rng(0)
    leaf = weft.from_numpy(rng.normal(size=SIZES[name[-2]]).astype("f4")).requires_grad_()
    values, places = getattr(weft.nn.functional, name)(leaf, *window, return_indices=True)
    g = rng.normal(size=tuple(values.shape)).astype("f4")
    (found,) = weft.autograd.grad(values, leaf, weft.from_numpy(g))
    expected = np.zeros((leaf.shape[0] * leaf.shape[1], leaf[0, 0].numel()), "f4")
    for row, at, added in zip(expected, places.flatten(2).flatten(0, 1).numpy(), g.reshape(len(expected), -1)):
        np.add.at(row, at, added)
    np.testing.assert_array_equal(found.numpy().reshape(expected.shape), expected)


def test_windows_whose_taps_all_lie_in_the_padding_read_nothing():
    leaf = weft.ones(1, 1, 1, 1).requires_grad_()
    values, _ = weft.nn.functional.max_pool2d(leaf, (1, 2), 1, (0, 2), (1, 3), return_indices=True)
    assert values.tolist() == [[[[-np.inf, -np.inf]]]]
    values.sum().backward()
    assert leaf.grad.tolist() == [[[[0.0]]]]


def test_places_of_the_largest_elements_follow_padding_and_nan():
    x = weft.tensor([[[-np.inf, -np.inf, 1.0, np.nan], [2.0, 2.0, np.nan, 0.0]]])
    values, places = weft.nn.functional.max_pool2d(x, 2, 1, 1, return_indices=True)
    assert places.tolist() == [[[0, 0, 2, 3, 3], [4, 4, 6, 3, 3], [4, 4, 6, 6, 7]]]
    assert np.array_equal(values.numpy().reshape(-1), x.numpy().reshape(-1)[places.numpy().reshape(-1)], equal_nan=True)


@pytest.mark.parametrize("args", [(3, 1), (3, 2, 1, False, False), (2, 2, 1, True, True)], ids=str)
@pytest.mark.parametrize("name, sizes", [("avg_pool1d", (2, 3, 31)), ("avg_pool2d", (2, 3, 9, 11)), ("avg_pool3d", (3, 5, 7, 6))])
def test_means_are_added_up_in_one_order(name, sizes, args):
    """Recorded and exact, or of a layout that eager's pass does not take: the same bits."""
    weft.manual_seed(0)
    x = weft.randn(sizes)
    x[x.abs() < 0.4] = -0.0
    pool = lambda x: getattr(weft.nn.functional, name)(x, *args)
    expected = pool(x)
    weft.compiler.reset()
    recorded = weft.compile(pool, fullgraph=True, options={"exact": True})(x.clone().requires_grad_())
    turned = pool(x.transpose(-1, -2).contiguous().transpose(-1, -2))
    for found in (recorded.detach(), turned):
        assert weft.equal(found, expected) and weft.equal(found.signbit(), expected.signbit())


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.int64], ids=str)
def test_means_of_nothing_and_of_images_smaller_than_a_window_are_refused(dtype):
    f = weft.nn.functional
    with pytest.raises(RuntimeError, match=r"input image \(T: 2 H: 4 W: 4\) smaller than kernel size \(kT: 3 kH: 3 kW: 3\)"):
        f.avg_pool3d(weft.zeros(1, 1, 2, 4, 4, dtype=dtype), 3, 1, 1)
    with pytest.raises(RuntimeError, match="non-batch dimensions to have positive length"):
        f.avg_pool3d(weft.zeros(2, 0, 4, 4, 4, dtype=dtype), 3, 1, 1)
    with pytest.raises(RuntimeError, match=r"Expected 3D or 4D \(batch mode\) tensor with optional 0 dim batch size"):
        f.avg_pool2d(weft.zeros(2, 0, 4, 4, dtype=dtype), 3, 1, 1)
    assert f.avg_pool2d(weft.zeros(0, 2, 4, 4, dtype=dtype), 3, 1, 1).shape == (0, 2, 4, 4)


@pytest.mark.parametrize("compiled", [False, True])
def test_windows_that_see_padding_alone_send_their_gradient_where_their_index_says(compiled):
    """PyTorch's answer, but for indices outside of the image, where it writes past the memory."""
    for n, sizes, wanted in (
        (2, (1, 1, 5, 2), {2: 1.0, 4: 1.0, 6: 2.0}),
        (3, (1, 1, 5, 5, 2), {2: 1.0, 4: 1.0, 6: 2.0, 12: 1.0, 14: 1.0, 16: 2.0, 22: 2.0, 24: 2.0, 26: 4.0}),
        (1, (2, 2, 2), {}),
    ):
        pool = lambda x, n=n: getattr(weft.nn.functional, f"max_pool{n}d")(x, 2, stride=1, padding=1, dilation=3)
        x = weft.ones(sizes, requires_grad=True)
        out = (weft.compile(pool, fullgraph=True) if compiled else pool)(x)
        out.sum().backward()
        assert (out == -float("inf")).all()
        assert {i: g for i, g in enumerate(x.grad.flatten().tolist()) if g} == wanted
