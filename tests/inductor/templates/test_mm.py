"""Matrix products from `render_mm` against NumPy in float64: layouts, dtypes, sizes, hooks, instruction sets."""

import ml_dtypes
import numpy as np
import pytest

from aten import _native
from aten.records import replaced
from inductor.templates.mm import Isa, MatmulSpec, Operand, StoreEpilogue, render_mm
from tests.inductor.templates.gemm_harness import Builder

NUMPY = {"float32": np.float32, "float64": np.float64, "bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
EPS = {"float32": 1e-6, "float64": 1e-14, "bfloat16": 8e-3, "float16": 1e-3}


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    return Builder(tmp_path_factory.mktemp("kernels"))


def matrix(rng, batch, rows, cols, layout, dtype):
    """A random [batch…, rows, cols] array; layout "n": row-major, "t": column-major, "s": every second column of
    every second row. Gives (view, memory, row stride, column stride, batch strides), in elements."""
    held = {"n": (rows, cols), "t": (cols, rows), "s": (2 * rows, 2 * cols)}[layout]
    memory = rng.standard_normal((*batch, *held)).astype(NUMPY[dtype])
    view = {"n": memory, "t": np.swapaxes(memory, -1, -2), "s": memory[..., ::2, ::2]}[layout]
    strides = tuple(s // memory.itemsize for s in view.strides)
    return view, memory, strides[-2], strides[-1], strides[:-2]


def check(builder, m, n, k, layout="nn", dtype="float32", batch=(), threads=1, symbolic="", march="native",
          level=0):
    """One product against NumPy's in float64. `symbolic`: letters of m, n, k, b that are symbols of the kernel.
    Gives the kernel's output."""
    rng = np.random.default_rng(0)
    a, a_memory, *a_strides = matrix(rng, batch, m, k, layout[0], dtype)
    b, b_memory, *b_strides = matrix(rng, batch, k, n, layout[1], dtype)
    symbols, text = [], {}
    for letter, value in [("m", m), ("n", n), ("k", k)] + [("b", x) for x in batch]:
        text[letter] = value
        if letter in symbolic:
            text[letter] = f"sym[{len(symbols)}]"
            symbols.append(value)
    sizes = (text["b"],) * len(batch) if "b" in symbolic else batch
    if symbolic:  # what strides are made of is symbolic too
        def stride(s):
            symbols.append(s)
            return 1 if s == 1 else f"sym[{len(symbols) - 1}]"
        a_strides = [stride(a_strides[0]), stride(a_strides[1]), tuple(map(stride, a_strides[2]))]
        b_strides = [stride(b_strides[0]), stride(b_strides[1]), tuple(map(stride, b_strides[2]))]
    spec = MatmulSpec(text["m"], text["n"], text["k"], Operand(0, dtype, *a_strides), Operand(1, dtype, *b_strides),
                      sizes)
    out = np.full((*batch, m, n), np.nan, NUMPY[dtype])
    strides = tuple(int(np.prod(batch[i + 1:], dtype=int)) * m * n for i in range(len(batch)))
    epilogue = StoreEpilogue(2, dtype, text["n"], 1, strides)
    kernel = render_mm(spec, epilogue, "product")
    builder.call(kernel, "product", [a_memory, b_memory, out], symbols, threads, march, level)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    scale = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) + 1e-30
    assert np.all(np.abs(out.astype(np.float64) - expected) <= EPS[dtype] * np.maximum(scale, np.abs(expected)))
    return out


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt", "sn", "ns", "st"])
def test_layouts(builder, layout):
    check(builder, 37, 45, 53, layout)


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (2, 3, 1), (5, 17, 19), (8, 64, 33), (15, 33, 2), (29, 100, 401),
                                     (64, 96, 800)])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
def test_sizes_on_and_off_the_tile(builder, m, n, k, layout):
    check(builder, m, n, k, layout)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "ss"])
