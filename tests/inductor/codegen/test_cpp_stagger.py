"""Rows whose loops run side by side: the same numbers as one loop after the other, however the rows are cut."""

import ml_dtypes
import numpy as np
import pytest

from aten.symbolic.expr import sym
from inductor.codegen import cpp, cpp_rows
from inductor.codegen.cpp_vector import Isa, native_isa
from inductor.ir.loops import Keep, Nest, Reduce, Stage, Store
from inductor.ir.nodes import const, in_bounds, kept, load, row
from inductor.ir.scalar import apply
from tests.inductor.codegen.harness import buffer_of, call, dim, kernel_of

pytestmark = pytest.mark.skipif(native_isa() != Isa(64), reason="rows are staggered in registers of AVX-512 only")
i0, i1, r0 = map(sym, ("i0", "i1", "r0"))
rng = np.random.default_rng(0)
F = "float32"


@pytest.fixture(autouse=True)
def rows_of_any_length(monkeypatch):
    monkeypatch.setattr(cpp_rows, "goes_across", lambda w: False)


def softmax_stages(x, index, out="out", dtype=F):
    e = apply("exp", apply("sub", x, row("m", F)))
    return (
        Stage(True, (Reduce("m", "max", x, F),)),
        Stage(True, (Keep("e", e), Reduce("s", "sum", e, F))),
        Stage(True, (Store(out, index, apply("div", kept("e", F), row("s", F)), dtype),)),
    )


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def is_staggered(kernel, arrays, hints=None):
    text = cpp.render([kernel], {n: buffer_of(n, a) for n, a in arrays.items()}, hints=hints)
    return "unit < end + " in text


def both(monkeypatch, kernel, inputs, outputs, symbols=None, pieces=1):
    """The outputs of the kernel with its loops side by side, checked to be those of one loop after the other."""
    results = []
    assert is_staggered(kernel, {**inputs, **outputs}, symbols)
    for side_by_side in (True, False):
        with monkeypatch.context() as m:
            if not side_by_side:
                m.setattr(cpp_rows, "staggers", lambda w: False)
            arrays = {k: v.copy() for k, v in {**inputs, **outputs}.items()}
            assert call(kernel, arrays, symbols, pieces=pieces) == 0
            results.append({k: arrays[k] for k in outputs})
    for k in outputs:
        np.testing.assert_array_equal(results[0][k].astype("f8"), results[1][k].astype("f8"))
    return results[0]


@pytest.mark.parametrize("pieces", [1, 3, 100])
@pytest.mark.parametrize("columns", [1, 15, 16, 31, 1000])
def test_softmax(monkeypatch, columns, pieces):
    x, out = rng.normal(size=(65, columns)).astype("f4"), np.full((65, columns), 7, "f4")
    index = i0 * columns + r0
    nest = Nest((dim("i0", 65), dim("r0", columns)), softmax_stages(load("x", index, F), index))
    got = both(monkeypatch, kernel_of([nest]), {"x": x}, {"out": out}, pieces=pieces)
    np.testing.assert_allclose(got["out"], softmax(x), rtol=2e-6)


def test_nan_and_infinite_rows(monkeypatch):
    x = rng.normal(size=(70, 40)).astype("f4")
    x[3, 39], x[4, 0], x[5], x[6, 7] = np.nan, np.inf, -np.inf, -np.inf
    index = i0 * 40 + r0
    nest = Nest((dim("i0", 70), dim("r0", 40)), softmax_stages(load("x", index, F), index))
    got = both(monkeypatch, kernel_of([nest]), {"x": x}, {"out": np.zeros_like(x)})["out"]
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(got, softmax(x), rtol=2e-6)


