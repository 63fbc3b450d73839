"""Convolutions by the loops of shifted.h: what NumPy's windows give, the same bits for every instruction set, and nothing from
places where no window is."""

import numpy as np
import pytest

from aten import _native, dispatch
from aten.op import registry
from aten.tensor import from_numpy

# sizes, kernel, made, groups, stride, before, dilation, holes, result
CASES = {
    "rows": ([2, 3, 40], [3], 5, 1, [1], [1], [1], [1], [40]),
    "windows": ([2, 3, 9, 11], [3, 3], 13, 1, [1, 1], [1, 1], [1, 1], [1, 1], [9, 11]),
    "strided": ([2, 4, 17, 20], [3, 3], 8, 2, [2, 3], [1, 1], [1, 1], [1, 1], [9, 7]),
    "dilated": ([1, 2, 30, 31], [3, 2], 3, 1, [1, 1], [2, 0], [2, 3], [1, 1], [30, 28]),
    "depthwise": ([2, 6, 12, 13], [3, 3], 6, 6, [1, 1], [1, 1], [1, 1], [1, 1], [12, 13]),
    "depthwise, strided": ([3, 6, 13, 37], [5, 3], 6, 6, [2, 2], [2, 1], [1, 1], [1, 1], [7, 19]),
    "depthwise, far apart": ([2, 3, 20, 41], [3, 4], 6, 3, [1, 3], [1, 2], [2, 1], [1, 1], [18, 14]),
    "depthwise, few places": ([9, 8, 4, 3], [3, 3], 8, 8, [1, 1], [1, 1], [1, 1], [1, 1], [4, 3]),
    "depthwise, cut off": ([2, 5, 9, 30], [2, 3], 5, 5, [1, 1], [-1, -2], [1, 1], [1, 1], [7, 24]),
    "depthwise rows": ([2, 7, 100], [7], 14, 7, [1], [6], [1], [1], [100]),
    "depthwise, transposed": ([2, 4, 9, 12], [3, 3], 4, 4, [1, 1], [1, 1], [1, 1], [2, 2], [17, 23]),
    "depthwise volumes": ([2, 3, 5, 8, 19], [2, 3, 3], 3, 3, [1, 2, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1], [4, 4, 19]),
    "cut off": ([1, 2, 14, 14], [3, 3], 2, 1, [1, 1], [-2, -1], [1, 1], [1, 1], [9, 11]),
    "transposed": ([2, 3, 9, 12], [3, 3], 4, 1, [1, 1], [1, 1], [1, 1], [2, 2], [17, 23]),
    "transposed without taps": ([1, 2, 9, 12], [1, 1], 4, 1, [1, 1], [0, 0], [1, 1], [2, 2], [17, 23]),
    "transposed patches": ([3, 6, 4, 3], [5, 6], 8, 2, [1, 1], [4, 5], [1, 1], [5, 6], [20, 18]),
    "transposed, few places": ([5, 3, 2, 3], [3, 3], 4, 1, [1, 1], [1, 2], [1, 1], [2, 3], [5, 9]),
    "transposed, dilated and cut off": ([2, 4, 3, 4], [3, 2], 5, 1, [1, 1], [-1, 1], [2, 3], [5, 4], [9, 14]),
    "transposed, with room behind": ([2, 2, 3], [2], 3, 1, [1], [9], [1], [3], [40]),
    "around one element": ([3, 6, 1, 1], [4, 3], 4, 2, [1, 1], [3, 2], [1, 1], [1, 1], [4, 3]),
    "around few": ([2, 3, 2, 3], [5, 5], 4, 1, [1, 1], [4, 6], [1, 1], [1, 1], [6, 11]),
    "transposed volumes": ([2, 4, 2, 3, 2], [2, 2, 2], 6, 2, [1, 1, 1], [1, 1, 1], [1, 1, 1], [2, 2, 3], [4, 6, 6]),
    "volumes": ([2, 2, 5, 8, 9], [2, 3, 3], 5, 1, [1, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1], [4, 8, 9]),
    "one result of many channels": ([2, 7, 11, 30], [6, 9], 1, 1, [2, 1], [1, 2], [1, 1], [1, 1], [4, 26]),
    "two results of groups, wide windows": ([2, 6, 20, 21], [11, 9], 4, 2, [1, 1], [5, 4], [1, 1], [1, 1], [20, 21]),
    "one result of a volume": ([1, 1, 9, 25, 30], [1, 10, 13], 1, 1, [1, 1, 1], [0, 4, 6], [1, 1, 1], [1, 1, 1], [9, 25, 30]),
    "transposed, many taps": ([1, 5, 7, 8, 9], [6, 5, 5], 7, 1, [1, 1, 1], [4, 3, 2], [1, 1, 1], [2, 2, 2], [16, 18, 18]),
    "transposed, two results of many channels": ([2, 6, 9, 14], [4, 4], 2, 1, [1, 1], [2, 2], [1, 1], [2, 2], [18, 28]),
    "one tap": ([2, 5, 16, 16], [1, 1], 6, 1, [1, 1], [0, 0], [1, 1], [1, 1], [16, 16]),
    "one tap of many": ([3, 64, 16, 17], [1, 1], 40, 1, [1, 1], [0, 0], [1, 1], [1, 1], [16, 17]),
    "one tap of groups": ([2, 128, 16, 16], [1, 1], 80, 2, [1, 1], [0, 0], [1, 1], [1, 1], [16, 16]),
    "rows of whole tiles": ([2, 3, 9, 36], [3, 3], 32, 1, [1, 1], [1, 0], [1, 2], [1, 1], [9, 32]),
    "volumes of whole tiles": ([1, 2, 5, 8, 34], [2, 3, 3], 8, 1, [1, 1, 1], [0, 1, 0], [1, 1, 1], [1, 1, 1], [4, 8, 32]),
    "transposed rows of whole tiles": ([2, 3, 9, 32], [3, 3], 8, 1, [1, 1], [1, 1], [1, 1], [2, 2], [17, 64]),
    "many channels": ([1, 150, 8, 8], [3, 3], 40, 1, [1, 1], [1, 1], [1, 1], [1, 1], [8, 8]),
}


