"""Random numbers inside kernels: the bits of the eager ops, wherever an element lies and whatever reads it."""

from __future__ import annotations

import numpy as np
import pytest

from aten import dtype as dtypes
from aten.fx.interpreter import Interpreter
from inductor.ir.buffer import Kernel
from tests.inductor.graphs import CPU, Builder, compiled, tensor

rng = np.random.default_rng(0)
SEED, OFFSET = 2**63 - 5, 2**32 - 3  # the counter's low word wraps within a draw


def bits(t):
    a = t.numpy()
    return a.view(np.uint16) if a.dtype.name in ("float16", "bfloat16") else a


def same(b: Builder, outputs, arrays=()):
    """Compiled and eager have the same bits, and no op runs as a step."""
    gm = b.module(*outputs)
    run, made = compiled(gm)
    inputs = list(map(tensor, arrays))
    for got, want in zip(run(*inputs), Interpreter(gm).run(*inputs), strict=True):
        np.testing.assert_array_equal(bits(got), bits(want))
    assert all(isinstance(s, Kernel) for s in made.steps), made.steps
    return made


def draw(b: Builder, name: str, sizes, dtype="float32", offset=OFFSET):
    return b(name, list(sizes), SEED, offset, dtype=getattr(dtypes, dtype), device=CPU)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["rand_philox", "randn_philox"])
def test_draws_of_every_length(name, dtype):
    b = Builder()
    same(b, [draw(b, name, [n], dtype) for n in (1, 3, 8, 15, 61, 200)])


@pytest.mark.parametrize("name", ["rand_philox", "randn_philox"])
def test_rows_that_begin_within_a_counter_and_elements_read_in_another_order(name):
    """Beside values with padded, transposed and broadcast layouts, in rows that are summed, and gathered."""
    b = Builder()
    padded = b.input("padded", (9, 7), strides=(10, 1))
    across = b.input("across", (9, 7), strides=(1, 9))
    at = b.input("at", (5,), "int64")
    x = draw(b, name, [9, 7])
    outputs = [
        b("add", padded, x),
        b("add", across, draw(b, name, [9, 7], offset=5)),
        b("add", padded, draw(b, name, [9, 1])),
        b("clone", b("permute", draw(b, name, [9, 7], offset=6), [1, 0])),
        b("amax", b("add", padded, draw(b, name, [9, 7], offset=9)), [1], False),
        b("index_select", draw(b, name, [9, 7], offset=2), 0, at),
        b("slice", draw(b, name, [9, 7], offset=3), 1, 2, 7, 2),
    ]
    whole = rng.normal(size=(9, 10)).astype("f4")
    arrays = [whole[:, :7], rng.normal(size=(7, 9)).astype("f4").T, np.array([8, 0, 3, 3, 1])]
    same(b, outputs, arrays)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "float32", "float64"])
def test_integers(dtype):
    b = Builder()
    kind = getattr(dtypes, dtype)
    ranges = [(0, 2), (3, 100), (0, 2**32) if dtype == "int64" else (0, 127), (-7, 5) if dtype != "uint8" else (5, 6)]
    same(b, [b("randint_philox", low, high, [77], SEED, OFFSET, dtype=kind, device=CPU) for low, high in ranges])


def test_integers_of_wide_ranges_stay_with_the_op():
    b = Builder()
    gm = b.module(b("randint_philox", 0, 2**40, [9], SEED, OFFSET, dtype=dtypes.int64, device=CPU))
    run, made = compiled(gm)
    np.testing.assert_array_equal(run()[0].numpy(), Interpreter(gm).run()[0].numpy())
    assert not any(isinstance(s, Kernel) for s in made.steps)


def test_dropout_joins_what_is_around_it():
    """Beside a double, whose vectors have half the lanes; and one kernel in all."""
    b = Builder()
    x, wide = b.input("x", (6, 35)), b.input("wide", (6, 35), "float64")
    keep = b("ge", draw(b, "rand_philox", [6, 35]), 0.25)
    dropped = b("where", keep, b("mul", x, 1 / 0.75), 0)
    sum_ = b("add", b("cast", dropped, dtypes.float64), wide)
    made = same(b, [sum_], [rng.normal(size=(6, 35)).astype("f4"), rng.normal(size=(6, 35))])
    assert len(made.steps) == 1


def test_dropout_of_a_product_is_part_of_its_kernel():
    b = Builder()
    x, w = b.input("x", (24, 16)), b.input("w", (16, 35))
    keep = b("ge", draw(b, "rand_philox", [24, 35]), 0.5)
    made = same(b, [b("where", keep, b("mm", x, w), 0)], [rng.normal(size=s).astype("f4") for s in ((24, 16), (16, 35))])
    assert len(made.steps) == 1


def test_units_without_random_numbers_do_not_read_the_sections():
    from inductor.codegen.cpp_vector import prelude

    assert "philox" not in prelude(frozenset({"exp", "erf"})) and "philox" in prelude(frozenset({"uniform"}))
