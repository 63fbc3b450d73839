"""Rows of few elements as one loop, and few columns side by side: what they compute equals NumPy, at both vector widths."""

import ml_dtypes
import numpy as np
import pytest

from aten.symbolic.expr import as_expr, sym
from inductor.codegen.cpp import render
from inductor.ir.flat_rows import flat_rows
from inductor.ir.fold import cast
from inductor.ir.loops import Nest, Reduce, Stage, Store
from inductor.ir.nodes import compute_dtype, index, load, row
from inductor.ir.scalar import apply
from tests.inductor.codegen.harness import buffer_of, call, dim, kernel_of

i0, i1, i2, r0 = map(sym, ("i0", "i1", "i2", "r0"))
rng = np.random.default_rng(0)


def numbers(shape, dtype):
    T = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    return (rng.normal(size=shape) * 9).astype(T)


def rows_nest(n, columns, dtype="float32"):
    """out[n, c] = x[n, c] + bias[c] + mean[n] + y[n, 0]"""
    wide = compute_dtype(dtype)
    parts = [("x", i0 * columns + i1), ("bias", i1), ("mean", i0), ("y", i0 * columns)]
    value = load(*parts[0], wide)
    for name, at in parts[1:]:
        value = apply("add", value, load(name, at, wide))
    return Nest((dim("i0", n), dim("i1", columns)), (Stage(False, (Store("out", i0 * columns + i1, value, dtype),)),))


def check_rows(isa, n, columns, dtype, symbolic=False):
    nest = rows_nest(sym("s0") if symbolic else n, columns, dtype)
    x, bias, mean, y = (numbers(s, dtype) for s in ((n, columns), columns, n, (n, columns)))
    out = np.zeros((n, columns), x.dtype)
    kernel = kernel_of([nest], (sym("s0"),) if symbolic else ())
    arrays = {"x": x, "bias": bias, "mean": mean, "y": y, "out": out}
    call(kernel, arrays, {"s0": n} if symbolic else None, isa=isa, pieces=3)
    wide = np.dtype(compute_dtype(dtype))
    want = x.astype(wide) + bias.astype(wide) + mean.astype(wide)[:, None] + y.astype(wide)[:, :1]
    np.testing.assert_array_equal(out, want.astype(x.dtype))


@pytest.mark.parametrize("columns", [2, 3, 5, 8, 15])
def test_rows_of_few_elements(isa, columns):
    assert flat_rows(rows_nest(3001, columns), lambda e: e.value) is not None
    check_rows(isa, 3001, columns, "float32")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int64", "int8", "int32"])
def test_rows_of_few_elements_of_each_dtype(isa, dtype):
    check_rows(isa, 1499, 5, dtype)


@pytest.mark.parametrize("n", [0, 1, 700, 9000])
def test_as_many_rows_as_a_symbol_says(isa, n):
    nest = rows_nest(sym("s0"), 5)
    assert flat_rows(nest, lambda e: 10000) is not None
    check_rows(isa, n, 5, "float32", symbolic=True)


def test_what_repeats_over_two_dims(isa):
    """out[n, a, b] = x[n, a, b] * u[a] + v[b] - w[n] * (row-major place)"""
    place = i0 * 21 + i1 * 3 + i2
    value = apply("add", apply("mul", load("x", place, "float32"), load("u", i1, "float32")), load("v", i2, "float32"))
    value = apply("sub", value, apply("mul", load("w", i0, "float32"), cast(index(place), "float32")))
    nest = Nest((dim("i0", 500), dim("i1", 7), dim("i2", 3)), (Stage(False, (Store("out", place, value, "float32"),)),))
    found = flat_rows(nest, lambda e: e.value)
    assert found is not None and found.period == 21
    x, u, v, w = (numbers(s, "float32") for s in ((500, 7, 3), 7, 3, 500))
    out = np.zeros_like(x)
    call(kernel_of([nest]), {"x": x, "u": u, "v": v, "w": w, "out": out}, isa=isa, pieces=2)
    want = x * u[:, None] + v - w[:, None, None] * np.arange(x.size, dtype="f4").reshape(x.shape)
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-2)


