"""symbolic_trace: graphs without examples."""

import textwrap

import pytest

import aten
import weft
import weft.nn as nn
from aten.fx import Interpreter, TraceError, parse, symbolic_trace


def golden(text):
    return textwrap.dedent(text).lstrip("\n")


def test_operators_methods_and_functions():
    def f(x, y, *, scale=2):
        z = (x + 1).relu() @ y[0]
        return weft.sum(z * scale, 0), z.shape[0], [3 - z]

    gm = symbolic_trace(f, {"scale": 3})
    assert str(gm) == golden("""
        def graph(x, y):
            add = operator.add(x, 1)
            relu = add.relu()
            getitem = operator.getitem(y, 0)
            matmul = operator.matmul(relu, getitem)
            mul = operator.mul(matmul, 3)
            sum = aten.sum(mul, 0)
            getattr = getattr(matmul, 'shape')
            getitem_1 = operator.getitem(getattr, 0)
            sub = operator.sub(3, matmul)
            return (sum, getitem_1, [sub])
        """)
    x, y = aten.randn([4, 3]), aten.randn([2, 3, 5])
    ours, theirs = gm(x, y), f(x, y, scale=3)
    assert (ours[0] - theirs[0]).abs().max().item() == 0 and ours[1] == 4
    gm.graph.lint()


def test_modules_are_traced_into():
    m = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    gm = symbolic_trace(m)
    assert [n.target for n in gm.graph.nodes if n.op == "get_attr"] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    x = aten.randn([5, 3])
    assert (gm(x) - m(x)).abs().max().item() == 0
    assert (Interpreter(gm).run(x) - m(x)).abs().max().item() == 0
    assert "_0_weight = getattr(self, '0').weight\n" in str(gm)
    assert str(parse(str(gm))) == str(gm)


def test_decisions_are_refused():
    with pytest.raises(TraceError, match="control flow"):
        symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(TraceError, match="cannot be iterated"):
        symbolic_trace(lambda x: [y for y in x])
