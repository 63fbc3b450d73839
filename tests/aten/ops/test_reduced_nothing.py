"""Reductions over no dims and variances of too few items, as PyTorch 2.13 has them."""

import warnings

import pytest

import weft

X = weft.tensor([[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("name", ["any", "all"])
@pytest.mark.parametrize("dim", [(), []])
def test_any_and_all_of_no_dim_reduce_nothing(name, dim):
    call = getattr(weft, name)
    want = [[True, False], [False, False]]
    assert call(X, dim=dim).tolist() == want and getattr(X, name)(dim, keepdim=True).tolist() == want
    assert call(X, dim=dim, out=weft.empty(0, dtype=weft.bool)).tolist() == want
    assert call(X.to(weft.uint8), dim).dtype is weft.uint8
    assert weft.compile(lambda x: call(x, dim=dim), fullgraph=True)(X).tolist() == want
    assert weft.vmap(lambda x: call(x, dim=dim))(X).tolist() == want
    assert call(X).ndim == 0 and call(X, dim=None).ndim == 0 and call(weft.tensor(3.0), dim=()).item() is True


@pytest.mark.parametrize("run", [lambda f: f, lambda f: weft.compile(f, fullgraph=True)])
def test_slopes_of_variances_that_take_off_more_than_there_is(run):
    def slope(f):
        x = weft.tensor([[1.0, -2.0, 3.0]], requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return weft.autograd.grad(run(f)(x).sum(), x)[0]

    weft.testing.assert_close(slope(lambda x: weft.var(x, 1, correction=4)), weft.tensor([[-2 / 3, 16 / 3, -14 / 3]]))
    assert slope(lambda x: weft.std(x, 1, correction=4)).eq(0).all()
    assert slope(lambda x: weft.var(x, 0, correction=3)).eq(0).all()  # of one item: its value is NaN, its slope is not
    assert slope(lambda x: weft.var_mean(x, 1, correction=3)[0]).isinf().all()
