"""Sums, means and products of complex numbers, whole and running, have loops of their own."""

import numpy as np
import pytest

import weft

rng = np.random.default_rng(0)
DTYPES = [weft.complex64, weft.complex128]


def numbers(*sizes, dtype):
    """Of absolute values near 1, so that long products stay finite."""
    x = np.exp(rng.standard_normal(sizes) * 0.05 + 1j * rng.uniform(0, 6, sizes))
    return weft.tensor(x).to(dtype)


def layouts(*sizes, dtype):
    yield numbers(*sizes, dtype=dtype)
    yield numbers(*sizes[::-1], dtype=dtype).permute(*reversed(range(len(sizes))))
    yield numbers(*(2 * n for n in sizes), dtype=dtype)[tuple(slice(None, None, 2) for _ in sizes)]


def close(found, wanted):
    np.testing.assert_allclose(found.numpy(), wanted, *((2e-4, 2e-4) if found.dtype is weft.complex64 else (1e-11, 1e-11)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(3, 5), (1, 1), (70, 33), (2, 3, 40), (3, 9000), (9000, 3), (70000,)])
def test_reductions(sizes, dtype):
    for x in layouts(*sizes, dtype=dtype):
        wide = x.numpy().astype(np.complex128)
        for dim in (*range(len(sizes)), tuple(range(len(sizes))), (0, len(sizes) - 1)):
            dims = tuple(sorted({dim} if isinstance(dim, int) else set(dim)))
            close(x.sum(dims), wide.sum(dims))
            close(x.mean(dims, keepdim=True), wide.mean(dims, keepdims=True))
        for dim in range(len(sizes)):
            close(x.prod(dim), wide.prod(dim))
        close(x.prod(), wide.prod())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(3, 5), (1, 1), (17, 33), (2, 3, 40), (5000,)])
def test_running(sizes, dtype):
    for x in layouts(*sizes, dtype=dtype):
        wide = x.numpy().astype(np.complex128)
        for dim in range(len(sizes)):
            close(x.cumsum(dim), wide.cumsum(dim))
            close(x.cumprod(dim), wide.cumprod(dim))


def test_dtypes_asked_for():
    x = weft.tensor([1.5, 2.0, 4.0])
    for f in (weft.sum, weft.mean, weft.prod):
        found = f(x, dtype=weft.complex64)
        assert found.dtype is weft.complex64 and found.real == f(x) and found.imag == 0
        assert f(x.to(weft.complex64), dtype=weft.complex128).dtype is weft.complex128
    assert weft.cumsum(x, 0, dtype=weft.complex64).tolist() == [1.5, 3.5, 7.5]
    assert weft.any(x.to(weft.complex64)) and weft.all(x.to(weft.complex64))


def test_a_product_of_one_infinite_number_is_that_number():
    x = weft.tensor([complex(1, float("inf"))])
    assert x.prod().item() == x.cumprod(0).item() == x.reshape(1, 1).prod(0).item() == complex(1, float("inf"))


def test_a_slope_flows_through():
    x = numbers(4, 3, dtype=weft.complex128).requires_grad_()
    for f in (weft.sum, weft.mean, weft.prod, weft.cumsum, weft.cumprod):
        assert weft.autograd.gradcheck(lambda x, f=f: f(x, 1), x)
