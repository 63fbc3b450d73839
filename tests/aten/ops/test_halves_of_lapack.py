"""Linear algebra of halves, which PyTorch refuses as LAPACK has no such numbers. Expected: PyTorch 2.13."""

import pytest

import weft

L = weft.linalg
P = weft.tensor([1, 2], dtype=weft.int32)
REFUSED = {
    "cholesky_cpu": [L.cholesky, L.cholesky_ex, weft.cholesky],
    "lu_cpu": [L.lu, L.lu_factor, L.lu_factor_ex, weft.lu, L.det, weft.det, lambda a: L.solve(a, a), lambda a: L.solve_ex(a, a)],
    "linalg_eigh_cpu": [L.eigh, L.eigvalsh],
    "linalg_eig_out_cpu": [L.eig, L.eigvals],
    "linalg_svd_cpu": [L.svd, L.svdvals, weft.svd, L.cond],
    "geqrf_cpu": [L.qr, weft.qr, weft.geqrf],
    "orgqr_cpu": [lambda a: weft.orgqr(a, a[0])],
    "ormqr_cpu": [lambda a: weft.ormqr(a, a[0], a)],
    "triangular_solve_cpu": [lambda a: L.solve_triangular(a, a, upper=True), lambda a: weft.triangular_solve(a, a)],
    "cholesky_solve_cpu": [lambda a: weft.cholesky_solve(a, a)],
    "cholesky_inverse_out_cpu": [weft.cholesky_inverse],
    "linalg.lu_solve_cpu": [lambda a: L.lu_solve(a, P, a)],
    "ldl_solve_kernel_cpu": [lambda a: L.ldl_solve(a, P, a)],
}
LOW = {
    "linalg.inv": [L.inv, L.inv_ex, weft.inverse, lambda a: L.cond(a, 1)],
    "linalg.slogdet": [L.slogdet, weft.slogdet],
    "logdet": [weft.logdet],
    "linalg.matrix_norm": [lambda a: L.matrix_norm(a, 2), lambda a: weft.norm(a, "nuc")],
}
TYPES = {weft.float16: "Half", weft.bfloat16: "BFloat16"}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("kernel", REFUSED)
def test_kernels_of_lapack(kernel, dtype):
    for function in REFUSED[kernel]:
        with pytest.raises(NotImplementedError) as refused:
            function(weft.eye(2, dtype=dtype))
        assert str(refused.value) == f"\"{kernel}\" not implemented for '{TYPES[dtype]}'"


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", LOW)
def test_functions_that_ask_first(name, dtype):
    for function in LOW[name]:
        with pytest.raises(RuntimeError) as refused:
            function(weft.eye(2, dtype=dtype))
        assert str(refused.value) == f"{name}: Low precision dtypes not supported. Got {TYPES[dtype]}"


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_functions_with_words_of_their_own(dtype):
    a = weft.eye(2, dtype=dtype)
    for function in (L.matrix_rank, lambda a: L.lstsq(a, a)):
        with pytest.raises(RuntimeError, match="This function doesn't handle types other than float and double"):
            function(a)
    with pytest.raises(RuntimeError, match=r"linalg.pinv\(.*\[2, 2\]}\): expected a tensor with 2 or more dimensions of float"):
        L.pinv(a)
    with pytest.raises(RuntimeError, match=f"linalg.vander supports floating point, .* but got {TYPES[dtype]}"):
        L.vander(a[0])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_what_needs_no_lapack_takes_halves(dtype):
    a = weft.eye(2, dtype=dtype)
    assert L.matrix_norm(a, 1).item() == 1.0 and L.matrix_power(a, 2).equal(a) and L.multi_dot([a, a, a]).equal(a)


@pytest.mark.parametrize("compiled", [False, True])
def test_autocast_gives_lapack_float32(compiled):
    def f(x):
        with weft.autocast("cpu", dtype=weft.bfloat16):
            a = x @ x
            return a, L.inv(a), L.qr(a)[1], weft.lu(a)[0], *[L.matrix_power(a, n) for n in (-3, 0, 3)]

    weft.compiler.reset()
    low, full = weft.bfloat16, weft.float32
    results = (weft.compile(f) if compiled else f)(weft.eye(2))
    assert [r.dtype for r in results] == [low, full, full, full, low, low, low]
    assert all(r.float().abs().equal(weft.eye(2)) for r in results)
