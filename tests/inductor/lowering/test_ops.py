"""Every op with a lowering, alone: compiled equals eager, and takes kernels only."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from aten import dtype as dtypes
from aten.op import registry
from aten.scalar import table as scalar
from inductor.choices import KEPT
from inductor.ir.buffer import Kernel
from inductor.lowering import pointwise
from inductor.lowering.registry import FAMILIES, load_all
from tests.inductor.graphs import CPU, Builder, check

rng = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 1e-30, 3e5, -7.25, 80, -90], "f4")


def normal(*shape, dtype="f4"):
    return rng.normal(size=shape).astype(dtype)


def integers(*shape, low=-9, high=10, dtype="i8"):
    return rng.integers(low, high, shape).astype(dtype)


def run(name, arrays, *rest, rtol=3e-6, atol=1e-6, **kwargs):
    """Check op(*arrays, *rest, **kwargs); a list of arrays is a list argument."""
    b, flat = Builder(), []

    def argument(a):
        if isinstance(a, np.ndarray):
            flat.append(a)
            return b.like(f"x{len(flat)}", a)
        return [argument(x) for x in a] if isinstance(a, list) else a

    out = b(name, *[argument(a) for a in arrays], *rest, **kwargs)
    several = isinstance(out.meta["val"], tuple)
    outputs = [b.item(out, k) for k in range(len(out.meta["val"]))] if several else [out]
    with np.errstate(all="ignore"):
        made = check(b.module(*outputs), flat, rtol=rtol, atol=atol)
    assert all(isinstance(s, Kernel) or s.op in KEPT for s in made.steps), made.steps


COMPARISONS = "eq ne lt le gt ge".split()


def pointwise_op(name):
    return name in registry and "pointwise" in registry[name].tags and name not in ("cast", "bitcast")


UNIT = {"asin", "acos", "atanh", "erfinv"}
INTEGER_UNARY = {"neg", "abs", "sign", "floor", "ceil", "round", "trunc", "bitwise_not", "logical_not", "signbit"}


UNARY = [
    name for name, row in scalar.table.items() if row.arity == 1 and row.f and row.result == "same" and pointwise_op(name)
] + ["logical_not", "signbit"]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = np.concatenate([normal(70) * 3, SPECIAL])
    x = np.clip(x, -0.99, 0.99) if name in UNIT else x
    x = np.abs(x) + 0.25 if name in ("lgamma", "digamma", "acosh") else x
    x = x[np.isfinite(x)] if name in ("lgamma", "digamma") else x
    run(name, [x], rtol=2e-5 if name == "digamma" else 5e-6)
    if name not in ("digamma", "lgamma", "erfinv"):
        run(name, [x.astype("f8")], rtol=1e-9)


@pytest.mark.parametrize("name", sorted(INTEGER_UNARY - {"floor", "ceil", "round", "trunc", "signbit"}))
@pytest.mark.parametrize("dtype", ["i8", "i4", "i1", "u1"])
def test_unary_of_integers(name, dtype):
    run(name, [integers(50, low=0 if dtype == "u1" else -9, dtype=dtype)])


@pytest.mark.parametrize("name", [*pointwise.PREDICATES, "relu", "silu", "gelu"])
def test_predicates_and_activations(name):
    run(name, [np.concatenate([normal(40), SPECIAL])], **({"approximate": "tanh"} if name == "gelu" else {}))


FLOAT_BINARY = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "fmax", "fmin", "atan2", "copysign", "hypot",
                "nextafter", "fmod", "remainder", "floor_divide", *COMPARISONS]  # fmt: skip


@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_binary(name):
    x, y = np.repeat(SPECIAL, SPECIAL.size), np.tile(SPECIAL, SPECIAL.size)
    run(name, [x, y], rtol=2e-5)
    run(name, [normal(9, 1, 5), normal(7, 1)], rtol=2e-5)
    if "scalars" in registry[name].tags:
        run(name, [normal(33)], 2.5, rtol=2e-5)


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "u1"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum", "floor_divide", "remainder", "fmod", "bitwise_and",
                                  "bitwise_or", "bitwise_xor", "eq", "lt", "ge"])  # fmt: skip
def test_binary_of_integers(name, dtype):
    low = 0 if dtype == "u1" else -9
    y = integers(60, low=low, dtype=dtype)
    run(name, [integers(60, low=low, dtype=dtype), np.where(y == 0, 3, y).astype(dtype)])


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift", "pow"])
def test_powers_and_shifts(name):
    run(name, [integers(60), integers(60, low=0, high=5)])


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u1"])
@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
def test_shifts_by_any_count(name, dtype):
    counts = [0, 1, 5, 7, 8, 9, 15, 16, 31, 32, 63, 64, 100] + ([] if dtype == "u1" else [-1, -3])
    x = np.array([0, 1, 5, 127] + ([128, 255] if dtype == "u1" else [-128, -7, -1]), dtype)
    run(name, [np.repeat(x, len(counts)).reshape(-1, len(counts)), np.array(counts, dtype)])


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "eq", "ne"])
def test_binary_of_bools(name):
    run(name, [rng.random(50) < 0.5, rng.random(50) < 0.5])


def test_where_and_clamp():
    run("where", [rng.random((4, 1)) < 0.5, normal(4, 5), normal(5)])
    run("where", [rng.random(40) < 0.5, normal(40)], float("-inf"))
    run("clamp", [np.concatenate([normal(40), SPECIAL])], -0.5, 0.75)
    run("clamp", [integers(40)], None, 3)


@pytest.mark.parametrize("source", ["f4", "f8", "i8", "i4", "u1", "?", "f2"])
@pytest.mark.parametrize("target", ["float32", "float64", "int64", "int32", "int8", "uint8", "bool", "float16", "bfloat16"])
def test_casts(source, target):
    x = (rng.random(50) < 0.5) if source == "?" else integers(50, low=0).astype(source) + (0.5 if "f" in source else 0)
    run("cast", [x.astype(source)], getattr(dtypes, target))


@pytest.mark.parametrize("dims", [[0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "any", "all"])
def test_reductions(name, dims):
    x = normal(3, 20, 35)
    x = (rng.random((3, 20, 35)) < (0.02 if name == "any" else 0.98)) if name in ("any", "all") else x
    x = 1 + x * 0.01 if name == "prod" else x
    run(name, [x], dims, len(dims) == 2, rtol=2e-5, atol=2e-5)


def test_other_reductions():
    x = normal(6, 30)
    x[2, 7] = x[2, 20] = 9  # a tie
    for name in ("argmax", "argmin"):
        for dim in (0, 1, None):
            run(name, [x], dim, False)
    run("max_dim", [x], 1, True)
    run("min_dim", [integers(6, 30)], 0, False)
    for correction in (0, 1, 2):
        run("var", [x], [1], correction, False, rtol=1e-5)
    run("var_mean", [x], [0, 1], 1, True, rtol=1e-5)
    run("sum", [integers(5, 40)], [0], False)
    run("prod", [integers(3, 4, low=1, high=4)], [1], False)


def test_scans():
    for dim in (0, 1, 2):
        run("cumsum", [normal(4, 9, 18)], dim, rtol=1e-5, atol=1e-5)
    run("cumsum", [integers(40)], 0)
    run("cumprod", [1 + 0.1 * normal(5, 40)], 1, rtol=1e-5)


def test_views():
    x = normal(4, 6, 10)
    run("view", [x], [24, 10])
    run("permute", [x], [2, 0, 1])
    run("expand", [normal(4, 1, 5)], [4, 3, 5])
    run("slice", [x], 2, 1, 9, 3)
    run("select", [x], 1, 4)
    run("diagonal", [x], 1, 1, 2)
    run("diagonal", [x], -2, 0, 2)
    run("unfold", [x], 2, 4, 3)
    run("squeeze", [normal(3, 1, 4)], [1])
    run("unsqueeze", [x], 3)
    run("as_strided", [x], [3, 4], [2, 5], 7)


def test_a_concatenation_of_many_parts_is_a_step():
    b = Builder()
    parts = [normal(k % 3, 4) for k in range(40)]
    made = check(b.module(b("cat", [b.like(f"x{k}", p) for k, p in enumerate(parts)], 0)), parts)
    assert [s.op for s in made.steps] == ["cat"]


def test_put_and_structure():
    x = normal(4, 6, 10)
    run("slice_scatter", [x, normal(4, 6, 3)], 2, 1, 9, 3)
    run("select_scatter", [x, normal(4, 10)], 1, 4)
    run("diagonal_scatter", [normal(5, 7), normal(5)], 1, 0, 1)
    run("cat", [[normal(3, 4), normal(3, 1), normal(3, 9)]], 1)
    run("cat", [[integers(3, 4), integers(2, 4)]], 0)
    run("constant_pad_nd", [x], [1, 2, 0, 3], 7.0)
    run("constant_pad_nd", [x], [-1, 2], 0)
    run("flip", [x], [0, 2])
    run("roll", [x], [2, -1], [0, 2])
    for name in ("tril", "triu"):
        for diagonal in (-1, 0, 2):
            run(name, [x], diagonal)


def test_indexing():
    x = normal(6, 20)
    b = Builder()
    n, j = b.input("x", (6, 20)), b.input("j", (6, 7), "int64")
    check(b.module(b("gather", n, 1, j)), [x, integers(6, 7, low=0, high=20)], kernels=1)
    b = Builder()
    n, j = b.input("x", (6, 20)), b.input("j", (9,), "int64")
    check(b.module(b("index_select", n, 0, j), b("embedding", n, j)), [x, integers(9, low=0, high=6)])
    run("index", [normal(6, 20, 4), [integers(3, 1, low=-6, high=6), integers(5, low=-20, high=20)]])
    run("index", [normal(6, 20, 4), [integers(7, low=-6, high=6), None, integers(7, low=0, high=4)]])


def test_writes_that_add():
    b = Builder()
    x, j, s = b.input("x", (6, 20)), b.input("j", (6, 50), "int64"), b.input("s", (6, 50))
    check(b.module(b("scatter_add", x, 1, j, s)), [normal(6, 20), integers(6, 50, low=0, high=20), normal(6, 50)],
          rtol=1e-5, atol=1e-5)  # fmt: skip
    b = Builder()
    g, j = b.input("g", (30, 17)), b.input("j", (30,), "int64")
    check(b.module(b("embedding_backward", g, j, 8)), [normal(30, 17), integers(30, low=0, high=8)], rtol=1e-5, atol=1e-5)
    b = Builder()
    x, j, v = b.input("x", (6, 20)), b.input("j", (30,), "int64"), b.input("v", (30, 20))
    check(b.module(b("index_put", x, [j], v, True)), [normal(6, 20), integers(30, low=-6, high=6), normal(30, 20)],
          rtol=1e-5, atol=1e-5)  # fmt: skip
    b = Builder()
    x, j, v = b.input("x", (6, 20)), b.input("j", (30,), "int64"), b.input("v", (6, 30))
    check(b.module(b("index_add", x, 1, j, v)), [normal(6, 20), integers(30, low=0, high=20), normal(6, 30)],
          rtol=1e-5, atol=1e-5)  # fmt: skip


def test_creation():
    b = Builder()
    x = b.input("x", (5, 7))
    outputs = [b("full", [5, 7], 3, dtype=dtypes.int32, device=CPU), b("arange", 2, 30, 3, dtype=dtypes.int64, device=CPU),
               b("arange", 0.0, 1.0, 0.1, dtype=dtypes.float32, device=CPU), b("eye", 5, 7, dtype=dtypes.float32, device=CPU),
               b("neg", x)]  # fmt: skip
    check(b.module(*outputs), [normal(5, 7)])


def test_empty_and_scalar_tensors():
    run("add", [normal(0, 4), normal(4)])
    run("sum", [normal(0, 4)], [0], False)
    run("sum", [normal(4, 0)], [1], False)
    run("exp", [normal()])
    run("sum", [normal()], [], False)


def test_matrix_products():
    for a, c in (((5, 8), (8, 3)), ((1, 8), (8, 3)), ((5, 8), (8, 1)), ((5, 0), (0, 3))):
        run("mm", [normal(*a), normal(*c)], rtol=1e-5, atol=1e-5)
    run("bmm", [normal(3, 5, 8), normal(3, 8, 4)], rtol=1e-5, atol=1e-5)
    run("mm", [normal(9, 33, dtype="f8"), normal(33, 5, dtype="f8")], rtol=1e-12)


def test_the_table_names_ops_that_exist():
    from aten.op import registry

    own = {"reshape", "flatten_view", "contiguous", "masked_fill", "detach"}
    assert not {n for n in load_all() if n not in registry} - own


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_writes_that_add_many_halves(dtype):
    """3,000 ones are 3,000 (3,008 in bfloat16), where each sum rounded to a half would stop at 2,048 (256)."""
    half, index = getattr(weft, dtype), weft.zeros(3000, dtype=weft.int64)

    def f(weight, line, index):
        rows = weft.nn.functional.embedding(index, weight).sum()
        picked = line.gather(0, index).sum() + line[index].sum() + line.index_select(0, index).sum()
        return rows + picked

    for function in (f, weft.compile(f, fullgraph=True)):
        weight = weft.zeros(2, 3, dtype=half, requires_grad=True)
        line = weft.zeros(5, dtype=half, requires_grad=True)
        function(weight, line, index).backward()
        assert weight.grad[0].tolist() == [3000 if dtype == "float16" else 3008] * 3 and weight.grad[1].tolist() == [0] * 3
        assert abs(line.grad[0].item() - 9000) <= 64 and line.grad[1:].tolist() == [0] * 4


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_the_next_number_is_the_next_of_its_own_dtype(dtype):
    x = weft.linspace(-3, 3, 7).to(getattr(weft, dtype))

    def f(x):
        return weft.nextafter(x * 1, weft.zeros_like(x)) + 0

    assert weft.compile(f)(x).equal(f(x)) and not f(x).equal(x)


def test_lowerings_are_loaded_from_the_files_that_declare_them():
    for name, fn in load_all().items():
        family = next((f for f, names in FAMILIES.items() if name in names.split()), "pointwise")
        assert fn.__module__ == f"inductor.lowering.{family}", name
        elementwise = name not in registry or "pointwise" in registry[name].tags or name == "bitcast"  # (a view)
        assert elementwise or name not in scalar.table, name
