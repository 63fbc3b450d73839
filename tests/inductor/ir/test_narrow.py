"""Integers made of places in 32 bits: only where every part is known to fit."""

import pytest

from aten.symbolic.expr import as_expr, sym
from inductor.ir.loops import Dim, Nest, Stage, Store
from inductor.ir.narrow import narrowed
from inductor.ir.nodes import call, const, index, load, walk
from inductor.ir.scalar import apply

i0, i1 = sym("i0"), sym("i1")
F = "float32"
distance = index(i0 - i1)


def dtypes_of(value, size=100, dtype="float32", ranges=None):
    sizes = [as_expr(size) if isinstance(size, int) else size] * 2
    nest = Nest((Dim("i0", sizes[0]), Dim("i1", sizes[1])), (Stage(False, (Store("out", i0 * 100 + i1, value, dtype),)),))
    (store,) = narrowed(nest, ranges or {}).statements
    return {n.dtype for n in walk([store.value])}


@pytest.mark.parametrize(
    "value",
    [
        call("cast", (apply("abs", distance),), "float32"),
        call("cast", (apply("maximum", apply("mul", distance, const(-3, "int64")), const(7, "int64")),), "float32"),
        apply("where", call("lt", (apply("abs", distance), const(5, "int64")), "bool"), load("x", i0, F), const(2.0, F)),
    ],
)
def test_what_becomes_a_float_or_decides_has_32_bits(value):
    assert "int64" not in dtypes_of(value) and "int32" in dtypes_of(value)


def test_what_may_not_fit_stays():
    value = call("cast", (apply("abs", distance),), "float32")
    assert "int64" in dtypes_of(value, 1 << 32)
    assert "int64" in dtypes_of(value, sym("s0"))
    assert "int64" not in dtypes_of(value, sym("s0"), ranges={"s0": (0, 1 << 20)})
    large = apply("mul", distance, const(1 << 30, "int64"))
    assert "int64" in dtypes_of(call("cast", (apply("minimum", large, const(5, "int64")),), "float32"))


def test_what_is_stored_or_read_as_64_bits_stays():
    assert dtypes_of(apply("abs", distance), dtype="int64") == {"int64"}
    assert "int64" in dtypes_of(call("cast", (apply("add", load("x", i0, "int64"), distance),), "float32"))
