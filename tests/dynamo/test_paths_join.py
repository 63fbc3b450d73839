"""Paths that lead through different breaks to the same place share what is captured there."""

import itertools

from weft._dynamo.testing import CompileCounter

import weft


def branches(x):
    if x[0] > 0:
        x = x + 1
    else:
        x = x - 1
    if x[1] > 0:
        x = x * 2
    else:
        x = x / 2
    if x[2] > 0:
        x = x + 3
    else:
        x = x - 4
    return x * 3


def test_branches_one_after_the_other_cost_two_functions_each():
    counter = CompileCounter()
    compiled = weft.compile(branches, backend=counter)
    for signs in itertools.product((-9.0, 9.0), repeat=3):
        x = weft.tensor(signs)
        assert weft.equal(compiled(x), branches(x))
    # x[0] > 0; two ways to x[1] > 0; two to x[2] > 0; two to the end. (A tree would have 1 + 2 + 4 + 8.)
    assert counter.frame_count == 7


def test_a_place_reached_with_other_locals_is_entered_with_those():
    def f(x, pick):
        if x[0] > 0:
            extra = x + pick
        else:
            x = -x
        weft._dynamo.graph_break()
        y = x * 2
        weft._dynamo.graph_break()
        try:
            return y + extra
        except UnboundLocalError:
            return y

    compiled = weft.compile(f, backend=CompileCounter())
    for sign, pick in itertools.product((-1.0, 1.0), (1, 2.5)):
        x = weft.full((3,), sign)
        assert weft.equal(compiled(x, pick), f(x, pick))


def test_cells_of_the_frame_go_along():
    def f(x):
        total = x.sum()

        def more(v):
            nonlocal total
            total = total + v
            return total

        if more(1).min() > 0:
            x = more(x)
        weft._dynamo.graph_break()
        if more(2).min() > 5:
            x = more(x)
        weft._dynamo.graph_break()
        return more(x), total

    compiled = weft.compile(f, backend=CompileCounter())
    for value in (-3.0, 0.5, 4.0, -0.1):
        x = weft.full((3,), value)
        for a, b in zip(compiled(x), f(x), strict=True):
            assert weft.equal(a, b)
