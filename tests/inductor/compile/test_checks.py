"""What eager raises is raised, whoever reads the value: an index out of range, a division by zero, a singular matrix."""

from __future__ import annotations

import pytest

import inductor
import weft
import weft.nn.functional as F
from aten.fx.printer import text
from inductor.lowering.graph import lower
from inductor.schedule.kernels import schedule
from tests.inductor.agree import agree
from tests.inductor.graphs import Builder

good, bad = weft.tensor([0, 1, 1]), weft.tensor([0, 1, 99])
x, table = weft.randn(5), weft.randn(5, 3)


def unread(x, i):
    x[i]
    return x * 2


def unread_division(x, i):
    i // (i * 2 - i - i)
    return x * 2


def unread_factor(x, i):
    weft.linalg.cholesky(x[:4].view(2, 2) * 0 - i[2])
    return x * 2


def nothing_else(x, i):
    x[i]
    return x.shape[0]


def mutates(x, i):
    x.add_(1)
    return x[i][:0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i][:2],
        lambda x, i: x[i][:0].sum(),
        lambda x, i: weft.where(i < 5, x[i], 0.0),
        lambda x, i: weft.cat([x[i], x])[1:2] * 2,
        lambda x, i: x.scatter_add(0, i, x[:3])[:0],
        lambda x, i: x.index_add(0, i, x[:3])[1:1],
        lambda x, i: x.gather(0, i)[:1].expand(4),
        lambda x, i: x.long()[:3].remainder(99 - i)[:1],
        unread,
        unread_factor,
        nothing_else,
        mutates,
    ],
)
@pytest.mark.parametrize("i", [good, bad], ids=["good", "bad"])
def test_a_check_is_made_whoever_reads_the_value(f, i):
    agree(f, x, i)


@pytest.mark.parametrize("i", [good, bad], ids=["good", "bad"])
def test_a_check_of_an_embedding(i):
    agree(lambda w, i: F.embedding(i, w)[:, 0], table, i)
    agree(lambda w, i: F.embedding(i, w)[:, :0], table, i)
    agree(lambda w, i: F.embedding(i, w)[:2].sum(), table, i, tolerance=1e-5)


def test_an_unread_division_by_zero():
    agree(unread_division, x, good)
    agree(unread_division, x, good + 1)


def test_checks_in_training():
    def f(w, i):
        w[i]
        return (w[i[:2]] * 2).sum()

    for i in (good, bad):
        agree(f, table.clone().requires_grad_(), i, tolerance=1e-5)
    w = table.clone().requires_grad_()
    weft.compile(f)(w, good).backward()
    assert w.grad.tolist() == [[2.0] * 3] * 2 + [[0.0] * 3] * 3


def kernels(f, *args) -> int:
    inductor.counters.clear()
    weft.compile(f, fullgraph=True)(*args)
    return inductor.counters["kernels"]


def test_a_check_that_is_made_anyway_costs_nothing():
    assert kernels(lambda w, i: F.embedding(i, w) + 1, table, good) == 1
    assert kernels(lambda w, i: F.embedding(i.view(1, 3), w).view(9) * 2, table, good) == 1
    assert kernels(lambda x, i: x[i].sin(), x, good) == 1
    assert kernels(lambda x, i: x[i - 1] * x[i], x, good) == 1


def test_what_is_known_to_be_in_range_is_not_checked():
    made = schedule(lower(ranged()))
    assert [k.checks for k in made.steps] == [()]


def ranged():
    b = Builder()
    t = b.input("t", (7, 3))
    i = b("arange", 0, 7, 1, dtype=weft.int64, device=weft.device("cpu"))
    return b.module(b("index", t, [i]))


def test_gradients_keep_no_dead_checks():
    """What a derivative gathers and nobody reads has been checked before."""
    from aten import aot
    from tests.inductor.compile.captured_graphs import EMBEDDING, captured, f32

    gm = captured(EMBEDDING)
    made = aot.graphs(gm, (f32(5, 3, grad=True), weft.tensor([0, 1, 1])))
    dead = [n for g in (made.forward, made.backward) for n in g.graph.nodes if not n.users and n.op == "call_function"]
    assert not dead, text(made.backward.graph)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("options", [{}, {"exact": True}, {"dynamic": True}])
@pytest.mark.parametrize(
    "f, sizes",
    [
        (lambda x: x.take(weft.tensor([5])), (2, 0)),
        (lambda x: x[:, weft.tensor([0])], (2, 0, 0)),
        (lambda x: x[weft.tensor([3])], (2, 0)),
        (lambda x: x.index_select(0, weft.tensor([3])), (2, 0)),
        (lambda x: x.index_add(0, weft.tensor([5]), x[:1]), (2, 0)),
        (lambda x: F.embedding(weft.tensor([5]), x), (2, 0)),
        (lambda x: x.gather(1, weft.zeros(0, 1, dtype=weft.int64) + 9), (0, 2)),
        (lambda x: x.take(weft.zeros(0, dtype=weft.int64)), (2, 0)),
        (lambda x: x[weft.arange(x.shape[0]).flip(0) % x.shape[0]], (0, 2)),
        (lambda x: x.long() % x.shape[0], (0, 2)),
        (lambda x: x.long() // x.long().sum(1, keepdim=True), (3, 0)),
    ],
)
def test_of_nothing_only_what_eager_checks_is_checked(f, sizes, options):
    """An index is in range though there be nothing to take there; what divides nothing may be 0."""

    def g(x):
        return f(x) * 1, (x.sum() * 2).exp() + 1

    def told(h):
        try:
            return [(tuple(r.shape), r.dtype, r.tolist()) for r in h(weft.zeros(sizes))]
        except IndexError as e:
            return str(e)

    options = dict(options)
    dynamic = options.pop("dynamic", None)
    assert told(weft.compile(g, dynamic=dynamic, options=options)) == told(g)