def operands(case, dtype):
    rng = np.random.default_rng(0)
    sizes, kernel, made, groups, *_, result = case
    x = rng.standard_normal(sizes).astype(dtype)
    weight = rng.standard_normal([made, sizes[1] // groups, *kernel]).astype(dtype)
    return x, weight, rng.standard_normal(made).astype(dtype), rng.standard_normal([sizes[0], made, *result]).astype(dtype)


def native(case, x, weight, bias, g):
    """(results, derivative by the weights)"""
    _, kernel, _, groups, stride, before, dilation, holes, result = case
    out, by_weight = from_numpy(np.full_like(g, np.nan)), from_numpy(np.full_like(weight, np.nan))
    t = from_numpy
    rest = (stride, before, dilation, holes, groups)
    assert registry["convolution"].native_fn(out, t(x), t(weight), t(bias), result, *rest) is None
    assert registry["convolution_weight"].native_fn(by_weight, t(g), t(x), kernel, *rest) is None
    return out.numpy(), by_weight.numpy()


def by_windows(case, x, weight, bias, g, monkeypatch):
    _, kernel, _, groups, stride, before, dilation, holes, result = case
    out, by_weight = np.empty_like(g), np.empty_like(weight)
    with monkeypatch.context() as patch:
        for name in ("convolution", "convolution_weight"):
            patch.setattr(registry[name], "native_fn", lambda *args: NotImplemented)
        registry["convolution"].kernel_fn(out, x, weight, bias, result, stride, before, dilation, holes, groups)
        registry["convolution_weight"].kernel_fn(by_weight, g, x, kernel, stride, before, dilation, holes, groups)
    return out, by_weight


@pytest.mark.parametrize("dtype", ("float32", "float64"))
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_sum_over_windows(name, dtype, monkeypatch):
    given = operands(CASES[name], dtype)
    tolerance = 2e-4 if dtype == "float32" else 1e-11
    for found, expected in zip(native(CASES[name], *given), by_windows(CASES[name], *given, monkeypatch)):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_every_instruction_set_gives_the_same_bits(name):
    given = operands(CASES[name], "float32")
    wide = native(CASES[name], *given)
    try:
        if _native._use_kernels(3) == "none":
            pytest.skip("a processor without AVX2")
        narrow = native(CASES[name], *given)
    finally:
        _native._use_kernels(4)
    assert all(np.array_equal(a, b) for a, b in zip(wide, narrow))


@pytest.mark.parametrize("value", (np.nan, np.inf))
@pytest.mark.parametrize("name", ("windows", "strided", "depthwise", "depthwise, strided", "one tap"))
def test_what_is_not_finite_goes_where_its_windows_are(name, value, monkeypatch):
    x, weight, bias, g = operands(CASES[name], "float32")
    x[0, 0, 3, 0] = g[1, 1, 0, 2] = value
    found, expected = native(CASES[name], x, weight, bias, g), by_windows(CASES[name], x, weight, bias, g, monkeypatch)
    for a, b in zip(found, expected):
        assert np.array_equal(np.isfinite(a), np.isfinite(b))


def test_few_places_and_large_reaches_go_another_way():
    conv = registry["convolution"]
    x, weight = from_numpy(np.ones((2, 1, 3, 3), "float32")), from_numpy(np.ones((2, 1, 3, 3), "float32"))
    out = dispatch.run(conv, (x, weight, None, [3, 3], [1, 1], [9, 9], [9, 9], [1, 1], 1))
    assert out.tolist() == [[[[1.0] * 3] * 3] * 2] * 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [16, 32, 64, 96])
def test_rows_of_whole_tiles_give_the_bits_of_one_run(width, dtype):
    rng = np.random.default_rng(width)
    for made, dilation, sizes in ((32, 2, (11,)), (8, 1, (5,)), (6, 3, (9,)), (4, 2, (6, 7))):
        reach = 2 * dilation
        x = rng.standard_normal((2, 3, *[n + reach for n in sizes], width + 5 + reach)).astype(dtype)
        w = from_numpy(rng.standard_normal((made, 3, *[3] * len(sizes), 3)).astype(dtype))
        convolve = registry["conv3d" if len(sizes) == 2 else "conv2d"]
        bias = from_numpy(rng.standard_normal(made).astype(dtype))
        found = convolve(from_numpy(np.ascontiguousarray(x[..., : width + reach])), w, bias, dilation=dilation)
        wide = convolve(from_numpy(x), w, bias, dilation=dilation)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wide)[..., :width])
