"""Nests as C++: what they compute equals NumPy, at both vector widths, however the units are cut."""

import ctypes
import mmap

import ml_dtypes
import numpy as np
import pytest

from aten.symbolic.expr import as_expr, lt, sym
from inductor.codegen.cpp import render
from inductor.codegen.cpp_vector import Isa
from inductor.codegen.kernel import plan
from inductor.ir import nodes
from inductor.ir.buffer import Check
from inductor.ir.fold import cast
from inductor.ir.loops import Keep, Nest, Reduce, Running, Stage, Store
from inductor.ir.nodes import compute_dtype, const, kept, load, row
from inductor.ir.scalar import apply
from tests.inductor.codegen.harness import buffer_of, call, dim, kernel_of

i0, i1, r0, r1 = map(sym, ("i0", "i1", "r0", "r1"))
rng = np.random.default_rng(0)


def test_pointwise_with_a_tail(isa):
    x, y, out = rng.normal(size=1003).astype("f4"), rng.normal(size=1003).astype("f4"), np.zeros(1003, "f4")
    a, b = load("x", i0, "float32"), load("y", i0, "float32")
    value = apply("add", a, apply("mul", b, const(2, "float32")))
    nest = Nest((dim("i0", 1003),), (Stage(False, (Store("out", i0, value, "float32"),)),))
    assert call(kernel_of([nest]), {"x": x, "y": y, "out": out}, isa=isa, pieces=3) == 0
    np.testing.assert_array_equal(out, x + y * 2)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "int64", "bool", "uint8", "int32"])
def test_memory_dtypes_round_trip(isa, dtype):
    T = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    x = (rng.normal(size=77) * 50).astype(T)
    out = np.zeros(77, T)
    value = load("x", i0, compute_dtype(dtype))
    value = apply("add", value, value) if dtype != "bool" else apply("bitwise_not", value)
    nest = Nest((dim("i0", 77),), (Stage(False, (Store("out", i0, value, dtype),)),))
    call(kernel_of([nest]), {"x": x, "out": out}, isa=isa)
    np.testing.assert_array_equal(out, ~x if dtype == "bool" else x + x)


def test_halves_round_to_nearest_even(isa):
    x = np.concatenate(
        [
            rng.normal(size=4000) * 10.0 ** rng.integers(-8, 6, 4000),
            [np.inf, -np.inf, np.nan, 65519.9, 65520, 2.0**-25, 6e-8, -0.0],
        ]
    ).astype("f4")
    for T in (ml_dtypes.bfloat16, np.float16):
        out, name = np.zeros(x.size, T), np.dtype(T).name
        nest = Nest((dim("i0", x.size),), (Stage(False, (Store("out", i0, load("x", i0, "float32"), name),)),))
        call(kernel_of([nest]), {"x": x, "out": out}, isa=isa)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(out.astype("f4"), x.astype(T).astype("f4"))


def softmax_nest(rows, columns, name="x"):
    x = load(name, i0 * columns + r0, "float32")
    e = apply("exp", apply("sub", x, row("m", "float32")))
    return Nest(
        (dim("i0", rows), dim("r0", columns)),
        (
            Stage(True, (Reduce("m", "max", x, "float32"),)),
            Stage(True, (Keep("e", e), Reduce("s", "sum", e, "float32"))),
            Stage(
                True,
                (Store("out", i0 * columns + r0, apply("div", kept("e", "float32"), row("s", "float32")), "float32"),),
            ),
        ),
    )


@pytest.mark.parametrize("columns", [1, 15, 16, 100, 9001])
def test_softmax_is_one_nest(isa, columns):
    x, out = rng.normal(size=(5, columns)).astype("f4"), np.zeros((5, columns), "f4")
    call(kernel_of([softmax_nest(5, as_expr(columns))]), {"x": x, "out": out}, isa=isa, pieces=2)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=2e-6)


