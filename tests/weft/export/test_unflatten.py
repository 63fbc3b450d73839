"""Exported programs as modules nested as they were, and what is found of a program under PyTorch's names."""

import importlib
import io

import pytest

import weft
from weft import nn
from weft.export import Dim, dynamic_shapes, export, load, save, unflatten


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.r = nn.Linear(2, 2), nn.ReLU()

    def forward(self, x):
        return self.r(self.l(x))


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner()
        self.b = nn.Sequential(Inner(), nn.Tanh())
        self.list = nn.ModuleList([nn.Linear(2, 2)])

    def forward(self, x, scale):
        return self.list[0](self.b(self.a(x)) * scale) + self.a(x)


@pytest.mark.parametrize("through_file", [False, True])
def test_modules_are_nested_as_they_were_each_with_a_graph(through_file):
    m, x, scale = Outer(), weft.randn(3, 2), weft.randn(2)
    ep = export(m, (x, scale), dynamic_shapes={"x": {0: Dim("n")}, "scale": None})
    if through_file:
        file = io.BytesIO()
        save(ep, file)
        file.seek(0)
        ep = load(file)
    u = unflatten(ep)
    names = {"", "a", "a.l", "a.r", "b", "b.0", "b.0.l", "b.0.r", "b.1", "list", "list.0"}
    assert names <= {name for name, _ in u.named_modules()}
    assert set(u.state_dict()) == set(m.state_dict())
    assert [n.op for n in u.graph.nodes].count("call_module") == 4
    assert [n.op for n in u.a.graph.nodes] == ["placeholder", "call_module", "call_module", "output"]
    y = weft.randn(5, 2)
    weft.testing.assert_close(u(y, scale), m(y, scale))
    weft.testing.assert_close(weft.compile(u, fullgraph=True)(y, scale), m(y, scale))


def test_a_module_can_be_replaced():
    class Times(nn.Module):
        def forward(self, x):
            return x * 100

    m, x = Inner(), weft.randn(1, 2)
    u = unflatten(export(m, (x,)))
    u.r = Times()
    weft.testing.assert_close(u(x), m.l(x) * 100)


def test_other_operations_of_the_same_module_stand_beside_it():
    class Twice(nn.Module):
        def forward(self, x, double):
            return x * 2 if double else x.sin()

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = Twice()

        def forward(self, x):
            return self.t(x, True) + self.t(x, False) + self.t(x, True)

    x = weft.randn(3)
    u = unflatten(export(Both(), (x,)))
    assert {name for name, _ in u.named_children()} == {"t", "t@1"}
    weft.testing.assert_close(u(x), x * 4 + x.sin())


def test_sizes_and_buffers_go_through_modules():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", weft.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return weft.ones(x.shape[0], 2), x * self.n

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = Counts()

        def forward(self, x):
            one, two = self.c(x)
            return one + two.reshape(x.shape[0], -1)

    m = Around()
    u = unflatten(export(m, (weft.ones(3, 2),), dynamic_shapes=({0: Dim("n")},)))
    before = u.c.n.item()
    weft.testing.assert_close(u(weft.ones(5, 2)), weft.full((5, 2), 2.0 + before))
    assert u.c.n.item() == before + 1


def test_unflatten_is_a_function_and_a_module():
    found = importlib.import_module("weft.export.unflatten")
    assert callable(weft.export.unflatten) and found.unflatten is weft.export.unflatten


def test_ranges_guards_and_calls_of_a_program():
    class Add(nn.Module):
        def forward(self, x, y):
            return x + y

    ep = export(Add(), (weft.ones(3), weft.ones(3)), dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO}))
    ep.validate()
    assert all(r.lower <= 2 and r.upper > 1000 for r in ep.range_constraints.values())
    with pytest.raises(AssertionError, match="Expected"):
        ep.module()(weft.ones(4), weft.ones(1))
    with pytest.raises(RuntimeError, match="Expected"):
        ep.module()(weft.ones(4, 1), weft.ones(4))
    assert [call.fqn for call in export(Inner(), (weft.ones(1, 2),)).module_call_graph] == ["", "l", "r"]


def test_suggested_fixes_are_taken_over():
    class Takes(nn.Module):
        def forward(self, x, y):
            return x + y[:4] if x.shape[0] == 4 else y

    said = {"x": {0: Dim("n")}, "y": {0: Dim("k")}}
    with pytest.raises(weft._dynamo.exc.UserError) as e:
        export(Takes(), (weft.ones(4), weft.ones(6)), dynamic_shapes=said)
    assert dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(str(e.value), said)["x"] == {0: 4}
    text = "Suggested fixes:\n  n = Dim('n', max=8)\n  k = n"
    refined = dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(text, said)
    assert refined["x"][0].max == 8 and refined["y"][0] is refined["x"][0]


def test_registered_containers_are_arguments_and_results():
    class Pair:
        def __init__(self, a, k):
            self.a, self.k = a, k

    weft.utils._pytree.register_pytree_node(Pair, lambda p: ([p.a], [p.k]), lambda items, k: Pair(list(items)[0], k[0]))

    class M(nn.Module):
        def forward(self, p):
            return Pair(p.a * p.k, p.k)

    made = export(M(), (Pair(weft.ones(2), 3),)).module()(Pair(weft.ones(2), 3))
    assert made.a.tolist() == [3, 3] and made.k == 3
    assert weft.func.grad(lambda p: (p.a * p.a).sum())(Pair(weft.ones(2), 3)).a.tolist() == [2, 2]
