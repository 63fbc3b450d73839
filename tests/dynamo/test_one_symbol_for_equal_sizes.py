"""dynamic=True: sizes that are equal as a program is compiled are one symbol, as PyTorch's users count compilations."""

import weft
from aten.fx.experimental import _config
from dynamo.testing import CompileCounter, EagerAndRecordGraphs


def wrapped(x, y):
    return weft._higher_order_ops.wrap(lambda x, y: x.sin() + y.sum(0), x, y)


def compilations(*calls):
    counter = CompileCounter()
    compiled = weft.compile(lambda x, y: x.sum() + y.sum(), backend=counter, dynamic=True, fullgraph=True)
    for a, b in calls:
        x, y = weft.randn(a), weft.randn(b)
        weft.testing.assert_close(compiled(x, y), x.sum() + y.sum())
    return counter.frame_count


def test_equal_sizes_share_a_symbol_and_others_do_not():
    assert compilations((3, 3), (4, 4), (7, 7)) == 1
    assert compilations((3, 3), (4, 5), (6, 7), (8, 8)) == 2
    assert compilations((3, 4), (5, 5), (6, 7)) == 1


def test_one_is_equal_to_others_by_chance_and_zero_is_no_symbol():
    assert compilations((1, 1), (2, 3)) == 1
    assert compilations((0, 0), (2, 3), (4, 5), (0, 0)) == 2
    assert compilations((2, 3), (4, 5), (0, 0)) == 2


def test_strides_of_nothing_are_those_of_eager():
    def f(x):
        made = x + 1, x.clone(), x.flatten(1), x, x.transpose(0, 1), x.transpose(0, 2) * 2, weft.empty_like(x)
        return [t.stride() for t in made]

    nothing = weft.ones(3, 4, 0)
    shown = [weft.ones(4, 3, 4), weft.ones(5, 2, 4), weft.ones(4, 0, 4), weft.ones(0, 3, 4), weft.ones(2, 5, 0), weft.ones(0, 0, 0)]
    for dynamic in (None, True):
        for rows in (shown, [*shown[:2], nothing[:, :2], nothing.transpose(0, 1)]):
            weft.compiler.reset()
            compiled = weft.compile(f, backend="eager", dynamic=dynamic)
            assert [compiled(x) for x in rows] == [f(x) for x in rows]


def test_marked_sizes_are_symbols_of_their_own():
    counter = CompileCounter()
    compiled = weft.compile(lambda x, y: x.sum() + y.sum(), backend=counter, dynamic=True, fullgraph=True)
    x, y = weft.ones(3), weft.ones(3)
    weft._dynamo.mark_dynamic(x, 0)
    assert compiled(x, y).item() == 6
    assert compiled(weft.ones(4), weft.ones(5)).item() == 9
    assert counter.frame_count == 1


def test_the_setting_turns_it_off():
    with _config.patch(use_duck_shape=False):
        assert compilations((3, 3), (4, 5)) == 1


def test_a_graph_that_a_node_calls_is_passed_its_sizes():
    backend = EagerAndRecordGraphs()
    compiled = weft.compile(wrapped, backend=backend, dynamic=True, fullgraph=True)
    x, y = weft.randn(3), weft.randn(3, 3)
    weft.testing.assert_close(compiled(x, y), x.sin() + y.sum(0))
    (node,) = [n for n in backend.graphs[0].graph.nodes if n.target is weft._higher_order_ops.wrap]
    assert len(node.args) == 4  # the graph, x, y and their one size
    weft.testing.assert_close(compiled(weft.ones(5), weft.ones(5, 5)), weft.ones(5).sin() + 5)


def test_a_size_that_is_a_symbol_and_one_is_summed_over_by_tensordot():
    def f(x, y):
        return weft.tensordot(x, y, dims=1)

    for backend in ("inductor", "aot_eager"):
        c = weft.compile(f, dynamic=True, backend=backend, fullgraph=True)
        for x, y in ((weft.ones(1, 31), weft.ones(1, 31)), (weft.ones(3, 1), weft.ones(4, 2)), (weft.ones(3, 4), weft.ones(4, 2))):
            assert weft.equal(c(x.requires_grad_(), y), f(x, y))
