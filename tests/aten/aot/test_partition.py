"""The minimum cut, and what it saves."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

import aten
import aten.autograd
from aten import aot
from aten.aot.maxflow import FlowNetwork
from aten.transforms import make_fx


def graphs(f, *args, **kwargs):
    gm = make_fx(f, **kwargs)(*args)
    for node, a in zip(gm.graph.placeholders, args):
        node.meta["val"].requires_grad = a.requires_grad
    return aot.graphs(gm, args)


def saved(g):
    return [str(n) for n in g.forward.graph.outputs[g.saved :]]


def G(*sizes):
    return aten.randn(list(sizes)).requires_grad_()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), max_size=12))
def test_the_flow_is_the_smallest_cut(edges):
    network = FlowNetwork(5)
    for a, b, c in edges:
        network.add(a, b, c)
    flow = network.max_flow(0, 4)
    cuts = []
    for middle in itertools.product([False, True], repeat=3):
        side = [True, *middle, False]
        cuts.append(sum(c for a, b, c in edges if side[a] and not side[b]))
    assert flow == min(cuts)
    side = network.source_side(0)
    assert flow == sum(c for a, b, c in edges if side[a] and not side[b])


def test_products_are_never_repeated_and_cheap_ops_are():
    g = graphs(lambda x, w: (((x @ w) + 1).relu() * 2).sum(), G(64, 32), G(32, 16))
    assert sum("aten.mm(" in line for line in str(g.forward).splitlines()) == 1
    assert str(g.backward).count("aten.mm(") == 2
    assert saved(g) == ["arg0", "arg1", "le"]  # a mask of one byte an element instead of four


def test_a_stream_of_residuals_is_saved_and_not_computed_from_its_beginning():
    def f(x, w):
        for _ in range(3):
            x = (x + x @ w).relu()
        return x.sum()

    assert saved(graphs(f, G(64, 32), G(32, 32))) == ["arg0", "arg1", "relu", "relu_1", "le"]


def test_what_comes_before_all_products_is_computed_again():
    def f(x, w):
        slopes = aten.arange(32) * 0.5
        return ((x @ w) * slopes).square().sum()

    assert saved(graphs(f, G(64, 32), G(32, 32))) == ["arg0", "arg1", "mm"]


def test_an_expanded_value_is_saved_as_what_it_was():
    g = graphs(lambda x, b: ((x * b.exp()).sin() * x).sum(), G(64, 32), G(32))
    assert "exp" in saved(g)


def test_views_are_taken_again():
    g = graphs(lambda x: (x.t().reshape(4, -1) * x.exp().view(4, -1)).sum(), G(8, 6))
    assert not any(n.op == "call_function" and n.target.kind == "view" for n in g.forward.graph.outputs[g.saved :])


def test_symbols_that_no_tensor_tells_are_saved():
    g = graphs(lambda x: (x.sum(0) * 2,), G(5, 4), symbolic=True)
    assert saved(g) == ["s0"]
    x = G(7, 3)
    gm = make_fx(lambda x: (x.sum(0) * 2,), symbolic=True)(x)
    gm.graph.placeholders[0].meta["val"].requires_grad = True
    (y,) = aot.compile(gm, [x], lambda gm, metas: gm)(x)
    y.sum().backward()
    assert (x.grad - 2).abs().max().item() == 0


def test_the_gradient_of_a_transposed_weight_is_row_major():
    g = graphs(lambda x, w: (aten.linear(x, w),), aten.randn([5, 4]), G(6, 4))
    assert [n.target.name for n in g.backward.graph.nodes if n.op == "call_function"] == ["permute", "mm"]
    assert g.backward.graph.outputs[0].meta["val"].is_contiguous()


def test_the_gradient_of_a_split_is_a_cat():
    def f(x):
        a, b, c = x.split(2, dim=1)
        return ((a * b).sin() * c,)

    x = G(3, 6)
    g = graphs(f, x)
    assert "aten.cat(" in str(g.backward) and "constant_pad_nd" not in str(g.backward)
    (y,) = aot.compile(make_fx(f)(x), [x], lambda gm, metas: gm)(x)
    ours = aten.autograd.grad(y.sum(), x)[0]
    assert (ours - aten.autograd.grad(f(x)[0].sum(), x)[0]).abs().max().item() < 1e-6


def test_the_gradient_of_one_element_a_row_is_pointwise():
    import weft.nn.functional as F

    x, y = G(5, 4), aten.tensor([0, 3, 3, 1, 2])
    f = lambda x, y: (F.cross_entropy(x, y),)
    g = graphs(f, x, y, symbolic=True)
    assert "scatter" not in str(g.backward) and "aten.where(" in str(g.backward)
    gm = make_fx(f, symbolic=True)(x, y)
    gm.graph.placeholders[0].meta["val"].requires_grad = True
    (loss,) = aot.compile(gm, [x, y], lambda gm, metas: gm)(x, y)
    ours = aten.autograd.grad(loss, x)[0]
    assert (ours - aten.autograd.grad(f(x, y)[0], x)[0]).abs().max().item() < 1e-6