def test_dtypes(builder, dtype, layout):
    check(builder, 19, 43, 210, layout, dtype)
    check(builder, 33, 70, 1601, layout, dtype, batch=(2,), threads=2)


@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
@pytest.mark.parametrize("k", [1, 2, 3, 800, 801])
def test_pairs_of_bfloat16_keep_infinity_where_it_is(builder, layout, k):
    """Also where k is odd, so that the last pair has half of it."""
    a, a_memory, *a_strides = matrix(np.random.default_rng(0), (), 20, k, layout[0], "bfloat16")
    b, b_memory, *b_strides = matrix(np.random.default_rng(1), (), k, 40, layout[1], "bfloat16")
    a[3, k - 1], b[k - 1, 5] = np.inf, np.nan
    spec = MatmulSpec(20, 40, k, Operand(0, "bfloat16", *a_strides), Operand(1, "bfloat16", *b_strides))
    out = np.empty((20, 40), np.float32)
    builder.call(render_mm(spec, StoreEpilogue(2, "float32", 40), "product"), "product", [a_memory, b_memory, out])
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert (np.isfinite(out) == np.isfinite(expected)).all()
    some = np.isfinite(expected)
    np.testing.assert_allclose(out[some], expected[some], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "ss"])
def test_all_sizes_symbolic_with_one_kernel(builder, layout):
    for m, n, k in [(1, 1, 1), (14, 32, 16), (33, 65, 400), (3, 5, 7), (70, 2, 1), (2, 70, 900)]:
        check(builder, m, n, k, layout, symbolic="mnk")


def test_symbolic_rows(builder):
    for m in (1, 2, 14, 31, 200):
        check(builder, m, 64, 96, "nt", symbolic="m")


@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
def test_batches(builder, layout):
    check(builder, 10, 20, 30, layout, batch=(3,))
    check(builder, 10, 20, 30, layout, batch=(2, 3), threads=3)
    check(builder, 10, 20, 30, layout, batch=(4,), symbolic="b")
    check(builder, 1, 20, 30, layout, batch=(2, 2))


def test_a_broadcast_operand_has_stride_zero(builder):
    a, b = np.random.default_rng(0).standard_normal((2, 6, 7)).astype(np.float32)[:1], np.ones((3, 7, 5), np.float32)
    spec = MatmulSpec(6, 5, 7, Operand(0, "float32", 7, 1, (0,)), Operand(1, "float32", 5, 1, (35,)), (3,))
    out = np.empty((3, 6, 5), np.float32)
    builder.call(render_mm(spec, StoreEpilogue(2, "float32", 5, 1, (30,)), "product"), "product", [a, b, out])
    np.testing.assert_allclose(out, a @ b, rtol=1e-5)


@pytest.mark.parametrize("n", [1, 3, 64, 100, 1111])
@pytest.mark.parametrize("layout", ["nn", "nt", "ns", "tn", "sn"])
def test_one_row_and_one_column(builder, n, layout):
    check(builder, 1, n, 130, layout, threads=2)
    check(builder, n, 1, 130, layout[::-1], threads=2)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
@pytest.mark.parametrize("layout", ["nn", "nt"])
def test_one_row_of_other_dtypes(builder, dtype, layout):
    check(builder, 1, 77, 801, layout, dtype)


@pytest.mark.parametrize("symbolic", ["", "mnk"])
def test_no_k_gives_zeros_and_no_rows_or_columns_do_nothing(builder, symbolic):
    assert (check(builder, 5, 40, 0, symbolic=symbolic) == 0).all()
    assert (check(builder, 1, 40, 0, symbolic=symbolic) == 0).all()
    check(builder, 0, 4, 3, symbolic=symbolic)
    check(builder, 4, 0, 3, symbolic=symbolic)
    check(builder, 4, 4, 3, batch=(0,), symbolic=symbolic)


@pytest.mark.parametrize("shape", [(150, 300, 500), (40, 33, 70), (1, 3000, 40)])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn"])
def test_threads_do_not_change_a_bit(builder, shape, layout):
    outs = [check(builder, *shape, layout, threads=threads) for threads in (1, 2, 5)]
    assert all((out == outs[0]).all() for out in outs)