def test_symbolic_sizes(isa):
    s0, s1 = sym("s0"), sym("s1")
    nest = softmax_nest(s0, s1)
    kernel = kernel_of([nest], symbols=(s0, s1))
    for shape in ((3, 7), (2, 20000), (0, 4), (4, 0)):
        x, out = rng.normal(size=shape).astype("f4"), np.zeros(shape, "f4")
        call(kernel, {"x": x, "out": out}, {"s0": shape[0], "s1": shape[1]}, isa=isa)
        e = np.exp(x - x.max(1, keepdims=True, initial=-np.inf))
        np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=3e-6)


REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod, "argmax": np.argmax, "argmin": np.argmin}


@pytest.mark.parametrize("layout", ["row", "column", "all", "mixed"])
@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_reductions(isa, kind, layout, dtype):
    shape = (7, 37, 101)
    x = (rng.normal(size=shape) * 3).astype(dtype)
    if kind == "prod":
        x = np.clip(x, 1, 1 + (dtype == "int64")) * (1 + 1e-5 * rng.normal(size=shape)).astype(dtype)
    dims = {"row": (2,), "column": (1,), "all": (0, 1, 2), "mixed": (0, 2)}[layout]
    if kind.startswith("arg") and layout == "mixed":
        dims = (2,)
    names = [f"r{k}" if k in dims else f"i{k}" for k in range(3)]
    index = sum(sym(n) * s for n, s in zip(names, (37 * 101, 101, 1)))
    left = [k for k in range(3) if k not in dims]
    result = {"argmax": "int64", "argmin": "int64"}.get(kind, dtype)
    out = np.zeros([shape[k] for k in left], result)
    place, step = as_expr(0), 1
    for k in reversed(left):
        place, step = place + sym(names[k]) * step, step * shape[k]
    nest = Nest(
        tuple(dim(n, s) for n, s in zip(names, shape)),
        (
            Stage(True, (Reduce("a", kind, load("x", index, dtype), dtype),)),
            Stage(False, (Store("out", place, row("a", result), result),)),
        ),
    )
    kernel = kernel_of([nest])
    call(kernel, {"x": x, "out": out}, isa=isa, pieces=3)
    if kind.startswith("arg"):
        want = REDUCTIONS[kind](x) if layout == "all" else REDUCTIONS[kind](x, dims[0])
    else:
        want = REDUCTIONS[kind](x, axis=dims)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(out, want, rtol=tolerance, atol=tolerance)
    again = np.zeros_like(out)
    call(kernel, {"x": x, "out": again}, isa=Isa(32), pieces=1)
    np.testing.assert_array_equal(out, again)  # neither threads nor the width of registers change a bit


def test_nan_and_ties(isa):
    x = np.array([[1, np.nan, 3, np.nan] * 10, [5, 7, 7, 1] * 10, [-np.inf] * 40], "f4")
    for kind, want in (
        ("max", [np.nan, 7, -np.inf]),
        ("argmax", [1, 1, 0]),
        ("min", [np.nan, 1, -np.inf]),
        ("argmin", [1, 3, 0]),
    ):
        result = "int64" if kind.startswith("arg") else "float32"
        out = np.zeros(3, result)
        nest = Nest(
            (dim("i0", 3), dim("r0", 40)),
            (
                Stage(True, (Reduce("a", kind, load("x", i0 * 40 + r0, "float32"), "float32"),)),
                Stage(False, (Store("out", i0, row("a", result), result),)),
            ),
        )
        call(kernel_of([nest]), {"x": x, "out": out}, isa=isa)
        np.testing.assert_array_equal(out, np.array(want, result))


def test_long_columns_and_full_sums(isa):
    x = rng.normal(size=(1000, 50)).astype("f4")
    for axis in (0, None):
        names = ("r0", "i1" if axis == 0 else "r1")
        index = sym(names[0]) * 50 + sym(names[1])
        out = np.zeros(50 if axis == 0 else 1, "f4")
        nest = Nest(
            (dim(names[0], 1000), dim(names[1], 50)),
            (
                Stage(True, (Reduce("a", "sum", load("x", index, "float32"), "float32"),)),
                Stage(False, (Store("out", i1 if axis == 0 else as_expr(0), row("a", "float32"), "float32"),)),
            ),
        )
        call(kernel_of([nest]), {"x": x, "out": out}, isa=isa)
        np.testing.assert_allclose(out, x.astype("f8").sum(axis), atol=1e-3)


