"""Loops print and read back equal."""

import pytest

from aten.symbolic.expr import as_expr, lt, sym
from inductor.ir import nodes
from inductor.ir.buffer import Check
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Store, nest_text
from inductor.ir.nodes import const, kept, load, row
from inductor.ir.reader import parse_nest
from inductor.ir.scalar import apply

i0, r0, s0 = sym("i0"), sym("r0"), sym("s0")


def test_a_softmax_prints_as_text_that_reads_back():
    x = load("x", i0 * s0 + r0, "float32")
    e = apply("exp", apply("sub", x, row("m", "float32")))
    nest = Nest(
        (Dim("i0", as_expr(6)), Dim("r0", s0, True)),
        (
            Stage(True, (Reduce("m", "max", x, "float32"),)),
            Stage(True, (Keep("e", e), Reduce("s", "sum", e, "float32"))),
            Stage(
                True, (Store("out", i0 * s0 + r0, apply("div", kept("e", "float32"), row("s", "float32")), "bfloat16"),)
            ),
        ),
    )
    text = nest_text(nest)
    assert text.splitlines()[:4] == [
        "nest(i0=6, r0='s0'):",
        "    inner:",
        "        t0 = load.float32('x', 'i0*s0 + r0')",
        "        m = reduce.max.float32(t0)",
    ]
    assert parse_nest(text) == nest


def test_indices_from_data_checks_masks_and_scans_read_back():
    j = nodes.in_bounds(load("j", i0, "int64"), s0, Check("embedding", "indices", "a.py:3  e(x)"))
    value = nodes.masked(
        nodes.index(lt(r0, 3), "bool"), load("t", j.symbol * 4 + r0, "float64", (j,)), const(float("-inf"), "float64")
    )
    nest = Nest(
        (Dim("i0", as_expr(5)), Dim("r0", as_expr(4), True)),
        (
            Stage(
                True,
                (
                    Running("c", "sum", value, "float64"),
                    Store("out", i0 * 4 + r0, row("c", "float64"), "float64"),
                    Accumulate("acc", j.symbol * 2, value, "float64", (j,)),
                ),
            ),
        ),
    )
    assert parse_nest(nest_text(nest)) == nest


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_the_nests_of_generated_graphs_read_back(seed):
    from inductor.ir.buffer import Kernel
    from inductor.lowering.graph import lower
    from inductor.schedule.kernels import schedule
    from tests.fuzz.generate import Generator

    for step in schedule(lower(Generator(seed).module)).steps:
        for nest in step.body if isinstance(step, Kernel) and isinstance(step.body, tuple) else ():
            assert parse_nest(str(nest)) == nest
