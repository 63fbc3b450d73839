"""Distances are computed without the differences of all rows; they and their derivatives are those of the differences."""

import math

import numpy as np
import pytest

import weft
from aten.op import ops

rng = np.random.default_rng(0)


def rows(*sizes):
    return weft.tensor(np.round(rng.standard_normal(sizes), 1), dtype=weft.float64, requires_grad=True)


def derivatives(out, inputs, g):
    first = weft.autograd.grad(out, inputs, g, create_graph=True)
    return [*first, *weft.autograd.grad(sum((f * f.detach().cos()).sum() for f in first), [*inputs, g], allow_unused=True)]


@pytest.mark.parametrize("p", [0, 1, 2, math.inf])
@pytest.mark.parametrize("sizes", [((5, 3), (4, 3)), ((2, 70, 21), (2, 33, 21)), ((3, 1, 6, 2), (2, 5, 2)), ((4, 0), (2, 0))])
def test_distances_and_their_derivatives(p, sizes):
    a, b = (rows(*s) for s in sizes)
    with weft.no_grad():
        a.reshape(-1)[: b.shape[-1]] = b.reshape(-1)[: b.shape[-1]]  # at a distance of 0
    found = weft.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")
    assert found.grad_fn.name().startswith("RowDistances")
    expected = weft.linalg.vector_norm(a.unsqueeze(-2) - b.unsqueeze(-3), p if a.shape[-1] else 1, -1)
    weft.testing.assert_close(found, expected)
    g = weft.tensor(rng.standard_normal(tuple(found.shape)), requires_grad=True)
    wanted = ops.row_distances.decompose_fn(*(x.expand(*found.shape[:-2], *x.shape[-2:]) for x in (a, b)), p)
    for x, y in zip(derivatives(found, [a, b], g), derivatives(wanted, [a, b], g)):
        weft.testing.assert_close(x, y)


@pytest.mark.parametrize("p", [0, 1, 2, math.inf])
@pytest.mark.parametrize("n, k", [(1, 3), (2, 1), (40, 21), (7, 0), (0, 2)])
def test_distances_within_a_matrix(p, n, k):
    x = rows(n, k)
    if n > 2:
        with weft.no_grad():
            x[1] = x[0]
    found = weft.pdist(x, p)
    expected = weft.cat([ops.row_distances.decompose_fn(x[i : i + 1], x[i + 1 :], p)[0] for i in range(n)] or [found])
    weft.testing.assert_close(found, expected)
    g = weft.tensor(rng.standard_normal(tuple(found.shape)), requires_grad=True)
    wanted = ops.row_distances_within.decompose_fn(x, p)
    for a, b in zip(derivatives(found, [x], g), derivatives(wanted, [x], g)):
        weft.testing.assert_close(a, b)


@pytest.mark.parametrize("p", [0, 1, 2, 3, math.inf])
def test_a_nan_is_at_no_distance(p):
    x = weft.tensor([[0.0, 1], [math.nan, 2], [3, math.inf]])
    assert weft.pdist(x, p).isnan().tolist() == [True, False, True]
    assert weft.pdist(x, p)[1] == (math.inf if p else 2)
