"""The loops of a nest: as few as its indices allow."""

import numpy as np
import pytest

from aten.symbolic.expr import as_expr, sym
from inductor.ir.loops import Dim, Nest, Reduce, Stage, Store
from inductor.ir.nodes import load, row
from inductor.schedule.loop_order import tidy
from tests.inductor.graphs import Builder, check

i0, i1, r0, r1 = map(sym, ("i0", "i1", "r0", "r1"))
F = "float32"


def sizes(nest):
    return {d.name: d.size for d in nest.dims}


def total(kind, index):
    """A reduction over [r0:40, r1:30] of what lies at `index`."""
    dtype = "int64" if kind == "argmax" else F
    stages = (
        Stage(True, (Reduce("s", kind, load("x", index, F), F),)),
        Stage(False, (Store("out", as_expr(0), row("s", dtype), dtype),)),
    )
    return Nest((Dim("r0", as_expr(40), True), Dim("r1", as_expr(30), True)), stages)


def test_a_sum_of_a_transpose_is_one_loop_over_memory():
    assert sizes(tidy(total("sum", r0 * 30 + r1), {})) == {"r0": as_expr(1200)}
    assert sizes(tidy(total("sum", r0 + r1 * 40), {})) == {"r0": as_expr(1200)}


def test_positions_keep_the_order_of_their_loops():
    assert sizes(tidy(total("argmax", r0 * 30 + r1), {})) == {"r0": as_expr(1200)}
    assert len(tidy(total("argmax", r0 + r1 * 40), {}).dims) == 2


def test_a_pointwise_nest_of_transposed_operands_is_one_loop():
    def nest(out):
        dims = (Dim("i0", as_expr(40)), Dim("i1", as_expr(30)))
        return Nest(dims, (Stage(False, (Store("out", out, load("x", i0 + i1 * 40, F), F),)),))

    assert sizes(tidy(nest(i0 + i1 * 40), {})) == {"i0": as_expr(1200)}
    assert len(tidy(nest(i0 * 30 + i1), {}).dims) == 2


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_reductions_of_permuted_tensors(order):
    x = np.random.default_rng(0).normal(size=(7, 9, 11)).astype("f4")
    b = Builder()
    p = b("permute", b.input("x", x.shape), list(order))
    sums = b("sum", p, [0, 1, 2], False), b("amax", p, [0, 1, 2], False), b("argmax", p, None, False)
    check(b.module(*sums), [x], rtol=1e-5, atol=1e-5)
