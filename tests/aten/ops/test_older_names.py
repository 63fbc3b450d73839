"""Functions outside of PyTorch's documentation that old programs call. Expected numbers are PyTorch 2.13's."""

import math
import warnings

import pytest
from weft.autograd import gradcheck

import weft
from aten.autograd.gradcheck import GradcheckError

X = weft.tensor([[1.0, -2.0], [0.5, 3.0]])


def near(x, values):
    return weft.allclose(x, weft.tensor(values, dtype=x.dtype), atol=1e-5)


def test_norms_of_matrices():
    assert near(weft.frobenius_norm(X, dim=[0, 1]), math.sqrt(14.25)) and near(weft.frobenius_norm(X, dim=[1]), [5**0.5, 9.25**0.5])
    assert near(weft.nuclear_norm(X), weft.linalg.svdvals(X).sum().item())


def test_in_place_forms_write_into_their_input():
    for name, args in (("dropout_", (0.0, True)), ("feature_dropout_", (0.0, True)), ("alpha_dropout_", (0.0, True))):
        x = X.clone()
        assert getattr(weft, name)(x, *args) is x and weft.equal(x, X)
    assert weft.rrelu_(X.clone(), 0.25, 0.25).tolist() == [[1, -0.5], [0.5, 3]]
    whole = weft.feature_dropout(weft.ones(4, 8, 5), 0.5, True)
    assert set(whole.flatten().tolist()) == {0.0, 2.0} and weft.equal(whole, whole[..., :1].expand(4, 8, 5))
    table = X.clone()
    assert weft.embedding_renorm_(table, weft.tensor([1]), 1.0, 2.0) is table
    assert near(table, [[1, -2], [0.5 / 9.25**0.5, 3 / 9.25**0.5]])


def test_other_names_of_functions():
    image, grid = X.reshape(1, 1, 2, 2), weft.zeros(1, 1, 1, 2)
    assert weft.equal(weft.grid_sampler(image, grid, 0, 0, False), weft.nn.functional.grid_sample(image, grid, align_corners=False))
    theta = weft.tensor([[[1.0, 0, 0], [0, 1, 0]]])
    made = weft.affine_grid_generator(theta, [1, 1, 2, 2], False)
    assert weft.equal(made, weft.nn.functional.affine_grid(theta, [1, 1, 2, 2], False))
    values, places = weft.max_pool1d_with_indices(weft.tensor([[[1.0, 4.0, 2.0, 3.0]]]), 2)
    assert values.tolist() == [[[4, 3]]] and places.tolist() == [[[1, 3]]]
    x, w, b = weft.randn(4, 1, 2), weft.randn(2, 2, 3), weft.randn(3)
    assert near(weft.conv_tbc(x, w, b)[0, 0], (x[0, 0] @ w[0] + x[1, 0] @ w[1] + b).tolist())
    args = ([1], [0], [1], False, [0], 1, False, False, False, False)
    signal, kernel = weft.randn(1, 1, 5), weft.randn(1, 1, 2)
    assert weft.equal(weft._convolution(signal, kernel, None, *args), weft.conv1d(signal, kernel))
    assert near(weft._weight_norm(X, weft.tensor([[1.0], [2.0]]), 0).norm(dim=1), [1, 2])
    assert weft._shape_as_tensor(weft.ones(3, 2)).tolist() == [3, 2] and weft._dim_arange(X, 0).tolist() == [0, 1]
    assert weft._unique2(weft.tensor([1, 1, 2]), return_counts=True)[2].tolist() == [2, 1]
    assert weft._unique2(weft.tensor([1, 1, 2]))[1].numel() == 0
    small = weft.tensor([[100, 100]], dtype=weft.int8)
    assert weft._int_mm(small, small.t()).tolist() == [[20000]] and weft._int_mm(small, small.t()).dtype is weft.int32
    with pytest.raises(RuntimeError, match="kChar"):
        weft._int_mm(X, X)


