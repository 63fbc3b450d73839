"""Flipped dimensions that reshapes have joined: their indices divide what runs downwards."""

import itertools

import pytest

import weft

CASES = [*itertools.product((2, 3, 4), (1, 2, 5), ([0], [1], [0, 1]), ("plain", "permuted", "split"))]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("rows, columns, flips, form", CASES)
def test_stacks_flattened_and_flipped(rows, columns, flips, form, dynamic):
    def f(x):
        y = weft.stack([x[:rows] * 2, x[rows:]], 1)
        if form == "permuted":
            y = y.permute(1, 0, 2)
        y = y.flatten(0, 1).flip(flips)
        if form == "split":
            y = y.reshape(rows, -1).flip([0]).T
        return y + 1

    weft.compiler.reset()
    x = weft.rand(2 * rows, columns)
    assert weft.equal(weft.compile(f, fullgraph=True, dynamic=dynamic)(x), f(x))
