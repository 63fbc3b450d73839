"""fx.passes.split_module: graphs cut into modules."""

import pytest
from weft.fx.passes.split_module import split_module

import aten
import weft
import weft.nn as nn
from aten.fx import symbolic_trace


def test_layers_are_dealt_out():
    m = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    gm = symbolic_trace(m)
    count, names = iter(range(9)), {}
    split = split_module(gm, m, lambda node: next(count) // 2, names)
    assert [name for name, _ in split.named_children()] == ["submod_0", "submod_1"]
    assert names == {"submod_0.0": "0", "submod_0.1": "1", "submod_1.2": "2"}
    x = aten.randn([4, 3])
    assert split(x).equal(m(x)) and split(x).equal(m(x)) and split.submod_0(x).equal(m[:2](x))
    assert [n.op for n in split.graph.nodes] == ["placeholder", "call_module", "call_module", "output"]
    split.graph.lint()


def test_several_values_go_over():
    scale = aten.full([3], 2.0)

    def f(x, y=1):
        a, b = x.sin() * scale, x.cos()
        c = a + b * y
        return c.relu(), a, scale

    gm = symbolic_trace(f)
    split = split_module(gm, None, lambda node: "first" if node.name in ("sin", "mul", "cos") else "second")
    x = aten.randn([2, 3])
    for given in ((x,), (x, 3)):
        for mine, theirs in zip(split(*given), f(*given)):
            assert mine.equal(theirs)
    assert [n.target for n in split.graph.nodes if n.op == "call_module"] == ["submod_first", "submod_second"]
    assert weft.compile(lambda x: split(x), backend="eager", fullgraph=True)(x)[0].equal(f(x)[0])


def test_partitions_that_need_one_another_are_refused():
    gm = symbolic_trace(lambda x: x.sin().cos().tan())
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(gm, None, lambda node: int(node.name == "cos"))
    again = split_module(gm, None, lambda node: {"sin": 2, "cos": 0, "tan": 1}[node.name])
    assert [n.target for n in again.graph.nodes if n.op == "call_module"] == ["submod_2", "submod_0", "submod_1"]