def test_running_sums_along_and_across_the_vectors(isa):
    x, out = rng.normal(size=(9, 21)).astype("f4"), np.zeros((9, 21), "f4")
    for index, sizes, axis in ((i0 * 21 + r0, (9, 21), 1), (r0 * 21 + i0, (21, 9), 0)):
        nest = Nest(
            (dim("i0", sizes[0]), dim("r0", sizes[1])),
            (
                Stage(
                    True,
                    (
                        Running("c", "sum", load("x", index, "float32"), "float32"),
                        Store("out", index, row("c", "float32"), "float32"),
                    ),
                ),
            ),
        )
        call(kernel_of([nest]), {"x": x, "out": out}, isa=isa)
        np.testing.assert_allclose(out, np.cumsum(x, axis), rtol=1e-5, atol=1e-5)


def test_strided_flipped_and_transposed_reads(isa):
    x, out = rng.normal(size=(30, 40)).astype("f4"), np.zeros((40, 30), "f4")
    for index, want in ((i1 * 40 + i0, x.T), ((29 - i1) * 40 + i0, x[::-1].T), (i0 + i1 * 40, x.T)):
        nest = Nest(
            (dim("i0", 40), dim("i1", 30)),
            (Stage(False, (Store("out", i0 * 30 + i1, apply("neg", load("x", index, "float32")), "float32"),)),),
        )
        call(kernel_of([nest]), {"x": x, "out": out}, isa=isa)
        np.testing.assert_array_equal(out, -want)


