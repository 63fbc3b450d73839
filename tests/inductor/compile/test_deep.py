"""Thousands of ops: no walk recurses with the length of a program, and no nest grows with it."""

from __future__ import annotations

import inductor
import weft
from aten.symbolic.expr import gt, sym, where_
from inductor import choices
from inductor.ir import nodes
from tests.inductor.agree import agree

x = weft.randn(100)


def test_a_chain_of_two_thousand_ops_with_its_gradient():
    def f(x):
        for _ in range(1000):
            x = x * 1.001 + 0.01
        return x

    agree(f, x.clone().requires_grad_(), tolerance=1e-4)
    assert inductor.counters["kernels"] > 2
    leaf = x.clone().requires_grad_()
    weft.compile(f, fullgraph=True)(leaf).sum().backward()
    assert weft.allclose(leaf.grad, weft.full((100,), 1.001**1000), rtol=1e-3)


def test_a_sum_of_many_terms():
    agree(lambda *xs: sum(xs[1:], xs[0]), *[weft.randn(10) for _ in range(1500)], tolerance=1e-3)


def test_values_that_are_used_twice():
    def f(x):
        for _ in range(150):
            y = x.exp2()
            x = y / (y.abs() + 1)
        return x

    agree(f, x, tolerance=1e-4)


def test_many_reductions():
    def f(x):
        for _ in range(150):
            x = x - x.mean()
        return x

    agree(f, x, tolerance=1e-4)


def test_many_views():
    def f(x):
        y = x.view(10, 10)
        for _ in range(400):
            y = y.t().flip(0)
        return y

    agree(f, x)


def test_many_choices_by_index():
    def f(x):
        for _ in range(40):
            x = x.roll(1)
        return x + 1

    agree(f, x)


def test_the_text_of_an_index_is_bounded():
    """What an index uses twice is written twice: 40 rolls would be 2^40 operations."""
    e = sym("i0")
    for k in range(40):
        e = where_(gt(e, k), e + 1, e)
    body = nodes.load("b", e, "float32")
    assert choices.written(e) > 2**39 and choices.realize(body, 1)
    assert not choices.realize(nodes.load("b", sym("i0") * 3, "float32"), 9)
