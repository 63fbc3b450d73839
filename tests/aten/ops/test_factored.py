"""Systems and products by packed factors (LU, reflections, LDL^T): right for every dtype, layout and batch, and native."""

import numpy as np
import pytest

import weft
from aten.op import registry
from weft import linalg

_DTYPES = [weft.float32, weft.float64, weft.complex64, weft.complex128]


def _near(found, wanted):
    eps = weft.finfo(wanted.dtype).eps
    weft.testing.assert_close(found, wanted, rtol=0, atol=2e3 * eps * (1 + wanted.abs().max().item()))


def _spread(x):
    """The same matrices in other places."""
    return weft.stack([x, x], -1)[..., 0]


@pytest.fixture
def only_native(monkeypatch):
    """Fails where an op's definition in NumPy is called."""

    def refuse(*_):
        raise AssertionError("not native")

    for name in "lu_solve_matrix permutation_of product_of_reflections reflected cholesky_info linalg_ldl_factor_ex".split():
        monkeypatch.setattr(registry[name], "kernel_fn", refuse)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("batch, n, width", [((), 1, 1), ((), 40, 1), ((2, 3), 5, 4)])
def test_systems_by_lu_factors(dtype, batch, n, width, only_native):
    a = weft.randn(*batch, n, n, dtype=dtype) + 2 * weft.eye(n, dtype=dtype)
    factors, pivots = linalg.lu_factor(a)
    for lu in (factors, factors.contiguous(), _spread(factors)):
        for adjoint in (False, True):
            b = weft.randn(n, width, dtype=dtype)
            matrix = a.mH if adjoint else a
            _near(matrix @ linalg.lu_solve(lu, pivots, b, adjoint=adjoint), b.expand(*batch, n, width))
            left = linalg.lu_solve(lu, pivots, b.mT, left=False, adjoint=adjoint)
            _near(left @ matrix, b.mT.expand(*batch, width, n))
    p, low, up = weft.lu_unpack(factors, pivots)
    _near(p @ low @ up, a)


def test_of_singular_factors_the_solution_is_not_finite():
    lu, pivots, _ = linalg.lu_factor_ex(weft.tensor([[1.0, 2], [2, 4]]))
    assert not linalg.lu_solve(lu, pivots, weft.ones(2, 1)).isfinite().any()


def test_systems_by_lu_factors_of_nothing_and_refused():
    lu, pivots = linalg.lu_factor(weft.eye(3))
    assert linalg.lu_solve(lu, pivots, weft.ones(3, 0)).shape == (3, 0)
    empty = linalg.lu_solve(weft.ones(2, 0, 0), weft.ones(2, 0, dtype=weft.int32), weft.ones(2, 0, 3))
    assert empty.shape == (2, 0, 3)
    with pytest.raises(RuntimeError, match="same dtype"):
        linalg.lu_solve(lu, pivots, weft.ones(3, 1, dtype=weft.float64))
    with pytest.raises(RuntimeError, match="Incompatible shapes"):
        linalg.lu_solve(lu, pivots, weft.ones(4, 1))


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128])
def test_gradients_of_systems_by_lu_factors(adjoint, dtype):
    lu, pivots = linalg.lu_factor(weft.randn(2, 4, 4, dtype=dtype) + 3 * weft.eye(4, dtype=dtype))
    lu, b = lu.requires_grad_(), weft.randn(4, 3, dtype=dtype, requires_grad=True)
    solve = lambda lu, b: linalg.lu_solve(lu, pivots, b, adjoint=adjoint)
    assert weft.autograd.gradcheck(solve, (lu, b), atol=1e-5)
    assert weft.autograd.gradcheck(lambda lu, b: linalg.lu_solve(lu, pivots, b.mT, left=False, adjoint=adjoint), (lu, b), atol=1e-5)
    weft.testing.assert_close(weft.compile(solve, fullgraph=True)(lu, b), solve(lu, b))
    mapped = weft.vmap(lambda lu, p: linalg.lu_solve(lu, p, b, adjoint=adjoint))(lu, pivots)
    weft.testing.assert_close(mapped, solve(lu, b))


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("batch, m, n", [((), 1, 1), ((), 30, 30), ((2,), 7, 4)])
def test_products_of_reflections(dtype, batch, m, n, only_native):
    a = weft.randn(*batch, m, n, dtype=dtype)
    made, tau = weft.geqrf(a)
    for h in (made, made.contiguous(), _spread(made)):
        q = linalg.householder_product(h, tau)
        _near(q @ made.triu()[..., :n, :], a)
        whole = weft.ormqr(h, tau, weft.eye(m, dtype=dtype).expand(*batch, m, m))
        _near(whole[..., :n], q)
        c = weft.randn(*batch, m, 3, dtype=dtype)
        _near(weft.ormqr(h, tau, c), whole @ c)
        _near(weft.ormqr(h, tau, c, transpose=True), whole.mH @ c)
        _near(weft.ormqr(h, tau, c.mT, left=False), c.mT @ whole)
        _near(weft.ormqr(h, tau, c.mT, left=False, transpose=True), c.mT @ whole.mH)


@pytest.mark.parametrize("dtype", [weft.float64, weft.complex128])
def test_gradients_of_products_of_reflections(dtype):
    h, tau = (x.detach().requires_grad_() for x in weft.geqrf(weft.randn(5, 3, dtype=dtype)))
    c = weft.randn(5, 2, dtype=dtype, requires_grad=True)
    assert weft.autograd.gradcheck(linalg.householder_product, (h, tau), atol=1e-5)
    for turned in (False, True):
        assert weft.autograd.gradcheck(lambda h, tau, c, t=turned: weft.ormqr(h, tau, c, transpose=t), (h, tau, c), atol=1e-5)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("n", [1, 9, 70])
def test_factors_of_good_matrices_are_native(dtype, n, only_native):
    a = weft.randn(2, n, n, dtype=dtype)
    a = a @ a.mH + weft.eye(n, dtype=dtype)
    for upper in (False, True):
        factor, info = linalg.cholesky_ex(a, upper=upper)
        _near(factor.mH @ factor if upper else factor @ factor.mH, a)
        assert info.tolist() == [0, 0]
    b = weft.randn(2, n, 3, dtype=dtype)
    ld, pivots = linalg.ldl_factor(a, hermitian=True)
    _near(a @ linalg.ldl_solve(ld, pivots, b, hermitian=True), b)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("dtype", _DTYPES)
def test_a_triangle_by_rows_and_one_right_side(dtype, upper, unit):
    a = weft.randn(20, 20, dtype=dtype) / 20 + weft.eye(20, dtype=dtype)
    b = weft.randn(20, 1, dtype=dtype)
    x = linalg.solve_triangular(a, b, upper=upper, unitriangular=unit)
    triangle = a.triu() if upper else a.tril()
    if unit:
        triangle = triangle - triangle.diagonal().diag() + weft.eye(20, dtype=dtype)
    _near(triangle @ x, b)
    np.testing.assert_array_equal(x.shape, b.shape)
