"""Short rows, a register of them at a time: the same numbers as one after the other, however the rows are cut."""

import ml_dtypes
import numpy as np
import pytest

from aten.symbolic.expr import as_expr, sym
from inductor.codegen import cpp, cpp_rows
from inductor.ir.loops import Dim, Nest, Reduce, Stage, Store
from inductor.ir.nodes import compute_dtype, const, load, row
from inductor.ir.scalar import apply
from tests.inductor.codegen.harness import buffer_of, call, dim, kernel_of

i0, i1, r0, r1 = map(sym, ("i0", "i1", "r0", "r1"))
rng = np.random.default_rng(0)
F = "float32"


def is_bundled(kernel, arrays, isa, hints=None):
    text = cpp.render([kernel], {n: buffer_of(n, a) for n, a in arrays.items()}, hints=hints, isa=isa)
    return "_rows" in text


def both(monkeypatch, isa, nest, inputs, outputs, symbols=None, pieces=1):
    """The outputs of the nest with its rows in bundles, checked to be those of one row after the other."""
    kernel = kernel_of([nest], symbols=tuple(map(sym, symbols or ())))
    results = []
    for bundled in (True, False):
        with monkeypatch.context() as m:
            if not bundled:
                m.setattr(cpp_rows, "bundles", lambda w: False)
            assert is_bundled(kernel, {**inputs, **outputs}, isa, symbols) == bundled
            arrays = {k: v.copy() for k, v in {**inputs, **outputs}.items()}
            assert call(kernel, arrays, symbols, isa=isa, pieces=pieces) == 0
            results.append({k: arrays[k] for k in outputs})
    for k in outputs:
        np.testing.assert_array_equal(results[0][k].astype("f8"), results[1][k].astype("f8"))
    return results[0]


def distances(n, m, size):
    """exp(-sum((x - y)^2)) of every row of x with every row of y."""
    d = apply("sub", load("x", i0 * size + r0, F), load("y", i1 * size + r0, F))
    after = apply("exp", apply("neg", row("s", F)))
    stages = (Stage(True, (Reduce("s", "sum", apply("mul", d, d), F),)), Stage(False, (Store("out", i0 * m + i1, after, F),)))
    return Nest((dim("i0", n), dim("i1", m), dim("r0", size)), stages)


@pytest.mark.parametrize("pieces", [1, 3, 100])
@pytest.mark.parametrize("rows", [8, 16, 37])
@pytest.mark.parametrize("size", [8, 16, 21, 100])
def test_what_is_made_of_a_sum(monkeypatch, isa, size, rows, pieces):
    x, y = rng.normal(size=(5, size)).astype("f4") / 9, rng.normal(size=(rows, size)).astype("f4") / 9
    out = np.full((5, rows), 7, "f4")
    got = both(monkeypatch, isa, distances(5, rows, size), {"x": x, "y": y}, {"out": out}, pieces=pieces)["out"]
    np.testing.assert_allclose(got, np.exp(-((x[:, None] - y) ** 2).sum(-1)), rtol=2e-6)


def test_what_else_is_read_of_a_row_lies_by_lane(monkeypatch, isa):
    """A bias along the rows, a column of another matrix, and one number for all."""
    x, bias, other = (rng.normal(size=s).astype("f4") for s in ((50, 20), 50, (50, 3)))
    one = rng.normal(size=1).astype("f4")
    value = apply(
        "add",
        apply("mul", row("s", F), load("bias", i0, F)),
        apply("mul", load("other", i0 * 3 + 1, F), load("one", as_expr(0), F)),
    )
    stages = (
        Stage(True, (Reduce("s", "sum", load("x", i0 * 20 + r0, F), F),)),
        Stage(False, (Store("out", i0, value, F), Store("far", i0 * 2, row("s", F), F))),
    )
    nest = Nest((dim("i0", 50), dim("r0", 20)), stages)
    inputs, outputs = {"x": x, "bias": bias, "other": other, "one": one}, {"out": np.zeros(50, "f4"), "far": np.zeros(100, "f4")}
    got = both(monkeypatch, isa, nest, inputs, outputs)
    np.testing.assert_allclose(got["out"], x.sum(1) * bias + other[:, 1] * one, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got["far"][::2], x.sum(1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64", "int32", "bool"])
def test_dtypes(monkeypatch, isa, dtype):
    T = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    x = (rng.normal(size=(33, 19)) * 4).astype(T)
    c = compute_dtype(dtype)
    kind = "any" if dtype == "bool" else "sum"
    stages = (
        Stage(True, (Reduce("s", kind, load("x", i0 * 19 + r0, c), c),)),
        Stage(False, (Store("out", i0, row("s", c), dtype),)),
    )
    got = both(monkeypatch, isa, Nest((dim("i0", 33), dim("r0", 19)), stages), {"x": x}, {"out": np.zeros(33, T)})["out"]
    want = x.any(1) if dtype == "bool" else x.astype("f8").sum(1).astype(T)
    np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=1e-2 if T.itemsize == 2 else 1e-6)


def test_extremes_with_nan_and_several_loops_over_a_row(monkeypatch, isa):
    x = rng.normal(size=(40, 3, 11)).astype("f4")
    x[3, 1, 4], x[7], x[9, 2, 10] = np.nan, -np.inf, np.inf
    value = load("x", i0 * 33 + r0 * 11 + r1, F)
    stages = (
        Stage(True, (Reduce("m", "max", value, F), Reduce("l", "min", value, F), Reduce("p", "prod", value, F))),
        Stage(False, (Store("m", i0, row("m", F), F), Store("l", i0, row("l", F), F), Store("p", i0, row("p", F), F))),
    )
    nest = Nest((dim("i0", 40), dim("r0", 3), dim("r1", 11)), stages)
    got = both(monkeypatch, isa, nest, {"x": x}, {k: np.zeros(40, "f4") for k in "mlp"})
    flat = x.reshape(40, 33)
    np.testing.assert_array_equal(got["m"], flat.max(1))
    np.testing.assert_array_equal(got["l"], flat.min(1))
    np.testing.assert_allclose(got["p"], flat.prod(1), rtol=1e-4)


def test_a_number_of_rows_that_is_known_at_the_call(monkeypatch, isa):
    n = sym("s0")
    stages = (
        Stage(True, (Reduce("s", "sum", load("x", i0 * 24 + r0, F), F),)),
        Stage(False, (Store("out", i0, apply("mul", row("s", F), const(2, F)), F),)),
    )
    nest = Nest((Dim("i0", n), dim("r0", 24)), stages)
    for rows in (9, 32, 41):
        x = rng.normal(size=(rows, 24)).astype("f4")
        got = both(monkeypatch, isa, nest, {"x": x}, {"out": np.zeros(rows, "f4")}, {"s0": rows})["out"]
        np.testing.assert_allclose(got, 2 * x.sum(1), rtol=1e-4, atol=1e-6)
