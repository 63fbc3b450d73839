"""Graph, Node, lint, the interpreter and generated code, on functions of numbers."""

import math
import operator

import pytest

import weft
from aten.fx import Graph, GraphModule, Interpreter
from aten.fx.cleanup import cse, dce
from aten.symbolic.shape_env import ShapeEnv


def square_sum():
    g = Graph()
    x, y = g.placeholder("x"), g.placeholder("y")
    a = g.call_function(operator.mul, (x, x))
    b = g.call_function(operator.mul, (y, y))
    c = g.call_function(operator.add, (a, b))
    g.output((c, [a, {"b": b}]))
    return g


def test_names_are_unique_and_never_shadow():
    g = Graph()
    names = [g.name_for(n) for n in ("mul", "mul", "mul_1", "max", "for", "x_2", "x_2")]
    assert names == ["mul", "mul_1", "mul_2", "max_1", "for_1", "x_2", "x_1"]


def test_users_follow_arguments():
    g = square_sum()
    x, y, a, b, c, out = g.nodes
    assert list(x.users) == [a] and a.all_input_nodes == [x]
    a.args = (x, y)
    assert list(y.users) == [b, a]
    a.replace_all_uses_with(b)
    assert not a.users and c.args == (b, b) and out.args == ((c, [b, {"b": b}]),)
    g.erase_node(a)
    with pytest.raises(RuntimeError, match="b?.* is used by"):
        g.erase_node(b)
    g.lint()
    assert [n.name for n in g.nodes] == ["x", "y", "mul_1", "add", "output"]


def test_insertion_points():
    g = square_sum()
    x, y, a, b, c, out = g.nodes
    with g.inserting_after(a):
        d = g.call_function(operator.neg, (a,))
        e = g.call_function(operator.neg, (d,))
    with g.inserting_before(a):
        f = g.call_function(operator.pos, (x,))
    assert [n.name for n in g.nodes] == ["x", "y", "pos", "mul", "neg", "neg_1", "mul_1", "add", "output"]
    assert f.next is a and e.prev is d
    b.prepend(d)
    with pytest.raises(RuntimeError, match="neg_1 uses neg before it is computed"):
        g.lint()


def test_interpreter_and_generated_code_agree():
    g = square_sum()
    gm = GraphModule({}, g)
    assert gm(3, 4) == Interpreter(gm).run(3, 4) == (25, [9, {"b": 16}])
    assert gm.code == (
        "def forward(self, x, y):\n"
        "    mul = _mul(x, x);  x = None\n"
        "    mul_1 = _mul(y, y);  y = None\n"
        "    add = _add(mul, mul_1)\n"
        "    return (add, [mul, {'b': mul_1}])\n"
    )
    with pytest.raises(TypeError):
        gm(3)
    with pytest.raises(TypeError, match="takes 2 inputs"):
        Interpreter(gm).run(3)


def test_symbols_are_bound_from_inputs():
    env = ShapeEnv()
    s = env.symbol("s0", 4)
    g = Graph()
    n = g.placeholder("n", val=s)
    x = g.placeholder("x")
    g.output((g.call_function(operator.add, (x, s * 2 + 1)), s // 3))
    gm = GraphModule({}, g, env)
    g.lint()
    assert gm(10, 5) == Interpreter(gm).run(10, 5) == (26, 3)
    assert gm.code.startswith("def forward(self, n, x):\n    s0 = n\n")
    assert n.meta["val"] is s
    other = ShapeEnv()
    t = other.symbol("t", 7)
    assert str(gm(t * 2, 1)[0]) == str(Interpreter(gm).run(t * 2, 1)[0]) == "4*t + 2"
    assert not other.guards


def test_an_unbound_symbol_is_refused():
    g = Graph()
    x = g.placeholder("x")
    g.output((g.call_function(operator.add, (x, ShapeEnv().symbol("s9", 4))),))
    with pytest.raises(RuntimeError, match="add depends on the symbol s9"):
        g.lint()


def test_dce_and_cse():
    g = Graph()
    x = g.placeholder("x")
    a, b = (g.call_function(math.sin, (x,)) for _ in range(2))
    c = g.call_function(operator.mul, (x, 1))
    d = g.call_function(operator.mul, (x, 1.0))
    g.call_function(operator.neg, (x,))
    r = g.call_function(print, (x,))
    g.output((a, b, c, d))
    assert dce(g) and cse(g)
    assert [n.name for n in g.nodes] == ["x", "sin", "mul", "mul_1", "print", "output"]
    assert g.outputs == (a, a, c, d) and not r.users


def test_graph_copy():
    g, h = square_sum(), Graph()
    mapping = {n: h.placeholder(n.name + "_in") for n in g.placeholders}
    out = h.graph_copy(g, mapping)
    h.output(out)
    h.lint()
    assert GraphModule({}, h)(3, 4) == (25, [9, {"b": 16}])


def test_interpreters_override_kinds_of_nodes():
    class Swap(Interpreter):
        def call_function(self, target, args, kwargs):
            return super().call_function(operator.add if target is operator.mul else target, args, kwargs)

    gm = GraphModule({}, square_sum())
    assert Swap(gm).run(3, 4)[0] == 14
    a = gm.graph.find_nodes(op="call_function")[0]
    assert Interpreter(gm).run(3, 4, initial_env={a: 100})[0] == 116


def test_tables_and_lines(capsys):
    from aten.fx import UserLine

    g = square_sum()
    g.print_tabular()
    assert capsys.readouterr().out.splitlines()[:3] == [
        "opcode         name    target        args                           kwargs",
        "-------------  ------  ------------  -----------------------------  ------",
        "placeholder    x       x             ()                             {}",
    ]
    node = g.find_nodes(op="call_function")[0]
    assert node.stack_trace is None and not node.is_impure()
    node.meta["line"] = UserLine("m.py", 3, "f", "x * x")
    assert node.stack_trace == '  File "m.py", line 3, in f\n    x * x\n'


def test_arguments_go_by_pytorchs_names():
    g = weft.fx.Graph()
    x, y = g.placeholder("x", weft.Tensor), g.placeholder("y", type_expr=int, default_value=3)
    total = g.call_function(the_function=weft.add, args=(x, y), type_expr=weft.Tensor)
    last = g.call_method(method_name="relu", args=(total,))
    with g.inserting_after(n=total):
        twice = g.create_node(op="call_function", target=operator.mul, args=(total, 2), name="twice")
    total.replace_all_uses_with(replace_with=twice, delete_user_cb=lambda user: user is not twice)
    g.output(result=last)
    assert (x.type, total.type, twice.type) == (weft.Tensor, weft.Tensor, None)
    assert weft.fx.GraphModule({}, g)(weft.tensor([-4.0, 1.0])).tolist() == [0.0, 8.0]
    copied, copies = weft.fx.Graph(), {}
    value, output = copied.graph_copy(g, val_map=copies, return_output_node=True)
    assert value is copies[last] and output is g.output_node
