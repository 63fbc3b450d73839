"""`linalg.*_ex` say of each matrix of a batch whether it could be done, and errors name the first that could not."""

import pytest

import weft
from weft import linalg

SINGULAR = weft.stack([weft.eye(2), weft.zeros(2, 2), weft.tensor([[1.0, 2], [2, 4]])])
INDEFINITE = weft.stack([weft.tensor([[4.0, 2], [2, 5]]), weft.tensor([[1.0, 2], [2, 1]]), -weft.eye(2)])


def test_systems_and_inverses_that_fail_have_their_pivot_and_are_not_finite():
    x, info = linalg.solve_ex(SINGULAR, weft.ones(3, 2, 1))
    assert info.dtype is weft.int32 and info.tolist() == [0, 1, 2]
    assert x[0].tolist() == [[1], [1]] and not x[1:].isfinite().all(1).any()
    inverse, info = linalg.inv_ex(SINGULAR)
    assert info.tolist() == [0, 1, 2] and inverse[0].tolist() == [[1, 0], [0, 1]]
    assert linalg.solve_ex(weft.zeros(2, 2), weft.ones(2))[1].item() == 1
    right = linalg.solve_ex(SINGULAR[:1], weft.ones(1, 1, 2), left=False)
    assert right.result.tolist() == [[[1, 1]]] and right.info.tolist() == [0]


def test_factors_that_fail_hold_what_was_done():
    low, info = linalg.cholesky_ex(INDEFINITE)
    assert info.tolist() == [0, 2, 1]
    assert low.tolist() == [[[2, 0], [1, 2]], [[1, 0], [2, -3]], [[-1, 0], [0, -1]]]  # PyTorch 2.13's
    upper = linalg.cholesky_ex(INDEFINITE[0], upper=True).L
    assert upper.tolist() == [[2, 1], [0, 2]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: linalg.inv(SINGULAR), "linalg.inv: (Batch element 1): The diagonal element 1 is zero"),
        (lambda: linalg.inv(SINGULAR[2]), "linalg.inv: The diagonal element 2 is zero"),
        (lambda: linalg.inv_ex(SINGULAR[2], check_errors=True), "linalg.inv_ex: The diagonal element 2 is zero"),
        (lambda: linalg.solve(SINGULAR, weft.ones(2, 2)), "torch.linalg.solve: (Batch element 1): The solver failed"),
        (lambda: linalg.cholesky(INDEFINITE), "(Batch element 1): The factorization could not be completed because the input"),
        (lambda: linalg.cholesky(-weft.eye(2)), "the leading minor of order 1 is not positive-definite"),
    ],
)
def test_errors_name_the_matrix(call, text):
    with pytest.raises(linalg.LinAlgError) as caught:
        call()
    assert text in str(caught.value)


def test_they_are_differentiable_batched_and_compiled():
    a = (weft.randn(3, 4, 4, dtype=weft.float64) + 5 * weft.eye(4)).requires_grad_()
    b = weft.randn(3, 4, 2, dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(lambda a: linalg.cholesky_ex(a @ a.mT).L, a)
    assert weft.autograd.gradcheck(lambda a, b: linalg.solve_ex(a, b).result, (a, b))
    assert weft.autograd.gradcheck(lambda a: linalg.inv_ex(a).inverse, a)
    weft.testing.assert_close(weft.vmap(lambda a: linalg.inv_ex(a).inverse)(a), linalg.inv(a))
    jitter = weft.compile(lambda a: linalg.cholesky_ex(a), fullgraph=True)
    assert jitter(INDEFINITE)[1].tolist() == [0, 2, 1]


@pytest.mark.parametrize("n, at", [(3, 1), (3, 3), (30, 30)])
@pytest.mark.parametrize("dtype", [weft.float64, weft.complex64])
def test_a_pivot_that_is_nan_is_not_positive(n, at, dtype):
    a = weft.eye(n, dtype=dtype)
    a[at - 1, at - 1] = float("nan")
    assert linalg.cholesky_ex(a)[1] == at
    for matrices in (a, weft.stack([weft.eye(n, dtype=dtype), a])):
        with pytest.raises(linalg.LinAlgError, match=f"minor of order {at} "):
            linalg.cholesky(matrices)


@pytest.mark.parametrize("run", [lambda f: f, lambda f: weft.compile(f)], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    "function",
    [linalg.slogdet, weft.logdet, lambda a: linalg.inv_ex(a).inverse, lambda a: linalg.solve_ex(a, weft.ones(2, 1)).result],
    ids=["slogdet", "logdet", "inv_ex", "solve_ex"],
)
def test_gradients_of_singular_matrices_are_not_finite_and_no_error(function, run):
    a = SINGULAR.clone().requires_grad_()
    made = run(function)(a)
    made = made[1] if isinstance(made, tuple) else made
    (slope,) = weft.autograd.grad(made.sum(), a)
    assert slope[0].isfinite().all() and not slope[1].isfinite().all() and not slope[2].isfinite().all()
    with pytest.raises(weft.linalg.LinAlgError):
        linalg.solve(a, weft.ones(2, 1))