def test_in_place(monkeypatch):
    x = rng.normal(size=(90, 70)).astype("f4")
    index = i0 * 70 + r0
    nest = Nest((dim("i0", 90), dim("r0", 70)), softmax_stages(load("x", index, F), index, out="x"))
    got = both(monkeypatch, kernel_of([nest]), {}, {"x": x}, pieces=4)
    np.testing.assert_allclose(got["x"], softmax(x), rtol=2e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_two_outer_dims_strided_reads_and_halves(monkeypatch, dtype):
    T = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    x = rng.normal(size=(9, 11, 50)).astype(T)  # read as if permuted to (11, 9, 50)
    nest = Nest(
        (dim("i0", 11), dim("i1", 9), dim("r0", 50)),
        softmax_stages(load("x", i0 * 50 + i1 * 550 + r0, F), i0 * 450 + i1 * 50 + r0, dtype=dtype),
    )
    got = both(monkeypatch, kernel_of([nest]), {"x": x}, {"out": np.zeros((11, 9, 50), T)}, pieces=5)
    expected = softmax(x.astype("f4").transpose(1, 0, 2))
    np.testing.assert_allclose(got["out"].astype("f4"), expected, rtol=1e-2 if dtype == "bfloat16" else 1e-3)


def test_results_of_whole_rows_between_and_after_the_loops(monkeypatch):
    x = rng.normal(size=(80, 33)).astype("f4")
    index = i0 * 33 + r0
    first, second, third = softmax_stages(load("x", index, F), index)
    log_sum = apply("add", row("m", F), apply("log", row("s", F)))
    stages = (
        first,
        Stage(False, (Store("top", i0, row("m", F), F),)),
        second,
        Stage(False, (Store("lse", i0, log_sum, F), Store("top2", i0, apply("mul", row("m", F), const(2, F)), F))),
        third,
    )
    rows = {name: np.zeros(80, "f4") for name in ("top", "lse", "top2")}
    kernel = kernel_of([Nest((dim("i0", 80), dim("r0", 33)), stages)])
    got = both(monkeypatch, kernel, {"x": x}, {"out": np.zeros_like(x), **rows}, pieces=3)
    np.testing.assert_array_equal(got["top"], x.max(1))
    np.testing.assert_array_equal(got["top2"], x.max(1) * 2)
    np.testing.assert_allclose(got["lse"], np.log(np.exp(x.astype("f8")).sum(1)), rtol=2e-6)
    np.testing.assert_allclose(got["out"], softmax(x), rtol=2e-6)


@pytest.mark.parametrize("pieces", [1, 4])
def test_values_kept_for_several_rows(monkeypatch, pieces):
    """Kept by the first loop, read by the second and by the fourth."""
    x = rng.normal(size=(75, 50)).astype("f4")
    index = i0 * 50 + r0
    value = load("x", index, F)
    e = apply("exp", apply("sub", kept("d", F), row("m", F)))
    stages = (
        Stage(True, (Keep("d", apply("mul", value, const(3, F))), Reduce("m", "max", value, F))),
        Stage(True, (Reduce("s", "sum", e, F),)),
        Stage(True, (Store("sum", index, apply("add", value, row("s", F)), F), Reduce("low", "min", value, F))),
        Stage(True, (Store("out", index, apply("sub", kept("d", F), row("low", F)), F),)),
    )
    kernel = kernel_of([Nest((dim("i0", 75), dim("r0", 50)), stages)])
    got = both(monkeypatch, kernel, {"x": x}, {"out": np.zeros_like(x), "sum": np.zeros_like(x)}, pieces=pieces)
    np.testing.assert_allclose(got["out"], 3 * x - x.min(1, keepdims=True), rtol=1e-6)
    total = np.exp(3 * x - x.max(1, keepdims=True)).sum(1, keepdims=True)
    np.testing.assert_allclose(got["sum"], x + total, rtol=3e-6)


@pytest.mark.parametrize("shape", [(64, 7), (3, 20000), (1, 1), (0, 4), (4, 0), (200, 64)])
def test_symbolic_sizes(monkeypatch, shape):
    """Also rows of several chunks and fewer rows than stages, whatever was expected."""
    s0, s1 = sym("s0"), sym("s1")
    x = rng.normal(size=shape).astype("f4")
    nest = Nest((dim("i0", s0), dim("r0", s1)), softmax_stages(load("x", i0 * s1 + r0, F), i0 * s1 + r0))
    kernel = kernel_of([nest], symbols=(s0, s1))
    render = cpp.render
    monkeypatch.setattr("tests.inductor.codegen.harness.render", lambda *a, hints, **k: render(*a, hints={}, **k))
    arrays = {"x": x, "out": np.zeros(shape, "f4")}
    assert is_staggered(kernel, arrays)
    call(kernel, arrays, {"s0": shape[0], "s1": shape[1]}, pieces=2)
    np.testing.assert_allclose(arrays["out"], softmax(x), rtol=3e-6)


def test_what_is_left_in_order():
    """Positions, checks, few rows, long rows and little work."""
    index = i0 * 64 + r0
    x, out = np.zeros((100, 64), "f4"), np.zeros((100, 64), "f4")
    value = load("x", index, F)
    plain = softmax_stages(value, index)
    dims = (dim("i0", 100), dim("r0", 64))
    assert is_staggered(kernel_of([Nest(dims, plain)]), {"x": x, "out": out})
    position = (Stage(True, (Reduce("a", "argmax", value, F),)), Stage(False, (Store("at", i0, row("a", "int64"), "int64"),)))
    where = in_bounds(load("k", r0, "int64"), 64, 0)
    checked = load("x", i0 * 64 + where.symbol, F, (where,))
    arrays = {"x": x, "out": out, "at": np.zeros(100, "i8"), "k": np.zeros(64, "i8")}
    for loops, stages in [
        (dims, position + plain),
        (dims, softmax_stages(checked, index)),
        ((dim("i0", 10), dim("r0", 64)), plain),
        ((dim("i0", 100), dim("r0", 10000)), plain),
        (dims, (Stage(True, (Reduce("s", "sum", value, F),)), Stage(True, (Store("out", index, row("s", F), F),)))),
    ]:
        assert not is_staggered(kernel_of([Nest(loops, stages)]), arrays)
