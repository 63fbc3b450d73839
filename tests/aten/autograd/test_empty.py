"""Gradients of calls whose operands have no elements: sizes come out, nothing is guessed from a product of 0."""

import pytest

import weft
from weft import ones
from weft.nn import functional as F

CALLS = {
    "linear, no rows": (lambda x, w, b: F.linear(x, w, b), [(0, 3), (2, 3), (2,)], (0, 2)),
    "linear, no features": (lambda x, w, b: F.linear(x, w, b), [(2, 0), (3, 0), (3,)], (2, 3)),
    "linear, no results": (lambda x, w, b: F.linear(x, w, b), [(2, 3), (0, 3), (0,)], (2, 0)),
    "linear, an empty batch": (lambda x, w, b: F.linear(x, w, b), [(5, 0, 3), (2, 3), (2,)], (5, 0, 2)),
    "linear, nothing": (F.linear, [(0, 4, 0), (0, 0)], (0, 4, 0)),
    "matmul, empty batches": (weft.matmul, [(2, 0, 2, 3), (3, 4)], (2, 0, 2, 4)),
    "matmul, empty batches and a vector": (weft.matmul, [(2, 0, 2, 3), (3,)], (2, 0, 2)),
    "matmul, nothing to sum": (weft.matmul, [(2, 2, 0), (0, 4)], (2, 2, 4)),
    "matmul, no columns": (weft.matmul, [(2, 2, 3), (3, 0)], (2, 2, 0)),
    "fold": (lambda x: F.fold(x, (4, 4), 2), [(0, 12, 9)], (0, 3, 4, 4)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), [(0, 2, 3, 3), (0, 2, 2, 2)], (0, 2, 2, 2)),
    "unflatten with -1": (lambda x: x.unflatten(1, (2, -1)), [(0, 4)], (0, 2, 2)),
    "vmap of mm": (lambda a, b: weft.vmap(weft.mm, (0, None))(a, b), [(2, 3, 0), (0, 4)], (2, 3, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_nothing_have_the_sizes_of_their_arguments(name):
    call, sizes, result = CALLS[name]
    plain = call(*[ones(s) for s in sizes])
    leaves = [ones(s, requires_grad=True) for s in sizes]
    out = call(*leaves)
    assert tuple(out.shape) == tuple(plain.shape) == result
    out.sum().backward()
    assert [tuple(leaf.grad.shape) for leaf in leaves] == sizes


def test_a_size_that_could_be_anything_is_refused():
    with pytest.raises(RuntimeError, match="the unspecified dimension size -1 can be any value and is ambiguous"):
        ones(0, 3, requires_grad=True).reshape(-1, 0)