def test_what_repeats_in_each_of_several_images(isa):
    """out[a, n, c] = x[a, n, c] + bias[a, c], where the images lie apart"""
    value = apply("add", load("x", i0 * 6000 + i1 * 5 + i2, "float32"), load("bias", i0 * 5 + i2, "float32"))
    store = Store("out", i0 * 6001 + i1 * 5 + i2, value, "float32")
    nest = Nest((dim("i0", 3), dim("i1", 1200), dim("i2", 5)), (Stage(False, (store,)),))
    assert flat_rows(nest, lambda e: e.value) is not None
    x, bias, out = numbers((3, 1200, 5), "float32"), numbers((3, 5), "float32"), np.zeros((3, 6001), "f4")
    call(kernel_of([nest]), {"x": x, "bias": bias, "out": out}, isa=isa)
    np.testing.assert_array_equal(out[:, :6000].reshape(x.shape), x + bias[:, None])
    assert not out[:, 6000].any()


def test_other_orders_stay_as_they_are():
    value = apply("add", load("x", i0 * 5 + i1, "float32"), load("y", i1 * 1000 + i0, "float32"))
    nest = Nest((dim("i0", 1000), dim("i1", 5)), (Stage(False, (Store("out", i0 * 5 + i1, value, "float32"),)),))
    assert flat_rows(nest, lambda e: e.value) is None


# ---------------------------------------------------------------------------------------------------------- columns

KINDS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}


def columns_nest(n, columns, kind, dtype, body=None):
    wide = compute_dtype(dtype)
    value = load("x", r0 * columns + i0, wide) if body is None else body
    store = Store("out", i0, apply("mul", row("a", wide), load("scale", i0, wide)), dtype)
    return Nest((dim("i0", columns), dim("r0", n)), (Stage(True, (Reduce("a", kind, value, wide),)), Stage(False, (store,))))


def check_columns(isa, n, columns, kind, dtype, symbolic=False):
    x, scale = numbers((n, columns), dtype), numbers(columns, dtype)
    if kind == "prod":
        x = np.where(abs(x) < 8, 1, -1).astype(x.dtype)
    kernel = kernel_of([columns_nest(sym("s0") if symbolic else n, columns, kind, dtype)], (sym("s0"),) if symbolic else ())
    results = []
    for width in (isa, type(isa)(32)):
        out = np.zeros(columns, x.dtype)
        assert call(kernel, {"x": x, "scale": scale, "out": out}, {"s0": n} if symbolic else None, isa=width) == 0
        results.append(out)
    np.testing.assert_array_equal(*results)  # the width of registers does not change a bit
    exact = x.astype("f8" if x.dtype.kind != "i" else "i8")
    empty = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}[kind]
    want = KINDS[kind](exact, axis=0) if n else np.full(columns, empty)
    want = (want * scale.astype(want.dtype)).astype(x.dtype).astype("f8")
    np.testing.assert_allclose(out.astype("f8"), want, rtol=1e-2 if x.itemsize == 2 else 1e-4, atol=0.1)


@pytest.mark.parametrize("columns", [2, 3, 5, 16, 20, 25, 28])
def test_few_columns(isa, columns):
    assert "_w[" in render([kernel_of([columns_nest(5000, columns, "sum", "float32")])], boxes(columns), isa=isa)
    check_columns(isa, 5000, columns, "sum", "float32")


def boxes(columns):
    shapes = {"x": (5000, columns), "scale": columns, "out": columns}
    return {name: buffer_of(name, np.zeros(shape, "f4")) for name, shape in shapes.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
def test_few_columns_of_each_kind(isa, kind, dtype):
    check_columns(isa, 777, 5, kind, dtype)


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 4096, 70001])
def test_few_columns_of_as_many_rows_as_a_symbol_says(isa, n):
    check_columns(isa, n, 5, "sum", "float32", symbolic=True)


def test_a_nan_is_the_extreme_of_its_column(isa):
    x, scale, out = numbers((999, 3), "float32"), np.ones(3, "f4"), np.zeros(3, "f4")
    x[500, 1] = np.nan
    call(kernel_of([columns_nest(999, 3, "max", "float32")]), {"x": x, "scale": scale, "out": out}, isa=isa)
    np.testing.assert_array_equal(out, x.max(0))


def test_weighted_sums_of_few_columns(isa):
    """sum over n of (x[n, c] - centre[c]) * w[n]"""
    body = apply("sub", load("x", r0 * 5 + i0, "float32"), load("centre", i0, "float32"))
    body = apply("mul", body, load("w", r0, "float32"))
    x, w, centre, scale = (numbers(s, "float32") for s in ((1003, 5), 1003, 5, 5))
    out = np.zeros(5, "f4")
    kernel = kernel_of([columns_nest(1003, as_expr(5), "sum", "float32", body)])
    call(kernel, {"x": x, "w": w, "centre": centre, "scale": scale, "out": out}, isa=isa)
    want = ((x.astype("f8") - centre) * w[:, None]).sum(0) * scale
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=0.1)
