"""Loops whose bodies ask where they are, cut where the answer changes."""

import numpy as np
import pytest

from aten.symbolic.expr import and_, as_expr, ge, le, lt, sym, where_
from inductor.codegen.cpp import render
from inductor.ir.loops import Dim, Stage, Store
from inductor.ir.nodes import const, index, load, masked, walk
from inductor.ir.segments import breakpoints, segments
from tests.inductor.graphs import Builder, check

i0, i1 = sym("i0"), sym("i1")
F = "float32"


def test_where_comparisons_change():
    assert breakpoints([lt(i0, as_expr(7))], "i0") == {7}
    assert breakpoints([le(i0, as_expr(7))], "i0") == {8}
    assert breakpoints([ge(i0, as_expr(7))], "i0") == {7}
    assert breakpoints([lt(as_expr(7), i0)], "i0") == {8}
    assert breakpoints([and_(ge(i0 - 2, as_expr(3)), lt(i0, as_expr(9)))], "i0") == {5, 9}
    assert breakpoints([lt(i0 * 2, as_expr(7))], "i0") == {4}
    assert breakpoints([lt(i0, i1), lt(i0 * i1, as_expr(7)), lt(i1, as_expr(7))], "i0") == set()
    assert breakpoints([where_(lt(i0, as_expr(4)), i0 + 6, i0 - 4)], "i0") == {4}


def test_parts_do_not_ask():
    inside = index(and_(ge(i0, as_expr(40)), lt(i0, as_expr(100))), "bool")
    stage = Stage(False, (Store("out", i0, masked(inside, load("x", i0 - 40, F), const(0, F)), F),))
    parts = segments(stage, Dim("i0", as_expr(200)), {})
    assert [(a, b) for a, b, _ in parts] == [(0, 40), (40, 100), (100, 200)]
    kinds = [[n.kind for n in walk(s.value for s in part.body)] for _, _, part in parts]
    assert kinds == [["const"], ["load"], ["const"]]
    assert segments(stage, Dim("i0", sym("s0")), {}) == []


@pytest.mark.parametrize("columns", [7, 40, 130, 9000])
@pytest.mark.parametrize("case", ["roll", "cat", "pad", "pad both", "slice_scatter"])
def test_equals_the_op(case, columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, columns)).astype("f4")
    b, arrays = Builder(), [x]
    v = b.input("x", x.shape)
    if case == "roll":
        out = b("roll", v, [3], [1])
    elif case == "cat":
        arrays += [rng.normal(size=(5, 33)).astype("f4"), rng.normal(size=(5, 64)).astype("f4")]
        out = b("cat", [v, b.input("y", (5, 33)), b.input("z", (5, 64))], 1)
    elif case.startswith("pad"):
        out = b("constant_pad_nd", v, [16, 3, 1, 2] if case == "pad both" else [5, 70], 1.5)
    else:
        arrays.append(rng.normal(size=(5, columns - 4)).astype("f4"))
        out = b("slice_scatter", v, b.input("y", (5, columns - 4)), 1, 2, columns - 2, 1)
    made = check(b.module(b("mul", out, 2.0)), arrays, kernels=1)
    if columns >= 130:
        text = render(made.steps, made.buffers)
        body = text[text.index("static void kernel0_0") :]
        assert "w_gather_at" not in body and "w_only" not in body
