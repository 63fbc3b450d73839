"""Norms, nansum and count_nonzero that store nothing between: the bits of the composites, for rows of any length."""

import numpy as np
import pytest

import weft
from aten.op import registry

_CALLS = {
    "norm": lambda x, **kw: x.norm(**kw),
    "norm of order 1": lambda x, **kw: x.norm(1, **kw),
    "vector_norm": lambda x, **kw: weft.linalg.vector_norm(x, 2.0, **kw),
    "nansum": weft.nansum,
}




def _stored_norm(x, dim=None, keepdim=False):
    return registry["power_norm"].decompose_fn(x, [*range(x.ndim)] if dim is None else [dim], 2, keepdim)


_STORED = {
    _CALLS["norm"]: _stored_norm,
    _CALLS["vector_norm"]: _stored_norm,
    weft.nansum: lambda x, **kw: weft.where(x.isnan(), 0, x).sum(**kw),
}


@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
@pytest.mark.parametrize("sizes", [(1, 1), (5,), (100, 3), (7, 600, 2), (3, 5000), (40, 700), (17, 1025), (4097,), (1, 100003)])
def test_the_bits_of_a_sum_of_what_is_stored(call, dtype, sizes):
    x = weft.randn(sizes, dtype=dtype)
    recorded = x.clone().requires_grad_()  # takes the composite, of norms of order 1
    stored = _STORED.get(call, call)
    assert weft.equal(call(x), stored(recorded))
    for dim in range(len(sizes)):
        for keepdim in (False, True):
            found, wanted = call(x, dim=dim, keepdim=keepdim), stored(recorded, dim=dim, keepdim=keepdim)
            assert found.shape == wanted.shape and weft.equal(found, wanted)
    spread = weft.cat([x, x])[::2]
    assert weft.equal(call(spread), call(spread.clone()))


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (2, 0)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_nansum_with_history_stores_nothing_and_is_one_node(dim, keepdim):
    x = weft.randn(3, 4, 5, dtype=weft.float64)
    x[1, 2, 3] = weft.nan
    x.requires_grad_()
    out, of_stored = x.nansum(dim, keepdim), weft.where(x.isnan(), 0, x).sum(dim, keepdim)
    assert out.grad_fn.name() == "NansumBackward0" and out.grad_fn.next_functions[0][0].variable is x
    g = weft.randn(out.shape, dtype=out.dtype)
    assert weft.equal(*[weft.autograd.grad(y, x, g)[0] for y in (out, of_stored)])
    dense = weft.randn(3, 4, 5, dtype=weft.float64).requires_grad_()
    assert weft.autograd.gradgradcheck(lambda t: (t * t).nansum(dim, keepdim), (dense,))


def test_norms_with_history_store_nothing_and_are_one_node():
    x = weft.randn(7, 40).requires_grad_()
    for norm in (lambda: x.norm(), lambda: x.norm(dim=1), lambda: weft.linalg.vector_norm(x, 2, 0, keepdim=True)):
        assert norm().grad_fn.next_functions[0][0].variable is x
    assert x.norm(dim=1).equal(x.detach().norm(dim=1))


def test_special_values():
    assert weft.nansum(weft.tensor([1.0, weft.nan, 2.0])) == 3 and weft.nansum(weft.tensor([weft.inf, weft.nan])) == weft.inf
    assert weft.tensor([3.0, weft.nan]).norm().isnan() and weft.tensor([-weft.inf, 1.0]).norm(1) == weft.inf
    with pytest.raises(IndexError):
        weft.ones(2, 2).norm(2, 5)
    assert weft.ones(0, 3).norm() == 0 and weft.ones([]).norm() == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, np.complex64, bool])
def test_count_nonzero(dtype):
    x = np.random.default_rng(0).integers(0, 3, (90, 91)).astype(dtype)
    assert weft.count_nonzero(weft.from_numpy(x)) == np.count_nonzero(x)
    assert weft.count_nonzero(weft.from_numpy(x), 0).tolist() == np.count_nonzero(x, 0).tolist()
    assert weft.count_nonzero(weft.from_numpy(x.T)) == np.count_nonzero(x) and weft.count_nonzero(weft.from_numpy(x[:0])) == 0