def test_the_order_of_the_sum_is_a_function_of_k(builder):
    """Every element: chunks of k of one length, a chain of fused multiply-adds in each, chunks added in order."""
    rng = np.random.default_rng(0)
    k, chunk = 800, 272  # three chunks of at most 384, rounded up to 16
    a, b = rng.standard_normal((29, k)).astype(np.float32), rng.standard_normal((k, 40)).astype(np.float32)
    total = np.zeros((29, 40), np.float32)
    for start in range(0, k, chunk):
        part = np.zeros((29, 40), np.float32)
        for i in range(start, min(k, start + chunk)):  # the product of two floats is exact in float64
            part = (part + np.outer(a[:, i].astype(np.float64), b[i].astype(np.float64))).astype(np.float32)
        total = part if start == 0 else total + part
    spec = MatmulSpec(29, 40, k, Operand(0, "float32", k, 1), Operand(1, "float32", 40, 1))
    out = np.empty((29, 40), np.float32)
    builder.call(render_mm(spec, StoreEpilogue(2, "float32", 40), "product"), "product", [a, b, out])
    row = np.empty((1, 40), np.float32)
    one = replaced(spec, m=1)
    builder.call(render_mm(one, StoreEpilogue(2, "float32", 40), "product"), "product", [a[:1].copy(), b, row])
    assert (row[0] == out[0]).all()
    # float64 sums rounded to float32 differ from a fused multiply-add only by double rounding, which is rare
    assert (out == total).mean() > 0.99


def test_nan_and_infinity_stay_where_they_are(builder):
    rng = np.random.default_rng(0)
    n, k = 35, 21
    for m, layout in [(17, "nn"), (17, "nt"), (17, "tn"), (1, "nn"), (1, "nt")]:
        a, a_memory, *a_strides = matrix(rng, (), m, k, layout[0], "float32")
        b, b_memory, *b_strides = matrix(rng, (), k, n, layout[1], "float32")
        a[m // 2, k - 1], b[0, n - 1], b[3, 2] = np.inf, np.nan, -np.inf
        spec = MatmulSpec(m, n, k, Operand(0, "float32", *a_strides), Operand(1, "float32", *b_strides))
        out = np.empty((m, n), np.float32)
        builder.call(render_mm(spec, StoreEpilogue(2, "float32", n), "product"), "product", [a_memory, b_memory, out])
        with np.errstate(invalid="ignore"):
            expected = np.einsum("ik,kj->ij", a.astype(np.float64), b.astype(np.float64))
        assert (np.isnan(out) == np.isnan(expected)).all()
        assert (np.isinf(out) == np.isinf(expected)).all()


class SquareEpilogue:
    """out = acc * acc, one lane at a time, into row-major float32 buf[2]."""

    def __init__(self, n):
        self.n = n

    def declare(self):
        return ["float *const out = (float *)buf[2];"]

    def outside(self, depth):
        return []

    def store_vector(self, acc, batch, row, col, lanes, tail):
        return [f"{acc} *= {acc};",
                f"for (long l = 0; l < {tail or lanes}; l++) out[{row} * {self.n} + {col} + l] = {acc}[l];"]


@pytest.mark.parametrize("march, isa", [("native", None), ("x86-64-v3", Isa(32))])
@pytest.mark.parametrize("m, n", [(20, 64), (20, 50), (1, 64), (1, 50), (20, 1), (1, 1)])
def test_an_epilogue_takes_the_sums(builder, m, n, march, isa):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, 30)).astype(np.float32), rng.standard_normal((30, n)).astype(np.float32)
    spec = MatmulSpec(m, n, 30, Operand(0, "float32", 30, 1), Operand(1, "float32", n, 1))
    out = np.full((m + 1, n), 7, np.float32)
    builder.call(render_mm(spec, SquareEpilogue(n), "product", isa), "product", [a, b, out], march=march)
    np.testing.assert_allclose(out[:m], (a @ b) ** 2, rtol=1e-4, atol=1e-4)
    assert (out[m] == 7).all()


