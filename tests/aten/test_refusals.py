"""Which calls may refuse the values of their arguments (aten/refusals.py)."""

import pytest
from weft._dynamo.testing import CompileCounter

import weft
from aten.op import registry
from aten.refusals import COMPOSITES, may_refuse
from aten.transforms import make_fx


def test_the_composites_are_there():
    assert [n for n in COMPOSITES if registry[n if n in registry else n + "_"].kind != "composite"] == []


X, I = weft.rand(4, 4), weft.tensor([0, 3])


@pytest.mark.parametrize(
    ("refuses", "f"),
    [
        (True, lambda x, i: x[i]),
        (True, lambda x, i: x.index_select(0, i)),
        (True, lambda x, i: weft.linalg.inv(x)),
        (True, lambda x, i: i // i),
        (True, lambda x, i: x.index_add_(0, i, x[:2])),
        (False, lambda x, i: x.sqrt() + x.rsqrt() + x / x),
        (False, lambda x, i: weft.nn.functional.normalize(x)),
        (False, lambda x, i: x.diagonal_scatter(x[0])),
        (False, lambda x, i: (x @ x).softmax(-1).sum()),
    ],
)
def test_what_may_refuse_its_values(refuses, f):
    assert any(may_refuse(n) for n in make_fx(f)(X, I).graph.nodes if n.op == "call_function") is refuses


def test_a_training_step_is_two_graphs_op_by_op():
    """(Roots in the optimizer, under no_grad and behind writes, refuse nothing.)"""
    w = weft.randn(4, 8, requires_grad=True)
    optimizer = weft.optim.Adam([w], lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = (x @ w).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    counter = CompileCounter()
    compiled = weft.compile(step, backend=counter)
    for _ in range(2):
        compiled(weft.randn(2, 4))
    assert counter.frame_count == 2
