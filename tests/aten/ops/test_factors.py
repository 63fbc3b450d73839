"""Systems solved by factors: LDL^T with pivots as LAPACK's, Cholesky."""

import numpy as np
import pytest

import aten
from aten import autograd
from aten.errors import LinAlgError
from aten.tensor import from_numpy

_generator = np.random.default_rng(0)


def symmetric(*sizes, hermitian=False, zeros=0.0):
    a = _generator.standard_normal(sizes) + 1j * _generator.standard_normal(sizes)
    a = np.where(_generator.random(sizes) < zeros, 0, a)
    return a + np.swapaxes(a, -1, -2).conj() if hermitian else a.real + np.swapaxes(a.real, -1, -2)


def test_factors_and_pivots_are_those_of_lapack():
    """The answer of PyTorch 2.13 for a matrix whose first block has two rows."""
    a = aten.tensor([[1.0, 9, 9], [2, 0, 9], [3, 4, 0]])  # the upper triangle is not read
    ld, pivots = aten.linalg_ldl_factor(a)
    np.testing.assert_allclose(ld.numpy(), [[1, 0, 0], [3, 0, 0], [1.3333333, 0.2222222, -3.5555556]], rtol=1e-6)
    assert pivots.tolist() == [-3, -3, 3] and pivots.dtype is aten.int32


@pytest.mark.parametrize("n", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("hermitian", [False, True])
def test_what_was_factored_is_solved(n, hermitian):
    a = symmetric(2, 3, n, n, hermitian=hermitian, zeros=0.5) + np.eye(n) * 0.1
    b = _generator.standard_normal((3, n, 2)).astype(a.dtype)
    ld, pivots, info = aten.linalg_ldl_factor_ex(from_numpy(a), hermitian=hermitian)
    x = aten.linalg_ldl_solve(ld, pivots, from_numpy(b), hermitian=hermitian)
    assert not info.any() and tuple(x.shape) == (2, 3, n, 2)
    np.testing.assert_allclose(a @ x.numpy(), np.broadcast_to(b, x.shape), atol=1e-8)


def test_a_zero_pivot_is_told():
    assert aten.linalg_ldl_factor_ex(aten.zeros(2, 3, 3)).info.tolist() == [1, 1]
    with pytest.raises(LinAlgError):
        aten.linalg_ldl_factor(aten.zeros(3, 3))


def test_only_the_right_side_of_a_factored_system_has_a_gradient():
    ld, pivots = aten.linalg_ldl_factor(from_numpy(symmetric(4, 4)))
    b = from_numpy(_generator.standard_normal((4, 2))).requires_grad_()
    assert autograd.gradcheck(lambda b: aten.linalg_ldl_solve(ld, pivots, b), (b,), atol=1e-5)
    with pytest.raises(RuntimeError, match="derivative for aten::linalg_ldl_solve is not implemented"):
        aten.linalg_ldl_solve(ld.requires_grad_(), pivots, b).sum().backward()
    with pytest.raises(RuntimeError, match="derivative for aten::linalg_ldl_factor_ex is not implemented"):
        aten.linalg_ldl_factor(ld).LD.sum().backward()


@pytest.mark.parametrize("upper", [False, True])
def test_gradients_of_a_cholesky_factor(upper):
    """Of a triangular factor they are those of finite differences, and they fill the whole square."""
    a = symmetric(3, 3) @ np.eye(3)
    a = from_numpy(a @ a + np.eye(3)).requires_grad_()
    b = from_numpy(_generator.standard_normal((3, 2))).requires_grad_()
    factor = lambda a: aten.linalg_cholesky((a + a.t()) / 2, upper=upper)
    assert autograd.gradcheck(lambda a, b: aten.cholesky_solve(b, factor(a), upper), (a, b), atol=1e-5)
    assert autograd.gradcheck(lambda a: aten.cholesky_inverse(factor(a), upper), (a,), atol=1e-5)
    full = factor(a).detach().requires_grad_()
    aten.cholesky_solve(b, full, upper).sum().backward()
    assert (full.grad != 0).all()
