"""What stands behind a matrix product: computed once where it is the same for all elements, or for a row."""

import re

import numpy as np

from inductor.codegen import cpp
from inductor.lowering.graph import lower
from inductor.schedule.kernels import schedule
from tests.inductor.graphs import Builder, check


def scaled(m, n):
    """(x @ y) / (step.exp() + 0.5) * row.exp() + col"""
    b = Builder()
    x, y, step = b.input("x", (m, 7)), b.input("y", (7, n)), b.input("step", ())
    row, col = b.input("row", (m, 1)), b.input("col", (n,))
    scale = b("add", b("exp", step), 0.5)
    return b.module(b("add", b("mul", b("div", b("mm", x, y), scale), b("exp", row)), col))


def test_what_does_not_depend_on_the_column_stands_before_its_loop():
    lowered = lower(scaled(20, 50), ())
    made = schedule(lowered)
    (text,) = re.findall(r"void put\(.*?\n}", cpp.render(made.steps, made.buffers, lowered.hints, lowered.ranges), re.S)
    call, rows = text.split("for (long i = 0")
    row, columns = rows.split("for (; j")
    assert [part.count("vm_exp(") for part in (call, row, columns)] == [1, 1, 0]


def test_the_values_are_those_of_the_ops():
    rng = np.random.default_rng(0)
    sizes = [(20, 7), (7, 50), (), (20, 1), (50,)]
    check(scaled(20, 50), [np.asarray(rng.standard_normal(s), np.float32) for s in sizes], kernels=1)
