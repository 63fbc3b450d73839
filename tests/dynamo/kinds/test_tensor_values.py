"""Numbers that tensors hold, in compiled functions: constants, and symbols bound while the graph runs."""

import pytest

import weft
from aten.fx.targets import item
from dynamo.breaks import Unsupported
from tests.dynamo.kinds.alike import alike


@pytest.fixture
def captured():
    with weft._dynamo.config.patch(capture_scalar_outputs=True):
        yield


def test_values_of_constants_are_known():
    def f(x):
        t = weft.tensor(3)
        return x + t.item(), [1, 2, 3, 4][weft.as_tensor(2)], int(t), bool(t), weft.tensor([1, 2]).tolist()

    alike(f, (weft.ones(2),), fullgraph=True)


def test_a_constant_that_is_written_is_known_no_more():
    def f(x):
        t = weft.tensor(3.0)
        t.add_(x.sum())
        return x + t.item()

    alike(f, (weft.ones(2),), (weft.zeros(2),))
    alike(f, (weft.ones(2),), (weft.zeros(2),), fullgraph=True)


def test_lists_of_integers_are_captured():
    alike(lambda i: [v * 2 for v in i.tolist()], (weft.tensor([2, 5]),), (weft.tensor([7, -1]),), fullgraph=True)
    alike(lambda i: i.tolist(), (weft.tensor([[2, 5], [3, 4]]),), (weft.tensor(3),), fullgraph=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_numbers_become_symbols(captured, backend):
    def f(i, x):
        a, b = i.tolist()
        made = weft.zeros(a, b) + x.sum().item()
        return made, int(i.sum()), float(i[0]), weft.arange(i[1].item()).sum(), x * x.sum().item()

    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for i in ([2, 5], [3, 1]):
        args = weft.tensor(i), weft.ones(3)
        for found, expected in zip(compiled(*args), f(*args)):
            assert type(found) is type(expected) and (found == expected if type(found) in (int, float) else found.equal(expected))


def test_gradients_go_past_them(captured):
    w = weft.ones(3, requires_grad=True)

    def f(w):
        s = (w * 2).sum()
        return s * s.detach().item()

    weft.compile(f, fullgraph=True)(w).backward()
    assert w.grad.tolist() == [12.0] * 3


def test_a_branch_on_one_breaks(captured):
    def f(x):
        y = (x + 1).item()
        return x * 2 if y > 2 else x * 3

    alike(f, (weft.tensor([3.0]),), (weft.tensor([0.0]),))
    with pytest.raises(Unsupported, match="number that a tensor holds"):
        weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1))


def test_one_that_nobody_uses_is_not_read(captured):
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    weft.compile(lambda x: (x.sum().item(), x + 1)[1], backend=backend, fullgraph=True)(weft.ones(2))
    assert not any(n.target is item for n in graphs[0].graph.nodes)


def test_promises_are_learned_and_checked():
    @weft.compile(backend="eager", fullgraph=True)
    def f(i, x):
        a, b = i.tolist()
        weft._check_is_size(a)
        weft._check(b < 5)
        y = weft.zeros(a, b) + 1 if a >= 0 and b <= 4 else x
        return y.sum() + x

    for i in ([2, 4], [0, 3]):
        assert f(weft.tensor(i), weft.zeros(1)).item() == i[0] * i[1]
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        f(weft.tensor([2, 6]), weft.zeros(1))
    with pytest.raises(RuntimeError):
        f(weft.tensor([-2, 3]), weft.zeros(1))


def test_sizes_that_have_to_fit_are_checked_as_the_graph_runs(captured):
    @weft.compile(backend="eager", fullgraph=True)
    def f(i, n):
        a, b = i[0].item(), i[1].item()
        weft._check_is_size(a)
        weft._check_is_size(b)
        return weft.ones(a, b).view(n) * 2

    assert f(weft.tensor([2, 4]), 8).tolist() == [2.0] * 8
    assert f(weft.tensor([4, 2]), 8).tolist() == [2.0] * 8
    with pytest.raises(RuntimeError):
        f(weft.tensor([3, 2]), 8)


def test_dtypes_that_ops_answer_are_constants():
    def f(a, b):
        return a + b, weft.result_type(a, b), weft.promote_types(a.dtype, b.dtype)

    compiled = weft.compile(f, fullgraph=True)
    for dtype in (weft.float32, weft.float64, weft.int64):
        assert compiled(weft.ones(2), weft.ones(2, dtype=dtype))[1:] == f(weft.ones(2), weft.ones(2, dtype=dtype))[1:]
