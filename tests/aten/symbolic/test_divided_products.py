"""Quotients and remainders by a product of a number and a size, which views of merged dims have."""

import random

import pytest

from aten.symbolic import nodes
from aten.symbolic.evaluate import evaluate
from aten.symbolic.expr import simplify, sym

RANGES = {"row": (0, 1023), "col": (0, 127), "size": (1, 1 << 40)}


def test_the_part_that_is_smaller_than_the_number_goes():
    row, col, size = map(sym, RANGES)
    flat = row * 128 + col
    assert simplify(nodes.floordiv(flat, size * 128), RANGES) == nodes.floordiv(row, size)
    assert simplify(nodes.mod(flat, size * 128), RANGES) == nodes.mod(row, size) * 128 + col
    back = nodes.floordiv(flat, size * 128) * size * 128 + nodes.mod(row, size) * 128 + col
    assert simplify(back, RANGES) == flat


@pytest.mark.parametrize("seed", range(200))
def test_simplified_expressions_have_the_same_values(seed):
    rng = random.Random(seed)
    ranges = {"a": (0, rng.choice([3, 7, 127])), "b": (0, rng.choice([1, 5, 31])), "c": (1, 9), "d": (0, 6)}

    def linear(count):
        e = nodes.const(rng.choice([0, 0, 1, 4, -3]))
        for _ in range(count):
            m = sym(rng.choice("abcd"))
            m = nodes.mul(m, sym("c")) if rng.random() < 0.3 else m
            e = nodes.add(e, nodes.mul(m, rng.choice([1, 2, 4, 8, 16, 32, -1, -4])))
        return e

    c = sym("c")
    divisor = rng.choice([nodes.mul(c, rng.choice([1, 2, 4, 8, 32])), nodes.const(rng.choice([2, 8, 32])), c * 4 + 8])
    e = rng.choice([nodes.floordiv, nodes.mod])(linear(rng.randint(1, 3)), divisor)
    e = nodes.add(nodes.mul(e, rng.choice([1, 4, 8])), linear(1))
    simple = simplify(e, ranges)
    for _ in range(20):
        values = {name: rng.randint(*ranges[name]) for name in ranges}
        assert evaluate(e, values) == evaluate(simple, values)