@pytest.mark.parametrize("n", [1, 50, 64])
@pytest.mark.parametrize("m", [1, 20])
def test_a_plain_result_scales_adds_bias_and_accumulates(builder, m, n):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, 30)).astype(np.float32), rng.standard_normal((30, n)).astype(np.float32)
    bias, out = rng.standard_normal(n).astype(np.float32), rng.standard_normal((m, n)).astype(np.float32)
    expected = 0.5 * out + 2 * (a @ b) + bias
    spec = MatmulSpec(m, n, 30, Operand(0, "float32", 30, 1), Operand(1, "float32", n, 1))
    text = render_mm(spec, StoreEpilogue(2, "float32", n, bias=3, alpha=2, beta=0.5), "product")
    builder.call(text, "product", [a, b, out, bias])
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_result_may_be_of_a_smaller_dtype(builder):
    """float32 operands, the sums rounded to bfloat16 to nearest even, NaN kept."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((9, 8)).astype(np.float32), rng.standard_normal((8, 21)).astype(np.float32)
    a[4] = np.nan
    spec = MatmulSpec(9, 21, 8, Operand(0, "float32", 8, 1), Operand(1, "float32", 21, 1))
    full, half = np.empty((9, 21), np.float32), np.empty((9, 21), ml_dtypes.bfloat16)
    builder.call(render_mm(spec, StoreEpilogue(2, "float32", 21), "product"), "product", [a, b, full])
    builder.call(render_mm(spec, StoreEpilogue(2, "bfloat16", 21), "product"), "product", [a, b, half])
    np.testing.assert_array_equal(half.astype(np.float32), full.astype(ml_dtypes.bfloat16).astype(np.float32))


def relu_of(slot, row_stride, col_stride):
    """A hook that reads a float32 matrix and applies max(x, 0), one element at a time."""
    def load(name, batch, row, col, along, lanes, tail):
        step = row_stride if along == "row" else col_stride
        return [f"Vec {name} = {{}};",
                f"for (long l = 0; l < {tail or lanes}; l++) {{",
                f"  float e = ((const float *)buf[{slot}])[{row} * {row_stride} + {col} * {col_stride} + l * {step}];",
                f"  {name}[l] = e > 0 ? e : 0;", "}"]
    return load


@pytest.mark.parametrize("m, n", [(30, 41), (1, 41), (30, 1)])
@pytest.mark.parametrize("along_a", ["row", "col"])
@pytest.mark.parametrize("along_b", ["row", "col"])
def test_elements_of_operands_can_be_computed(builder, m, n, along_a, along_b):
    rng, k = np.random.default_rng(0), 37
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    spec = MatmulSpec(m, n, k, Operand(0, "float32", k, 1, load=relu_of(0, k, 1), along=along_a),
                      Operand(1, "float32", n, 1, load=relu_of(1, n, 1), along=along_b))
    out = np.empty((m, n), np.float32)
    builder.call(render_mm(spec, StoreEpilogue(2, "float32", n), "product"), "product", [a, b, out])
    np.testing.assert_allclose(out, np.maximum(a, 0) @ np.maximum(b, 0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "ss"])
def test_instruction_sets_give_the_same_bits(builder, dtype, layout):
    levels = [level for level in (1, 3, 4) if _native._gemm_table(level)]
    outs = [check(builder, 23, 43, 410, layout, dtype, level=level) for level in levels]
    assert all((out == outs[0]).all() for out in outs)


def test_dtypes_without_a_rule_are_refused():
    spec = MatmulSpec(2, 2, 2, Operand(0, "int64", 2, 1), Operand(1, "int64", 2, 1))
    with pytest.raises(ValueError, match="int64"):
        render_mm(spec, StoreEpilogue(2, "float32", 2), "product")
