"""Bags of rows: native sums, means and maxima are what the rows themselves would give, with all derivatives."""

import numpy as np
import pytest

import weft
import weft.nn.functional as F
from aten.op import ops

rng = np.random.default_rng(0)


def bags(mode, cut, padding, scaled):
    """(table, indices, offsets, scales): a bag is empty, one is all padding."""
    table = weft.tensor(np.round(rng.standard_normal((9, 21)), 1), dtype=weft.float64, requires_grad=True)
    indices = weft.tensor(rng.integers(0, 9, (6, 5)))
    if padding is not None:
        indices[2] = padding
    scales = weft.tensor(rng.standard_normal((6, 5)), requires_grad=True) if scaled else None
    if not cut:
        return table, indices, None, scales
    offsets = weft.tensor([0, 4, 4, 10, 15, 29])
    scales = scales.detach().reshape(-1).requires_grad_() if scaled else None
    return table, indices.reshape(-1), offsets, scales


def by_rows(table, indices, offsets, scales, mode, padding):
    rows = table[indices]
    rows = rows if scales is None else rows * scales.unsqueeze(-1)
    return ops.bags_of_rows(rows, None if padding is None else indices != padding, offsets, mode)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("mode, scaled", [("sum", False), ("sum", True), ("mean", False), ("max", False)])
def test_bags_and_their_derivatives_are_those_of_the_rows(mode, scaled, padding, cut):
    table, indices, offsets, scales = bags(mode, cut, padding, scaled)
    inputs = [table, *([scales] if scaled else [])]
    native = F.embedding_bag(indices, table, offsets, mode=mode, per_sample_weights=scales, padding_idx=padding)
    assert native.grad_fn.name().startswith("Embedding")
    expected = by_rows(table, indices, offsets, scales, mode, padding)
    weft.testing.assert_close(native, expected)
    g = weft.tensor(rng.standard_normal(tuple(native.shape)), requires_grad=True)
    found = weft.autograd.grad(native, inputs, g, create_graph=True)
    wanted = weft.autograd.grad(expected, inputs, g, create_graph=True)
    second = [weft.autograd.grad((x * x.detach().cos()).sum(), [g, *inputs], allow_unused=True)
              for x in (sum(f.square().sum() for f in fs) for fs in (found, wanted))]  # fmt: skip
    for a, b in zip((*found, *second[0]), (*wanted, *second[1])):
        zero = weft.zeros(1)
        weft.testing.assert_close(zero if a is None else a, (b if b is not None else a) if a is not None else zero)


def test_bags_of_none_are_zeros():
    table = weft.ones(3, 4, requires_grad=True)
    for mode in ("sum", "mean", "max"):
        made = F.embedding_bag(weft.zeros(0, dtype=weft.int64), table, weft.tensor([0, 0]), mode=mode)
        assert made.tolist() == [[0] * 4] * 2
        assert weft.autograd.grad(made.sum(), table)[0].tolist() == [[0] * 4] * 3
        assert F.embedding_bag(weft.zeros(2, 0, dtype=weft.int64), table, mode=mode).tolist() == [[0] * 4] * 2


def test_an_index_outside_of_the_table_is_named():
    with pytest.raises(RuntimeError, match="embedding_bag: Expected idx"):
        F.embedding_bag(weft.tensor([[0, 5]]), weft.ones(3, 4))


def test_a_bag_has_the_first_nan():
    table = weft.tensor([[1.0, 2], [float("nan"), 0], [3, float("nan")]], requires_grad=True)
    made = F.embedding_bag(weft.tensor([[0, 1, 2], [2, 0, 0]]), table, mode="max")
    assert made.isnan().tolist() == [[True, True], [False, True]]
    assert weft.autograd.grad(made, table, weft.ones(2, 2))[0].tolist() == [[0, 0], [1, 0], [1, 2]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_compiled_calls_look_at_where_bags_begin(mode):
    bag = weft.compile(lambda *args: F.embedding_bag(*args, mode=mode), fullgraph=True)
    indices, table = weft.tensor([0, 1, 2]), weft.ones(4, 3)
    assert bag(indices, table, weft.tensor([0, 2])).shape == (2, 3)
    with pytest.raises(RuntimeError, match=r"offsets\[0\] has to be 0"):
        bag(indices, table, weft.tensor([1, 2]))
    with pytest.raises(RuntimeError, match=r"offsets\[-1\] can not be greater"):
        bag(indices, table, weft.tensor([0, 5]))