@pytest.mark.parametrize("step", [2, 3, 4, 5, -2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16", "int8"])
def test_every_nth_element(isa, step, dtype):
    """Up to the last byte of the memory and not beyond: the array ends with a page that nobody may read."""
    T = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    for n in (1, 16, 33, 100):
        count = abs(step) * (n - 1) + 1
        x = guarded(count * T.itemsize).view(T)
        x[:] = rng.integers(0, 100, count).astype(T)
        out = np.zeros(n, T)
        start = count - 1 if step < 0 else 0
        value = load("x", i0 * step + start, compute_dtype(dtype))
        nest = Nest((dim("i0", n),), (Stage(False, (Store("out", i0, value, dtype),)),))
        call(kernel_of([nest]), {"x": x, "out": out}, isa=isa)
        np.testing.assert_array_equal(out, x[::step])


def guarded(size):
    """`size` writable bytes that end where a page begins that cannot be read."""
    page = mmap.PAGESIZE
    whole = (size + page - 1) // page * page
    memory = mmap.mmap(-1, whole + page)
    address = np.frombuffer(memory, np.uint8).ctypes.data
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(address + whole), ctypes.c_size_t(page), 0) == 0
    return np.frombuffer(memory, np.uint8)[whole - size : whole]


def test_vectors_run_where_large_tensors_lie_side_by_side(isa):
    """A normalisation of [N, C, H * W]: four vectors of C do not outweigh the tensor."""
    x, out = rng.normal(size=(3, 64, 50)).astype("f4"), np.zeros((3, 64, 50), "f4")
    small = {name: rng.normal(size=64).astype("f4") for name in "abcd"}
    i2 = sym("i2")
    at = i0 * 3200 + i1 * 50 + i2
    value = load("x", at, "float32")
    for name in small:
        value = apply("add", value, load(name, i1, "float32"))
    nest = Nest((dim("i0", 3), dim("i1", 64), dim("i2", 50)), (Stage(False, (Store("out", at, value, "float32"),)),))
    arrays = {"x": x, "out": out, **small}
    buffers = {name: buffer_of(name, a) for name, a in arrays.items()}
    assert plan(nest, buffers, {}).axis.name == "i2"
    call(kernel_of([nest]), arrays, isa=isa)
    np.testing.assert_allclose(out, x + sum(v[:, None] for v in small.values()), rtol=1e-5, atol=1e-6)


def test_masked_loads_touch_nothing_outside(isa):
    x, y, out = rng.normal(size=(4, 19)).astype("f4"), rng.normal(size=(4, 21)).astype("f4"), np.zeros((4, 40), "f4")
    left = load("x", i0 * 19 + i1, "float32")
    right = load("y", i0 * 21 + i1 - 19, "float32")
    value = nodes.masked(
        nodes.index(lt(i1, 19), "bool"), left, nodes.masked(nodes.index(lt(18, i1), "bool"), right, const(0, "float32"))
    )
    nest = Nest((dim("i0", 4), dim("i1", 40)), (Stage(False, (Store("out", i0 * 40 + i1, value, "float32"),)),))
    call(kernel_of([nest]), {"x": x, "y": y, "out": out}, isa=isa)
    np.testing.assert_array_equal(out, np.concatenate([x, y], 1))


@pytest.mark.parametrize("uniform", [True, False])
def test_indices_are_checked(isa, uniform):
    table, out = rng.normal(size=(10, 33)).astype("f4"), np.zeros((5, 33), "f4")
    check = Check("embedding", "index", "")
    j = nodes.in_bounds(load("j", i0 if uniform else i0 * 33 + i1, "int64"), 10, check)
    value = load("t", j.symbol * 33 + i1, "float32", (j,))
    nest = Nest((dim("i0", 5), dim("i1", 33)), (Stage(False, (Store("out", i0 * 33 + i1, value, "float32"),)),))
    kernel = kernel_of([nest])
    assert kernel.checks == (check,)
    index = rng.integers(0, 10, 5 if uniform else (5, 33))
    assert call(kernel, {"t": table, "j": index, "out": out}, isa=isa) == 0
    want = table[index] if uniform else np.take_along_axis(table, index, 0)
    np.testing.assert_array_equal(out, want)
    index.reshape(-1)[-1] = 10
    assert call(kernel, {"t": table, "j": index, "out": out}, isa=isa) == 1


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_places_that_are_the_same_in_all_lanes_are_computed_once(isa, dtype):
    """A row is taken by an index that wraps: in a lane, not in the several registers that lanes of 64 bits fill."""
    table, out = rng.normal(size=(10, 33)).astype("f4"), np.zeros((6, 33), "f4")
    check = Check("index", "index", "")
    j = load("j", i0, dtype)
    wrapped = apply("where", apply("lt", j, const(0, dtype)), apply("add", j, const(10, dtype)), j)
    place = nodes.in_bounds(cast(wrapped, "int64"), 10, check)
    value = load("t", place.symbol * 33 + i1, "float32", (place,))
    nest = Nest((dim("i0", 6), dim("i1", 33)), (Stage(False, (Store("out", i0 * 33 + i1, value, "float32"),)),))
    kernel = kernel_of([nest])
    index = np.array([-1, 9, 0, -10, 3, -4], dtype)
    arrays = {"t": table, "j": index, "out": out}
    text = render([kernel], {name: buffer_of(name, a) for name, a in arrays.items()}, isa=isa)
    reads = [line for line in text.splitlines() if "w_load<L>(" in line and "33*" in line]
    assert "w_one(t" in text and reads and not any("[0]" in line for line in reads)
    assert call(kernel, arrays, isa=isa) == 0
    np.testing.assert_array_equal(out, table[index])
    for wrong in (10, -11):
        index[5] = wrong
        assert call(kernel, {"t": table, "j": index, "out": out}, isa=isa) == 1


def test_integer_division_by_zero_is_reported(isa):
    x, y, out = np.arange(20), np.ones(20, "i8"), np.zeros(20, "i8")
    divisor = nodes.nonzero(load("y", i0, "int64"), Check("floor_divide", "other", ""))
    value = apply("floor_divide", load("x", i0, "int64"), divisor)
    nest = Nest((dim("i0", 20),), (Stage(False, (Store("out", i0, value, "int64"),)),))
    kernel = kernel_of([nest])
    y[3], x[4], y[4] = -7, np.iinfo("i8").min, -1
    assert call(kernel, {"x": x, "y": y, "out": out}, isa=isa) == 0
    np.testing.assert_array_equal(out[:4], x[:4] // y[:4])
    assert out[4] == np.iinfo("i8").min
    y[19] = 0
    assert call(kernel, {"x": x, "y": y, "out": out}, isa=isa) == 1


def test_casts_and_arange(isa):
    out = np.zeros(50, "f4")
    value = apply(
        "where",
        cast(load("m", i0, "bool"), "bool"),
        cast(nodes.index(i0 * 3 + 1), "float32"),
        cast(load("h", i0, "float64"), "float32"),
    )
    nest = Nest((dim("i0", 50),), (Stage(False, (Store("out", i0, value, "float32"),)),))
    m, h = rng.random(50) < 0.5, rng.normal(size=50)
    call(kernel_of([nest]), {"m": m, "h": h, "out": out}, isa=isa)
    np.testing.assert_array_equal(out, np.where(m, (np.arange(50) * 3 + 1).astype("f4"), h.astype("f4")))


def test_the_chunks_of_a_long_row_are_shared_among_threads(isa):
    x = rng.normal(size=(2, 70001)).astype("f4")
    value = load("x", i0 * 70001 + r0, "float32")
    nest = Nest(
        (dim("i0", 2), dim("r0", 70001)),
        (
            Stage(True, (Reduce("a", "sum", value, "float32"), Reduce("m", "max", value, "float32"))),
            Stage(False, (Store("out", i0 * 2, row("a", "float32"), "float32"),
                          Store("out", i0 * 2 + 1, row("m", "float32"), "float32"))),
        ),
    )  # fmt: skip
    results = []
    for pieces in (1, 5):
        out = np.zeros((2, 2), "f4")
        assert call(kernel_of([nest]), {"x": x, "out": out}, isa=isa, pieces=pieces) == 0
        np.testing.assert_allclose(out[:, 0], x.astype("f8").sum(1), atol=1e-2)
        np.testing.assert_array_equal(out[:, 1], x.max(1))
        results.append(out)
    np.testing.assert_array_equal(*results)


def test_where_of_an_expensive_condition_beside_narrower_values(isa):
    """float64 in as many lanes as float32: two registers each where one does not hold them."""
    x, y, out = rng.normal(size=37).astype("f4"), rng.normal(size=37), np.zeros(37)
    a, b = load("x", i0, "float32"), load("y", i0, "float64")
    condition = apply("gt", apply("erf", a), const(0, "float32"))
    value = apply("where", condition, b, apply("neg", b))
    nest = Nest((dim("i0", 37),), (Stage(False, (Store("out", i0, value, "float64"),)),))
    assert call(kernel_of([nest]), {"x": x, "y": y, "out": out}, isa=isa) == 0
    assert np.array_equal(out, np.where(x > 0, y, -y))


def test_a_bfloat16_with_another_sign_is_moved(isa):
    bits = np.arange(1 << 16, dtype=np.uint16)
    x = bits.view(ml_dtypes.bfloat16)
    out = np.zeros_like(x)
    value = apply("neg", load("x", i0, "float32"))
    kernel = kernel_of([Nest((dim("i0", x.size),), (Stage(False, (Store("out", i0, value, "bfloat16"),)),))])
    buffers = {"x": buffer_of("x", x), "out": buffer_of("out", out)}
    assert "w_moved_bf16 *" in render([kernel], buffers, isa=isa)
    call(kernel, {"x": x, "out": out}, isa=isa)
    np.testing.assert_array_equal(out.view(np.uint16), bits ^ 0x8000)
