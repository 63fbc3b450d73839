"""Linear algebra by LAPACK in the dtype of the matrices: what it decomposes multiplies back, for every dtype, shape and layout."""

import numpy as np
import pytest

import weft
from aten.op import registry

_DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
_SHAPES = [(1, 1), (3, 3), (2, 3, 6, 6), (70, 70), (4, 7), (7, 4), (2, 5, 3), (40, 90), (90, 40)]
_SQUARE = [s for s in _SHAPES if s[-1] == s[-2]]


def _made(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def _positive(shape, dtype):
    a = _made(shape, dtype)
    return a @ _adjoint(a) + shape[-1] * np.eye(shape[-1], dtype=dtype)


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def _layouts(x):
    """The matrices by rows, by columns, and spread in memory."""
    wide = np.repeat(np.repeat(x, 2, -1), 2, -2)
    by_columns = weft.from_numpy(np.ascontiguousarray(np.swapaxes(x, -1, -2))).transpose(-1, -2)
    return [weft.from_numpy(x), by_columns, weft.from_numpy(wide)[..., ::2, ::2]]


def _close(found, wanted, factor=1):
    found = found.numpy() if isinstance(found, weft.Tensor) else found
    assert found.shape == np.shape(wanted)
    eps = max(np.finfo(np.asarray(x).dtype).eps for x in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=3e3 * factor * eps * (1 + np.abs(wanted).max()))


def _orthonormal(q):
    _close(_adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", _SHAPES)
def test_decompositions_of_any_matrix(shape, dtype):
    a = _made(shape, dtype)
    k = min(shape[-2:])
    for t in _layouts(a):
        for mode in ("reduced", "complete"):
            q, r = (x.numpy() for x in weft.linalg.qr(t, mode))
            _close(q @ r, a)
            _orthonormal(q)
            assert not np.tril(r, -1).any()
            _close(r, np.linalg.qr(a, mode)[1])
        _close(weft.linalg.qr(t, "r").R, np.linalg.qr(a, "r"))
        for full in (True, False):
            u, s, vh = (x.numpy() for x in weft.linalg.svd(t, full))
            assert [x.shape for x in (u, s, vh)] == [x.shape for x in np.linalg.svd(a, full)]
            _close((u[..., :, :k] * s[..., None, :]) @ vh[..., :k, :], a)
            _orthonormal(u)
            _orthonormal(_adjoint(vh))
        _close(weft.linalg.svdvals(t), np.linalg.svd(a, compute_uv=False))
        p, low, up = (x.numpy() for x in weft.linalg.lu(t))
        _close(p @ low @ up, a)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", _SQUARE)
def test_systems_and_determinants(shape, dtype):
    a = _made(shape, dtype) + 4 * np.eye(shape[-1], dtype=dtype)
    b = _made((*shape[:-1], 3), dtype, 1)
    for t in _layouts(a):
        _close(a @ weft.linalg.inv(t).numpy(), np.broadcast_to(np.eye(shape[-1]), shape), 10)
        _close(a @ weft.linalg.solve(t, weft.from_numpy(b)).numpy(), b, 10)
        for found, wanted in zip(weft.linalg.slogdet(t), np.linalg.slogdet(a)):
            _close(found, wanted)
        if shape[-1] < 10:
            _close(weft.linalg.det(t), np.linalg.det(a))
            x = t.clone().requires_grad_()
            (g,) = weft.autograd.grad(weft.linalg.det(x).sum(), x, weft.ones([], dtype=t.dtype))
            _close(g, _adjoint(np.linalg.inv(a)) * np.conj(np.linalg.det(a))[..., None, None], 10)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", _SQUARE)
def test_symmetric_matrices(shape, dtype):
    a = _positive(shape, dtype)
    b = weft.from_numpy(_made((*shape[:-1], 3), dtype, 1))
    for upper in (False, True):
        half = (np.triu(a) + 7 * np.tril(np.ones(shape), -1) if upper else np.tril(a) + 7 * np.triu(np.ones(shape), 1)).astype(
            dtype
        )
        for t in _layouts(half):  # the other triangle is not read
            factor = weft.linalg.cholesky(t, upper=upper)
            f = factor.numpy()
            _close(_adjoint(f) @ f if upper else f @ _adjoint(f), a)
            assert not (np.tril(f, -1) if upper else np.triu(f, 1)).any()
            _close(a @ weft.cholesky_solve(b, factor, upper=upper).numpy(), b.numpy(), 10)
            values, vectors = (x.numpy() for x in weft.linalg.eigh(t, "U" if upper else "L"))
            _close((vectors * values[..., None, :]) @ _adjoint(vectors), a)
            _orthonormal(vectors)
            _close(weft.linalg.eigvalsh(t, "U" if upper else "L"), np.linalg.eigvalsh(a))


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular_systems(dtype, upper, unit):
    a = (_made((3, 6, 6), dtype) / 8 + np.eye(6)).astype(dtype)
    triangle = np.triu(a) if upper else np.tril(a)
    triangle = triangle * (1 - np.eye(6)) + np.eye(6) if unit else triangle
    for t in _layouts(a):
        for left in (True, False):
            b = _made((3, 6, 4) if left else (3, 4, 6), dtype, 1)
            x = weft.linalg.solve_triangular(t, weft.from_numpy(b), upper=upper, left=left, unitriangular=unit).numpy()
            _close(triangle @ x if left else x @ triangle, b, 10)


def test_values_alone_have_the_gradients_of_decompositions():
    a = _positive((3, 5, 5), np.float64)
    for alone, whole in [
        (weft.linalg.svdvals, lambda x: weft.linalg.svd(x)[1]),
        (weft.linalg.eigvalsh, lambda x: weft.linalg.eigh(x)[0]),
    ]:
        x, y = (weft.from_numpy(a).requires_grad_() for _ in range(2))
        alone(x).pow(2).sum().backward()
        whole(y).pow(2).sum().backward()
        weft.testing.assert_close(x.grad, y.grad)
        jacobian = weft.func.jacrev(alone)(x.detach()[0])
        weft.testing.assert_close(jacobian, weft.func.jacrev(whole)(x.detach()[0]))
        assert weft.autograd.gradgradcheck(lambda x, alone=alone: alone(x + x.mT), (weft.from_numpy(a[0]).requires_grad_(),))


def test_what_fails_says_why():
    with pytest.raises(weft.linalg.LinAlgError, match="the input matrix is singular"):
        weft.linalg.solve(weft.ones(2, 2), weft.ones(2, 1))
    with pytest.raises(weft.linalg.LinAlgError, match="not positive-definite"):
        weft.linalg.cholesky(-weft.eye(3))
    assert weft.linalg.det(weft.ones(3, 3)) == 0 and weft.linalg.slogdet(weft.zeros(3, 3)).logabsdet == -weft.inf
    assert weft.linalg.inv(weft.empty(0, 3, 3)).shape == (0, 3, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 16, 31, 32, 33, 65, 130, 515])
def test_systems_of_every_size(n, dtype):
    """Blocks, parts of blocks, and those large enough for LAPACK."""
    a, b = _made((n, n), dtype), _made((n, 11), dtype, 1)
    solved = weft.linalg.solve(weft.from_numpy(a), weft.from_numpy(b)).numpy()
    factor = np.linalg.cond(a)
    _close(solved, np.linalg.solve(a.astype(np.float64), b.astype(np.float64)).astype(dtype), factor)
    _close(weft.linalg.inv(weft.from_numpy(a)), np.linalg.inv(a.astype(np.float64)).astype(dtype), factor)
    low, up = np.tril(a) + 3 * n**0.5 * np.eye(n, dtype=dtype), np.triu(a, 1) / n + np.eye(n, dtype=dtype)
    for t, upper, unit in ((low, False, False), (up, True, True)):
        for shown in _layouts(t):
            _close(t @ weft.linalg.solve_triangular(shown, weft.from_numpy(b), upper=upper, unitriangular=unit).numpy(), b, n)


def test_decompositions_are_the_same_for_any_instruction_set():
    from aten import _native

    a, b = weft.from_numpy(_made((3, 75, 75), np.float32)), weft.from_numpy(_made((3, 75, 9), np.float32, 1))
    try:
        found = [(_native._use_kernels(level), weft.linalg.solve(a, b)) for level in (3, 4)]
    finally:
        _native._use_kernels(4)
    assert found[0][0] == "none" or weft.equal(found[0][1], found[1][1])


def test_a_column_of_zeros_is_singular():
    a = weft.from_numpy(_made((40, 40), np.float32))
    a[:, 17] = 0
    with pytest.raises(RuntimeError, match="singular"):
        weft.linalg.inv(a)
    assert weft.linalg.det(a) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_gradients_of_determinants_whose_inverse_needs_more_digits_are_native(dtype, monkeypatch):
    def refuse(*_):
        raise AssertionError("not native")

    monkeypatch.setattr(registry["adjugate"], "kernel_fn", refuse)
    u, v = (np.linalg.qr(_made((12, 12), dtype, seed).astype(np.result_type(dtype, np.float64)))[0] for seed in (1, 2))
    a = ((u * np.geomspace(1, 1e-6, 12) ** (np.arange(12) == 11)) @ v).astype(dtype)  # one singular value is 1e-6
    for t in _layouts(a):
        t = t.detach().requires_grad_()
        weft.linalg.det(t).backward(weft.ones((), dtype=t.dtype))
        exact = a.astype(np.result_type(dtype, np.float64))
        _close(t.grad.numpy(), _adjoint(np.linalg.det(exact) * np.linalg.inv(exact)).astype(dtype))


@pytest.mark.parametrize("dtype", _DTYPES)
def test_products_of_vectors_and_powers_of_numbers(dtype):
    x, y = _made((300,), dtype, 1), _made((300,), dtype, 2)
    for dim in (0, -1):
        _close(weft.linalg.vecdot(weft.from_numpy(x), weft.from_numpy(y), dim=dim), np.vdot(x, y))
    with pytest.raises(IndexError):
        weft.linalg.vecdot(weft.from_numpy(x), weft.from_numpy(y), dim=1)
    a = _made((40, 1, 1), dtype)
    _close(weft.linalg.matrix_power(weft.from_numpy(a), 5), a**5)
