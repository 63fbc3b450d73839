"""Several loops over short rows, a lane a row: NumPy's numbers for every length, width, dtype and cut."""

import ml_dtypes
import numpy as np
import pytest

from aten.symbolic.expr import sym
from inductor.codegen import cpp
from inductor.ir.loops import Dim, Keep, Nest, Reduce, Stage, Store
from inductor.ir.nodes import call as call_of
from inductor.ir.nodes import compute_dtype, const, kept, load, row
from inductor.ir.nodes import index as place
from inductor.ir.scalar import apply
from tests.inductor.codegen.harness import buffer_of, call, dim, kernel_of

i0, i1, r0 = map(sym, ("i0", "i1", "r0"))
rng = np.random.default_rng(0)
F = "float32"


def stages(x, stores, c=F):
    """softmax of x: `stores` are (buffer, index, dtype)."""
    e = apply("exp", apply("sub", x, row("m", c)))
    return (
        Stage(True, (Reduce("m", "max", x, c),)),
        Stage(True, (Keep("e", e), Reduce("s", "sum", e, c))),
        Stage(True, tuple(Store(b, i, apply("div", kept("e", c), row("s", c)), d) for b, i, d in stores)),
    )


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def goes_across(kernel, arrays, isa, hints=None):
    return "w_transpose<L, L>" in cpp.render([kernel], {n: buffer_of(n, a) for n, a in arrays.items()}, hints=hints, isa=isa)


def run(nest, arrays, isa, pieces=1, symbols=None):
    kernel = kernel_of([nest], symbols=tuple(map(sym, symbols or ())))
    assert goes_across(kernel, arrays, isa, symbols)
    assert call(kernel, arrays, symbols, isa=isa, pieces=pieces) == 0


@pytest.mark.parametrize("pieces", [1, 3, 100])
@pytest.mark.parametrize("rows", [8, 32, 45])
@pytest.mark.parametrize("size", [2, 3, 10, 16, 17, 24])
def test_softmax(isa, size, rows, pieces):
    x, out = rng.normal(size=(rows, size)).astype("f4"), np.full((rows + 1, size), 7, "f4")
    index = i0 * size + r0
    nest = Nest((dim("i0", rows), dim("r0", size)), stages(load("x", index, F), [("out", index, F)]))
    run(nest, {"x": x, "out": out}, isa, pieces)
    np.testing.assert_allclose(out[:rows], softmax(x), rtol=2e-6)
    assert (out[rows:] == 7).all()  # nothing is written beyond the rows


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(isa, dtype):
    T = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    x, out = rng.normal(size=(37, 11)).astype(T), np.zeros((37, 11), T)
    index, c = i0 * 11 + r0, compute_dtype(dtype)
    run(Nest((dim("i0", 37), dim("r0", 11)), stages(load("x", index, c), [("out", index, dtype)], c)), {"x": x, "out": out}, isa)
    np.testing.assert_allclose(out.astype("f8"), softmax(x.astype("f8")), rtol=1e-2 if T.itemsize == 2 else 1e-12)


def test_rows_lie_and_are_stored_otherwise_too(isa):
    """Rows of a larger matrix, with weights of their own; stored side by side, transposed, and every second."""
    x, w = rng.normal(size=(3, 40, 20)).astype("f4"), rng.normal(size=(12,)).astype("f4")
    x[1, 3, 5] = np.nan
    value = apply("mul", load("x", i0 * 800 + i1 * 20 + r0 + 4, F), load("w", r0, F))
    places = [
        ("out", i0 * 480 + i1 * 12 + r0, F),
        ("across", i0 * 480 + r0 * 40 + i1, F),
        ("apart", i0 * 960 + i1 * 24 + r0 * 2, F),
    ]
    nest = Nest((dim("i0", 3), dim("i1", 40), dim("r0", 12)), stages(value, places))
    arrays = {
        "x": x,
        "w": w,
        "out": np.zeros((3, 40, 12), "f4"),
        "across": np.zeros((3, 12, 40), "f4"),
        "apart": np.zeros((3, 40, 24), "f4"),
    }
    run(nest, arrays, isa, pieces=4)
    want = softmax(x[..., 4:16] * w)
    np.testing.assert_allclose(arrays["out"], want, rtol=1e-5)
    np.testing.assert_allclose(arrays["across"], want.transpose(0, 2, 1), rtol=1e-5)
    np.testing.assert_allclose(arrays["apart"][..., ::2], want, rtol=1e-5)


def test_in_place_and_what_is_stored_of_a_row(isa):
    x, largest = rng.normal(size=(50, 6)).astype("f4"), np.zeros(50, "f4")
    want, index = softmax(x), i0 * 6 + r0
    first, second, third = stages(load("x", index, F), [("x", index, F)])
    nest = Nest((dim("i0", 50), dim("r0", 6)), (first, second, Stage(False, (Store("largest", i0, row("m", F), F),)), third))
    arrays = {"x": x.copy(), "largest": largest}
    run(nest, arrays, isa)
    np.testing.assert_allclose(arrays["x"], want, rtol=2e-6)
    np.testing.assert_array_equal(arrays["largest"], x.max(1))


def test_a_number_of_rows_that_is_known_at_the_call(isa):
    index = i0 * 5 + r0
    for rows in (1, 16, 43):
        x, out = rng.normal(size=(rows, 5)).astype("f4"), np.zeros((rows, 5), "f4")
        nest = Nest((Dim("i0", sym("s0")), dim("r0", 5)), stages(load("x", index, F), [("out", index, F)]))
        kernel = kernel_of([nest], symbols=(sym("s0"),))
        assert call(kernel, {"x": x, "out": out}, {"s0": rows}, isa=isa) == 0
        np.testing.assert_allclose(out, softmax(x), rtol=2e-6)


def test_random_numbers_that_follow_each_other_are_drawn_along_rows(isa):
    x, out = rng.normal(size=(48, 8)).astype("f4"), np.zeros((48, 8), "f4")
    index = i0 * 8 + r0
    for drawn, across in ((place(index), False), (place(index * 2), True)):
        uniform = call_of("uniform", (const(1, "int64"), const(0, "int64"), drawn), F)
        first, second, third = stages(load("x", index, F), [("out", index, F)])
        last = Stage(True, (Store("out", index, apply("mul", third.body[0].value, uniform), F),))
        nest = Nest((dim("i0", 48), dim("r0", 8)), (first, second, last))
        assert goes_across(kernel_of([nest]), {"x": x, "out": out}, isa) is across
