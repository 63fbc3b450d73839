"""sort and topk against NumPy's stable sort: NaN is the largest, zeros are equal, equal elements keep their order."""

import numpy as np
import pytest

import weft
from aten.op import registry

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


def expected(x, dim, descending):
    back = np.flip(x, dim) if descending else x
    order = np.argsort(back, axis=dim, kind="stable")
    return np.flip(x.shape[dim] - 1 - order, dim) if descending else order


def data(dtype, shape):
    rng = np.random.default_rng(0)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    kind = np.dtype(dtype).kind
    if kind == "f":
        x = (rng.normal(size=shape) * 20).round(1).astype(dtype)  # rounded: with equal elements
        x.flat[:6] = [np.inf, np.nan, -0.0, 0.0, -np.inf, np.nan][: x.size]
        return x
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    x.flat[1::3] = x.flat[0] if x.size else 0
    return x


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_topk(dtype, descending):
    for shape in ((7, 5), (3, 1000), (4, 129), (2, 3, 300), (0, 5), (5, 0), (1,)):
        x = data(dtype, shape)
        t = weft.from_numpy(x.copy())
        for dim in range(-1, len(shape) - 1):
            order = expected(x, dim, descending)
            values, indices = weft.sort(t, dim, descending=descending)
            np.testing.assert_array_equal(indices.numpy(), order)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, order, dim))
            for k in () if dtype == "bool" else {0, 1, 3, x.shape[dim] // 2, x.shape[dim]}:
                if k <= x.shape[dim]:
                    values, indices = t.topk(k, dim, largest=descending)
                    first = np.take(order, np.arange(k), axis=dim)
                    np.testing.assert_array_equal(indices.numpy(), first)
                    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, first, dim))


def test_bfloat16_strided_inputs_and_threads():
    x = weft.randn(64, 3000).to(weft.bfloat16)[:, ::2]
    values, indices = x.sort(1)
    wide = x.float().numpy()
    np.testing.assert_array_equal(indices.numpy(), np.argsort(wide, 1, kind="stable"))
    np.testing.assert_array_equal(values.float().numpy(), np.sort(wide, 1))
    np.testing.assert_array_equal(x.t().topk(5, 0)[0].float().numpy(), -np.sort(-wide.T, 0)[:5])


def test_out_and_backward():
    x = weft.randn(5, 40, requires_grad=True)
    x.topk(3)[0].sum().backward()
    np.testing.assert_array_equal(x.grad.sum(1).numpy(), np.full(5, 3, "f4"))
    made = weft.empty(5, 40), weft.empty(5, 40, dtype=weft.int64)
    weft.sort(x.detach(), 1, out=made)
    np.testing.assert_array_equal(made[0].numpy(), np.sort(x.detach().numpy(), 1))


def test_complex_numbers_have_no_order():
    with pytest.raises(RuntimeError, match="does not support complex input"):
        weft.sort(weft.tensor([2 + 1j, 1j, 2 - 1j]))


def test_long_rows_and_what_topk_refuses():
    x = np.random.default_rng(0).integers(0, 1000, 300_000)  # more than the memory that threads keep
    values, indices = weft.from_numpy(x).sort(descending=True)
    np.testing.assert_array_equal(indices.numpy(), expected(x, 0, True))
    np.testing.assert_array_equal(values.numpy(), np.sort(x)[::-1])
    with pytest.raises(RuntimeError, match="topk does not support bool"):
        weft.ones(3, dtype=weft.bool).topk(1)


def test_results_of_another_size_are_refused():
    """As where another thread gives a tensor other memory between the shape of a result and its kernel."""
    x = weft.rand(6, 5)
    for values, indices in (((2, 2), (2, 2)), ((6, 5), (6, 4)), ((6, 6), (6, 6)), ((5, 6), (5, 6)), ((30,), (30,))):
        out = weft.zeros(values), weft.zeros(indices, dtype=weft.int64)
        for name, rest in (("sort", (1, False, False)), ("topk", (3, 1, True, True)), ("sort", (0, False, False))):
            assert registry[name].native_fn(out, x, *rest) is NotImplemented


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32"])
@pytest.mark.parametrize("high", [2, 10, 2**31 - 1])
@pytest.mark.parametrize("n", [1, 2, 7, 100, 1001])
def test_of_equal_integers_the_one_in_its_place_is_picked(n, high, dtype):
    a = np.random.default_rng(0).integers(0 if dtype == "uint64" else -high, high, (5, n)).astype(dtype)
    order, x = np.argsort(a, 1, kind="stable"), weft.from_numpy(a)
    for k in {1, n, (n + 1) // 2}:
        values, places = weft.kthvalue(x, k, 1)
        np.testing.assert_array_equal(places.numpy(), order[:, k - 1])
        np.testing.assert_array_equal(values.numpy(), np.sort(a, 1)[:, k - 1])
    np.testing.assert_array_equal(weft.median(x, 1)[1].numpy(), order[:, (n - 1) // 2])
