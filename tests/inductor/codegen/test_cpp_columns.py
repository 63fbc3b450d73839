"""Columns that take several loops over their rows: NumPy's numbers for every length, width, dtype and cut."""

import ml_dtypes
import numpy as np
import pytest

from aten.symbolic.expr import sym
from inductor import choices
from inductor.codegen import cpp
from inductor.codegen.kernel import plan
from inductor.ir.loops import Keep, Nest, Reduce, Stage, Store
from inductor.ir.nodes import compute_dtype, const, kept, load, row
from inductor.ir.scalar import apply
from tests.inductor.codegen.harness import buffer_of, call, dim, kernel_of

i0, i1, r0, r1 = map(sym, ("i0", "i1", "r0", "r1"))
rng = np.random.default_rng(0)
F = "float32"


def softmax_stages(x, store, c, dtype):
    e = apply("exp", apply("sub", x, row("m", c)))
    out = apply("mul", kept("e", c), apply("reciprocal", row("s", c)))
    return (
        Stage(True, (Reduce("m", "max", x, c),)),
        Stage(True, (Reduce("s", "sum", e, c), Keep("e", e))),
        Stage(True, (Store("out", store, out, dtype),)),
    )


def text_of(nest, arrays, isa):
    """The function of the nest."""
    kernel = kernel_of([nest])
    text = cpp.render([kernel], {n: buffer_of(n, a) for n, a in arrays.items()}, isa=isa)
    return text[text.index(f"static void {kernel.name}") :]


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("outer, rows, columns", [(1, 5, 16), (3, 300, 33), (2, 7, 700)])
def test_softmax(isa, outer, rows, columns, dtype, pieces):
    c = compute_dtype(dtype)
    index = (i0 * rows + r0) * columns + i1
    nest = Nest((dim("i0", outer), dim("r0", rows), dim("i1", columns)), softmax_stages(load("x", index, c), index, c, dtype))
    x = rng.normal(size=(outer, rows, columns)).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    arrays = {"x": x, "out": np.empty_like(x)}
    assert call(kernel_of([nest]), arrays, isa=isa, pieces=pieces) == 0
    e = np.exp(x.astype("f8") - x.astype("f8").max(1, keepdims=True))
    bound = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 1e-2}[dtype]
    np.testing.assert_allclose(arrays["out"].astype("f8"), e / e.sum(1, keepdims=True), rtol=bound, atol=bound)


def test_two_reduced_dims_and_what_is_kept_in_memory_of_the_thread(isa):
    index = ((i0 * 3 + r0) * 5 + r1) * 20 + i1
    x = load("x", index, F)
    e = apply("exp", x)
    out = apply("mul", apply("mul", kept("e", F), apply("reciprocal", row("s", F))), x)  # x is what the result is written over
    stages = (Stage(True, (Reduce("s", "sum", e, F), Keep("e", e))), Stage(True, (Store("x", index, out, F),)))
    nest = Nest((dim("i0", 2), dim("r0", 3), dim("r1", 5), dim("i1", 20)), stages)
    a = rng.normal(size=(2, 3, 5, 20)).astype("f4")
    arrays = {"x": a.copy()}
    assert "scratch" in text_of(nest, arrays, isa)
    assert call(kernel_of([nest]), arrays, isa=isa) == 0
    e = np.exp(a)
    np.testing.assert_allclose(arrays["x"], e / e.sum((1, 2), keepdims=True) * a, rtol=1e-5)


def test_what_is_kept_waits_where_the_result_will_stand(isa):
    index = r0 * 40 + i0
    nest = Nest((dim("r0", 9), dim("i0", 40)), softmax_stages(load("x", index, F), index, F, F))
    x = np.zeros((9, 40), "f4")
    assert "scratch" not in text_of(nest, {"x": x, "out": x.copy()}, isa)


@pytest.mark.parametrize("rows, length", [(70, 2048), (3, 2055), (2, 40001)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_long_rows_keep_waits_where_the_result_will_stand(isa, rows, length, dtype):
    index = i0 * length + r0
    nest = Nest((dim("i0", rows), dim("r0", length)), softmax_stages(load("x", index, F), index, F, dtype))
    x = rng.normal(size=(rows, length)).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    arrays = {"x": x, "out": np.empty_like(x)}
    assert ("scratch" in text_of(nest, arrays, isa)) == (length == 2048 or dtype == "bfloat16")
    assert call(kernel_of([nest]), arrays, isa=isa) == 0
    e = np.exp(x.astype("f8") - x.astype("f8").max(1, keepdims=True))
    bound = {"float32": 1e-5, "bfloat16": 1e-2}[dtype]
    np.testing.assert_allclose(arrays["out"].astype("f8"), e / e.sum(1, keepdims=True), rtol=bound, atol=1e-7)


def test_what_is_made_of_a_column_alone_is_made_before_its_rows(isa):
    index = r0 * 40 + i0
    x = load("x", index, F)
    factor = apply("rsqrt", apply("add", row("s", F), const(1.0, F)))
    store = Store("out", index, apply("mul", x, factor), F)
    stages = (Stage(True, (Reduce("s", "sum", apply("square", x), F),)), Stage(True, (store,)))
    nest = Nest((dim("r0", 50), dim("i0", 40)), stages)
    a = rng.normal(size=(50, 40)).astype("f4")
    arrays = {"x": a, "out": np.empty_like(a)}
    before, rows = text_of(nest, arrays, isa).rsplit("for (long r0", 1)
    assert "sqrt" in before and "sqrt" not in rows
    assert call(kernel_of([nest]), arrays, isa=isa) == 0
    np.testing.assert_allclose(arrays["out"], a / np.sqrt((a * a).sum(0) + 1), rtol=1e-5)


def test_columns_are_few_or_rows_lie_side_by_side():
    def mode(dims, index):
        return plan(Nest(dims, softmax_stages(load("x", index, F), index, F, F)), {}, {}).mode

    assert mode((dim("r0", 50), dim("i0", 40)), r0 * 40 + i0) == "column"
    assert mode((dim("r0", 50), dim("i0", 8)), r0 * 8 + i0) == "row"
    assert mode((dim("i0", 40), dim("r0", 50)), i0 * 50 + r0) == "row"


@pytest.mark.parametrize("rows, columns, kept_values", [(3, 100_000, 1), (512, 1024, 1), (64, 80, 0), (1000, None, 2)])
def test_blocks_are_of_equal_parts_and_stay_in_cache(rows, columns, kept_values):
    block = choices.block_of_columns(rows, columns, kept_values)
    assert block % choices.FEWEST_COLUMNS == 0 and block >= 16
    assert block <= choices.NARROW_BLOCK or 4 * rows * block * (1 + kept_values) <= choices.BLOCK_BYTES
