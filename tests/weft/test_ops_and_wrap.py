"""torch.ops by namespace and name, and fx.wrap."""

from __future__ import annotations

import pytest

import weft as torch
from weft import fx, library


@fx.wrap
def halves(x):
    return x / 2 if x.sum() > 0 else x


def test_ops_by_namespace():
    x = torch.ones(2)
    assert torch.ops.aten.add(x, 1).tolist() == torch.ops.aten.add.Tensor(x, x).tolist() == [2, 2]
    with pytest.raises(AttributeError, match="no_such_op"):
        torch.ops.aten.no_such_op  # noqa: B018

    @library.custom_op("namestest::triple", mutates_args=())
    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @triple.register_fake
    def _(x):
        return torch.empty_like(x)

    assert torch.ops.namestest.triple(x).tolist() == [3, 3]
    assert torch.compile(lambda x: torch.ops.namestest.triple(x) + 1, backend="eager", fullgraph=True)(x).tolist() == [4, 4]


def test_wrapped_functions_are_one_node():
    def f(x):
        return halves(x) + 1

    traced = fx.symbolic_trace(f)
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"][0] is halves
    assert traced(torch.full((1,), 4.0)).item() == 3 and halves(torch.ones(1)).item() == 0.5
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap("halves")
    with pytest.raises(RuntimeError, match="callable or string name"):
        fx.wrap(3)


def test_native_arguments():
    weight, rows = torch.arange(6.0).view(3, 2), torch.tensor([1])
    assert torch.ops.aten.embedding(weight, rows, -1, False, False).tolist() == [[2, 3]]
    assert torch.ops.aten.elu(torch.tensor([-1.0, 2.0]), 1.0, 2.0, 3.0)[1].item() == 4
    torch.testing.assert_close(torch.ops.aten.elu(torch.tensor([-1.0]), 1.0, 2.0, 3.0), 2 * (torch.tensor([-3.0]).exp() - 1))
    assert torch.ones(2).view(dtype=torch.int32).dtype is torch.int32


def test_overloads_are_equal_to_the_op_that_nodes_call():
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x + x)(torch.ones(2))
    targets = {n.target for n in graph.graph.nodes if n.op == "call_function"}
    assert torch.ops.aten.add.Tensor in targets and torch.ops.aten.mul.Tensor not in targets


def test_graphs_of_make_fx_take_arguments_as_they_were_traced():
    make_fx = fx.experimental.proxy_tensor.make_fx
    x = torch.tensor([2.0])
    scaled, nested = make_fx(lambda a, n: a * n)(x, 4), make_fx(lambda a, b: a + b[0] * b[1])(x, [x, x])
    assert scaled(x, 4).item() == scaled(x).item() == 8
    assert nested(x, [x, x]).item() == nested(x, x, x).item() == 6
    compiled = torch._inductor.compile_fx.compile_fx_inner(make_fx(lambda a, b, n: (a + b[0] * n,))(x, [x], 3), (x, [x], 3))
    assert compiled([x, [x], 3])[0].item() == 8
