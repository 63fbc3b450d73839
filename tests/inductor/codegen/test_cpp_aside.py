"""Weights that are set aside beside the rows that are stored: the same numbers wherever they lie."""

import ml_dtypes
import numpy as np
import pytest

from aten.symbolic.expr import sym
from inductor.codegen.cpp import render
from inductor.ir.loops import Nest, Reduce, Stage, Store
from inductor.ir.nodes import compute_dtype, load, row
from inductor.ir.scalar import apply
from tests.inductor.codegen.harness import buffer_of, call, dim, kernel_of

i0, i1, r0 = map(sym, ("i0", "i1", "r0"))
rng = np.random.default_rng(0)
F = "float32"


def scaled(dims, index, dtype=F, out="out", columns=300):
    """(x - sum of the row) * w + v, v being read from its second half."""
    x = load("x", index, F)
    w, v = load("w", r0, compute_dtype(dtype)), load("v", r0 + columns, F)
    value = apply("add", apply("mul", apply("sub", x, row("s", F)), w), v)
    return Nest(dims, (Stage(True, (Reduce("s", "sum", x, F),)), Stage(True, (Store(out, index, value, F),))))


def expected(x, w, v, columns=300):
    return (x - x.sum(-1, keepdims=True)) * w.astype("f4") + v[columns:]


def vectors(dtype=F, columns=300):
    T = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    return {"w": rng.normal(size=columns).astype(T), "v": rng.normal(size=2 * columns).astype("f4")}


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("dtype", [F, "bfloat16"])
def test_two_outer_dims(isa, dtype, pieces):
    x, given = rng.normal(size=(9, 11, 300)).astype("f4"), vectors(dtype)
    arrays = {"x": x, **given, "out": np.zeros_like(x)}
    dims = (dim("i0", 9), dim("i1", 11), dim("r0", 300))
    kernel = kernel_of([scaled(dims, i0 * 3300 + i1 * 300 + r0, dtype)])
    text = render([kernel], {n: buffer_of(n, a) for n, a in arrays.items()}, isa=isa)
    assert "aside1" in text and "aside2" not in text
    call(kernel, arrays, isa=isa, pieces=pieces)
    np.testing.assert_allclose(arrays["out"], expected(x, **given), rtol=1e-4, atol=1e-4)


def test_rows_written_over_and_weights_that_are_written(isa):
    given = vectors()
    x = rng.normal(size=(80, 300)).astype("f4")
    arrays = {"x": x.copy(), **given}
    dims = (dim("i0", 80), dim("r0", 300))
    call(kernel_of([scaled(dims, i0 * 300 + r0, out="x")]), arrays, isa=isa)
    np.testing.assert_allclose(arrays["x"], expected(x, **given), rtol=1e-4, atol=1e-4)
    # the first row of `out` is read by all rows: it is not set aside, as it changes
    value = apply("add", load("out", r0, F), row("s", F))
    stages = (
        Stage(True, (Reduce("s", "sum", load("x", i0 * 300 + r0, F), F),)),
        Stage(True, (Store("out", i0 * 300 + r0, value, F),)),
    )
    arrays = {"x": x, "out": np.zeros_like(x)}
    text = render([kernel_of([Nest(dims, stages)])], {n: buffer_of(n, a) for n, a in arrays.items()}, isa=isa)
    assert "aside0" not in text


@pytest.mark.parametrize("shape", [(64, 300), (1, 300), (0, 300), (70, 1), (5, 9000), (70, 0)])
def test_symbolic_sizes(isa, shape):
    s0, s1 = sym("s0"), sym("s1")
    x = rng.normal(size=shape).astype("f4")
    given = {"w": rng.normal(size=shape[1]).astype("f4"), "v": rng.normal(size=2 * shape[1]).astype("f4")}
    arrays = {"x": x, **given, "out": np.zeros(shape, "f4")}
    kernel = kernel_of([scaled((dim("i0", s0), dim("r0", s1)), i0 * s1 + r0, columns=s1)], symbols=(s0, s1))
    call(kernel, arrays, {"s0": shape[0], "s1": shape[1]}, isa=isa, pieces=2)
    np.testing.assert_allclose(arrays["out"], expected(x, **given, columns=shape[1]), rtol=1e-3, atol=1e-3)
