"""Patterns, and passes over graphs of ops."""

import textwrap

import aten
from aten.fx import GraphModule, parse
from aten.fx.cleanup import cleanup
from aten.fx.pattern import ANY, match, p, rewrite
from aten.transforms import make_fx


def golden(text):
    return textwrap.dedent(text).lstrip("\n")


def test_match_binds_names():
    graph = make_fx(lambda x, y: (x.t() @ y) + (x.t() @ x))(aten.ones([2, 2]), aten.ones([2, 2])).graph
    first, second = graph.find_nodes(op="call_function", target=aten.mm)
    pattern = p.mm(p.permute(ANY.a, [1, 0]), ANY.b)
    assert [str(match(pattern, n)["b"]) for n in (first, second)] == ["arg1", "arg0"]
    assert match(p.mm(p.permute(ANY.a, [1, 0]), ANY.a), first) is None
    assert match(p.mm(p.permute(ANY.a, [1, 0]), ANY.a), second) is not None
    assert match(p.mm(ANY.a.where(lambda n: n.op == "placeholder"), ...), first) is None


def test_rewrite():
    x, y = aten.randn([3, 3]), aten.randn([3, 3])
    gm = make_fx(lambda x, y: (x.exp() * y, (x.sin() * 2).sin()))(x, y)
    expected = gm(x, y)
    rewrite(gm.graph, p.mul(p.exp(ANY.a), ANY.b), lambda a, b: (a + b.log()).exp())
    rewrite(gm.graph, p.sin(ANY.a), lambda a: a, where=lambda a: False)
    gm.recompile()
    gm.graph.lint()
    assert str(gm) == golden("""
        def graph(arg0: "f32[3, 3]", arg1: "f32[3, 3]"):
            log = aten.log(arg1)                      # f32[3, 3]
            add = aten.add(arg0, log)                 # f32[3, 3]
            exp_1 = aten.exp(add)                     # f32[3, 3]
            sin = aten.sin(arg0)                      # f32[3, 3]
            mul_1 = aten.mul(sin, 2)                  # f32[3, 3]
            sin_1 = aten.sin(mul_1)                   # f32[3, 3]
            return (exp_1, sin_1)
        """)
    y = y.abs()
    for a, b in zip(gm(x, y), (x.exp() * y, expected[1])):
        assert (a - b).abs().max().item() < 1e-4


def test_cleanup():
    graph = parse("""
        def graph(x: "f32[4, 6]"):
            view = aten.view(x, [4, 6])               # f32[4, 6]
            permute = aten.permute(view, [1, 0])      # f32[6, 4]{1, 6}
            permute_1 = aten.permute(permute, [1, 0])  # f32[4, 6]
            mul = aten.mul(permute_1, 1)              # f32[4, 6]
            exp = aten.exp(mul)                       # f32[4, 6]
            exp_1 = aten.exp(x)                       # f32[4, 6]
            clone = aten.clone(exp_1)                 # f32[4, 6]
            view_1 = aten.view(exp, [24])             # f32[24]
            view_2 = aten.view(view_1, [2, 12])       # f32[2, 12]
            sin = aten.sin(x)                         # f32[4, 6]
            return (exp, clone, view_2)
        """)
    cleanup(graph)
    graph.lint()
    assert str(graph) == golden("""
        def graph(x: "f32[4, 6]"):
            exp = aten.exp(x)                         # f32[4, 6]
            view_2 = aten.view(exp, [2, 12])          # f32[2, 12]
            return (exp, exp, view_2)
        """)
    assert len(GraphModule({}, graph)(aten.ones([4, 6]))) == 3


def test_random_ops_are_never_merged():
    graph = make_fx(lambda x: (aten.rand([3]), aten.rand([3])))(aten.ones([1])).graph
    cleanup(graph)
    assert len(graph.find_nodes(op="call_function")) == 2