def test_products_of_sparse_matrices():
    eye = weft.eye(2).to_sparse()
    assert weft.smm(eye, X).layout is weft.sparse_coo and weft.equal(eye.smm(X).to_dense(), X)
    assert weft.equal(weft.hspmm(eye, X).to_dense(), X) and weft.hspmm(eye, X).sparse_dim() == 1
    assert weft.equal(weft.sspaddmm(eye, eye, X, alpha=2).to_dense(), weft.eye(2) + 2 * X)
    with pytest.raises(RuntimeError, match="sparse tensors"):
        weft.smm(X, X)


def test_a_few_eigenvalues():
    A = weft.diag(weft.arange(1.0, 13.0, dtype=weft.float64))
    values, vectors = weft.lobpcg(A, k=2)
    assert values.tolist() == [12, 11] and weft.allclose(A @ vectors, vectors * values)
    values, vectors = weft.lobpcg(A, B=A @ A, X=weft.randn(12, 1, dtype=weft.float64), largest=False)
    assert weft.allclose(values, weft.tensor([1 / 12], dtype=weft.float64)) and weft.allclose(A @ vectors, A @ A @ vectors * values)
    with pytest.raises(ValueError, match="3 x"):
        weft.lobpcg(A, k=5)


def test_manners_of_tensors_from_before():
    assert complex(weft.tensor(1 + 2j)) == 1 + 2j and weft.ones(1).__nonzero__() and weft.tensor(3).__long__() == 3
    with pytest.warns(UserWarning, match="non-inplace resize"):
        assert weft.arange(4).resize(2, 2).tolist() == [[0, 1], [2, 3]]
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert X.volatile is False
    with pytest.raises(RuntimeError, match="reinforce"):
        X.reinforce(1)
    with pytest.raises(TypeError):
        X.double(1)
    assert weft.float16.to_complex() is weft.complex32 and weft.complex128.to_real() is weft.float64
    with pytest.raises(RuntimeError, match="Complex"):
        weft.int32.to_complex()
    assert weft.is_storage(X.untyped_storage()) and not weft.is_storage(X) and weft.get_device(X) == -1


def test_results_given_with_other_sizes_are_told_of():
    with pytest.warns(UserWarning, match=r"had shape \[3\], which does not match the required output shape \[2\]"):
        assert weft.add(weft.ones(2), weft.ones(2), out=weft.empty(3)).shape == (2,)
    with pytest.warns(UserWarning, match=r"The number of elements in the out tensor of shape \[2\]"):
        weft.arange(5, out=weft.empty(2, dtype=weft.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weft.add(weft.ones(2), weft.ones(2), out=weft.empty(0))
        weft.zeros(3, out=weft.ones(2))


def test_derivatives_of_functions_of_sparse_tensors():
    s = weft.tensor([[1.0, 0], [2, 3]], dtype=weft.float64).to_sparse().requires_grad_()
    d = weft.randn(2, 2, dtype=weft.float64, requires_grad=True)
    assert gradcheck(lambda s, d: weft.sparse.mm(s, d), (s, d), masked=True) and gradcheck(weft.sparse.sum, (s,), masked=True)
    by_rows = s.detach().to_sparse_csr().requires_grad_()
    assert gradcheck(lambda s: s.to_dense(), (s,)) and gradcheck(lambda s: s.to_dense(), (by_rows,))
    wrong = lambda s: s.to_dense() * 2 + s.to_dense().detach()
    with pytest.raises(GradcheckError):
        gradcheck(wrong, (s,), masked=True)
    with pytest.raises(ValueError, match="Sparse output"):
        gradcheck(lambda d: d.to_sparse(), (d,))


def test_a_deviation_of_one_element_is_told_of_where_it_was_asked_for():
    pair = weft.ones(1, dtype=weft.complex64)
    for ask in (lambda: weft.ones(1).std(), lambda: weft.var(pair), lambda: weft.var_mean(X, 1, correction=2)):
        with pytest.warns(UserWarning, match="degrees of freedom is <= 0") as told:
            ask()
        assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weft.ones(1).std(correction=0), weft.ones(2).var()


def test_halves_without_dims_and_complex_numbers():
    assert (weft.tensor(1.0, dtype=weft.float16) + 1j).item() == 1 + 1j and (weft.tensor(2.0, dtype=weft.complex32) * 2).item() == 4
