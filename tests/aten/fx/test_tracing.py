"""symbolic_trace: graphs without examples."""

import copy
import pickle
import textwrap

import pytest

import aten
import weft
import weft.nn as nn
from aten.fx import GraphModule, Interpreter, TraceError, Tracer, Transformer, parse, replace_pattern, symbolic_trace
from aten.fx.passes.shape_prop import ShapeProp


def golden(text):
    return textwrap.dedent(text).lstrip("\n")


def test_operators_methods_and_functions():
    def f(x, y, *, scale=2):
        z = (x + 1).relu() @ y[0]
        return weft.sum(z * scale, 0), z.shape[0], [3 - z]

    gm = symbolic_trace(f, {"scale": 3})
    assert str(gm) == golden("""
        def graph(x, y, scale):
            eq = operator.eq(scale, 3)
            _assert = aten.fx.tracing._assert(eq, 'scale has been specialized to have value 3 but got another value')
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
    ours, theirs = gm(x, y, 3), f(x, y, scale=3)
    assert (ours[0] - theirs[0]).abs().max().item() == 0 and ours[1] == 4
    gm.graph.lint()


class Everywhere(Tracer):
    def is_leaf_module(self, m, module_qualified_name):
        return False


def test_modules_are_traced_into():
    m = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 2))
    tracer = Everywhere()
    graph = tracer.trace(m)
    gm = GraphModule(tracer.root, graph)
    assert [n.target for n in gm.graph.nodes if n.op == "get_attr"] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    x = aten.randn([5, 3])
    assert (gm(x) - m(x)).abs().max().item() == 0
    assert (Interpreter(gm).run(x) - m(x)).abs().max().item() == 0
    assert "_0_weight = getattr(self, '0').weight\n" in str(gm)
    assert str(parse(str(gm))) == str(gm)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 6), nn.ReLU())
        self.scale = nn.Parameter(weft.ones(3))

    def forward(self, x, times: int = 2, *, shift=None):
        a, b = self.body(x).chunk(2, -1)
        return x + a * b * self.scale * times


def test_calls_of_layers_are_nodes():
    m = Residual()
    gm = symbolic_trace(m)
    assert str(gm) == golden("""
        def graph(x, times, shift):
            body_0 = getattr(self.body, '0')(x)
            body_1 = getattr(self.body, '1')(body_0)
            chunk = body_1.chunk(2, -1)
            getitem = operator.getitem(chunk, 0)
            getitem_1 = operator.getitem(chunk, 1)
            mul = operator.mul(getitem, getitem_1)
            scale = self.scale
            mul_1 = operator.mul(mul, scale)
            mul_2 = operator.mul(mul_1, times)
            add = operator.add(x, mul_2)
            return add
        """)
    assert [n.target for n in gm.graph.nodes if n.op == "call_module"] == ["body.0", "body.1"]
    x = aten.randn([5, 3])
    for run in (gm, Interpreter(gm).run, gm, symbolic_trace(gm), Transformer(gm).transform(), weft.compile(gm, backend="eager")):
        assert weft.equal(run(x), m(x))
    assert weft.equal(gm(x, 3), m(x, 3)) and weft.equal(gm(x, times=3), m(x, 3))
    assert str(parse(str(gm))) == str(gm)
    assert not gm.eval().get_submodule("body.0").training and gm.train().get_submodule("body").training
    for node in gm.graph.nodes:
        if node.target == "body.1":
            with gm.graph.inserting_after(node):
                node.replace_all_uses_with(gm.graph.call_module("body.2", node.args))
            gm.graph.erase_node(node)
    gm.add_submodule("body.2", nn.Tanh())
    gm.recompile()
    assert weft.equal(gm(x), x + weft.mul(*m.body[0](x).tanh().chunk(2, -1)) * 2)


def test_only_a_graph_becomes_the_graph_of_a_module():
    gm = symbolic_trace(lambda x: x + 1)
    with pytest.raises(TypeError, match="must be a Graph, not int"):
        gm.graph = 7
    assert gm(aten.ones([])).item() == 2


def test_decisions_are_refused():
    with pytest.raises(TraceError, match="control flow"):
        symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(TraceError, match="cannot be iterated"):
        symbolic_trace(lambda x: [y for y in x])


def test_replace_pattern():
    gm = symbolic_trace(lambda x, w: weft.relu(x @ w + 1).sum() + (w.matmul(w) + 1).relu().sum())
    matches = replace_pattern(gm, lambda a, b: (a @ b + 1).relu(), lambda a, b: weft.sigmoid(b @ a))
    assert len(matches) == 2
    gm.graph.lint()
    x, w = aten.randn([3, 3]), aten.randn([3, 3])
    assert (gm(x, w) - (weft.sigmoid(w @ x).sum() + weft.sigmoid(w @ w).sum())).abs().item() < 1e-5


def test_replace_pattern_keeps_what_others_use():
    def f(x):
        y = x + 1
        return y.relu(), y

    gm = symbolic_trace(f)
    assert replace_pattern(gm, lambda a: (a + 1).relu(), lambda a: a) == []


def test_replaced_ops_of_captured_graphs_have_types():
    from aten.transforms import make_fx

    gm = make_fx(lambda x: (x.exp() + 1).log())(aten.ones([3]))
    assert len(replace_pattern(gm, lambda a: (a.exp() + 1).log(), lambda a: weft.sin(weft.cos(a)))) == 1
    assert str(gm) == golden("""
        def graph(arg0: "f32[3]"):
            cos = aten.cos(arg0)                      # f32[3]
            sin = aten.sin(cos)                       # f32[3]
            return sin
        """)


def test_transformer():
    class Negated(Transformer):
        def call_method(self, target, args, kwargs):
            return -super().call_method(target, args, kwargs)

    gm = Negated(symbolic_trace(lambda x: (x * 2).sin())).transform()
    assert [n.name for n in gm.graph.nodes] == ["x", "mul", "sin", "neg", "output"]
    x = aten.ones([2])
    assert (gm(x) + (x * 2).sin()).abs().max().item() == 0


def test_shapes_are_written_down():
    gm = symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.ReLU()))
    ShapeProp(gm).propagate(weft.ones(5, 3))
    assert [tuple(n.meta["tensor_meta"].shape) for n in gm.graph.nodes] == [(5, 3), (5, 4), (5, 4), (5, 4)]
    assert all(n.meta["type"] is weft.Tensor and n.meta["tensor_meta"].stride[1] == 1 for n in gm.graph.nodes)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.scale = nn.Linear(3, 4), nn.Parameter(aten.full([4], 2.0))

    def forward(self, x, *, by=1):
        return nn.functional.relu(self.inner(x)) * self.scale.exp() * by


def test_what_is_done_to_parameters_and_functions_of_layers_are_nodes():
    m = Scaled()
    gm = symbolic_trace(m)
    found = [(n.op, n.target) for n in gm.graph.nodes][2:]
    assert found[:2] == [("call_module", "inner"), ("call_function", nn.functional.relu)]
    assert found[2:4] == [("get_attr", "scale"), ("call_method", "exp")]
    x = aten.randn([5, 3])
    assert gm(x).equal(m(x)) and gm(x, by=3).equal(m(x, by=3))
    with aten.no_grad():
        m.scale.fill_(3)
    assert gm(x).equal(m(x)) and isinstance(m.scale, nn.Parameter)

    class Other(Interpreter):
        def call_function(self, target, args, kwargs):
            return super().call_function(aten.sigmoid if target is nn.functional.relu else target, args, kwargs)

    assert weft.allclose(Other(gm).run(x), aten.sigmoid(m.inner(x)) * m.scale.exp())


def test_compiled_code_calls_graphs_by_names_and_defaults():
    m = Scaled()
    gm = symbolic_trace(m)
    x = aten.randn([5, 3])
    assert weft.compile(lambda x: gm(x), backend="eager", fullgraph=True)(x).equal(m(x))
    assert weft.compile(lambda x: gm(x, by=3), backend="eager", fullgraph=True)(x).equal(m(x, by=3))


def test_objects_that_nodes_make():
    class Pair(metaclass=weft.fx.ProxyableClassMeta):
        def __init__(self, left, right=2):
            self.left, self.right = left, right

    def f(x):
        assert Pair(1).left == 1
        pair = Pair(x + 1, right=x)
        return pair.left * pair.right

    graph = weft.fx.symbolic_trace(f)
    assert Pair in [node.target for node in graph.graph.nodes]
    weft.testing.assert_close(graph(weft.ones(2) * 3), weft.full((2,), 12.0))


def test_a_traced_module_is_a_module():
    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
            self.scale = nn.Parameter(weft.ones(3))
            self.unused = nn.Linear(2, 2)

        def forward(self, x):
            return self.body(x) * self.scale

    m, x = Small().eval(), weft.randn(2, 3)
    gm = symbolic_trace(m)
    assert isinstance(gm, nn.Module) and isinstance(gm, weft.fx.GraphModule) and not gm.training
    assert set(gm.state_dict()) == {"body.0.weight", "body.0.bias", "scale"} and gm.scale is m.scale
    assert gm.add_submodule("extra.tanh", nn.Tanh()) and isinstance(gm.get_submodule("extra.tanh"), nn.Tanh)
    gm.delete_all_unused_submodules()
    assert [name for name, _ in gm.named_modules()] == ["", "body", "body.0", "body.1"]
    around = nn.Sequential(gm)
    assert sum(1 for _ in around.parameters()) == 3
    assert weft.equal(weft.compile(around, fullgraph=True)(x), m(x)) and weft.equal(weft.compile(gm)(x), m(x))
    for copied in (copy.deepcopy(gm), pickle.loads(pickle.dumps(gm))):
        assert weft.equal(copied(x), m(x)) and copied.scale is not m.scale


def test_a_backend_of_the_users_gets_a_module():
    seen = []

    def backend(gm, example_inputs):
        seen.append((isinstance(gm, nn.Module), isinstance(gm, weft.fx.GraphModule)))
        gm.add_submodule("relu", nn.ReLU())
        with gm.graph.inserting_before(gm.graph.output_node):
            made = gm.graph.call_module("relu", (gm.graph.outputs[0],))
        gm.graph.output_node.args = ((made,),)
        gm.recompile()
        return gm.forward

    x = weft.tensor([-1.0, 1.0])
    assert weft.compile(lambda x: weft.cond(x.sum() > 5, lambda: x, lambda: x * 2), backend=backend)(x).tolist() == [0, 2]
    assert seen == [(True, True)]
