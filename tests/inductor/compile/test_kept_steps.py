"""What runs as eager's kernel although loops for it are known, and what follows a product in loops of its own."""

import pytest

import inductor
import weft
from inductor.lowering.graph import GraphLowering

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def steps(monkeypatch):
    names, external = [], GraphLowering.external
    monkeypatch.setattr(GraphLowering, "external", lambda self, n, *rest: names.append(n.target.name) or external(self, n, *rest))
    return names


def test_extremes_of_columns(steps):
    x = weft.randn(40, 33)
    x[3, 5], x[7, 5] = weft.nan, 9.0
    for f in (lambda x: weft.max(x, 0), lambda x: weft.min(x, 0, keepdim=True)):
        steps.clear()
        for got, want in zip(weft.compile(f, fullgraph=True)(x), f(x)):
            assert weft.equal(weft.nan_to_num(got), weft.nan_to_num(want)) and got.shape == want.shape
        assert len(steps) == 1


def test_extremes_that_are_loops(steps):
    x = weft.randn(40, 40)
    recorded = x.clone().requires_grad_()
    for f, t in (
        (lambda x: weft.max(x, 1), x), (lambda x: weft.max(x * 2, 0), x), (lambda x: weft.max(x[:, :5], 0), x),
        (lambda x: weft.max(x[:9], 0), x), (lambda x: weft.max(x, 0), recorded),
    ):  # fmt: skip
        for got, want in zip(weft.compile(f, fullgraph=True)(t), f(t)):
            assert weft.equal(got, want)
    assert steps == []


@pytest.mark.parametrize("sizes", [(50, 5, 5, 10), (50, 32, 32, 32), (3, 33, 8, 8), (2, 40, 50, 60)])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16])
def test_what_is_added_to_many_products(sizes, dtype):
    batch, m, k, n = sizes
    added, a, b = (weft.randn(s).to(dtype) for s in ((batch, m, n), (batch, m, k), (batch, k, n)))
    f = lambda added, a, b: weft.baddbmm(added, a, b, beta=2).relu()
    before = inductor.counters["kernels"]
    got = weft.compile(f, fullgraph=True)(added, a, b)
    tolerance = 5e-2 if dtype is weft.bfloat16 else 1e-4
    weft.testing.assert_close(got, f(added, a, b), rtol=tolerance, atol=tolerance)
    if dtype is not weft.bfloat16:
        assert inductor.counters["kernels"] - before == (2 if max(m, k, n) <= 32 else 1)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
def test_an_operand_that_is_the_same_in_all_of_a_batch(dtype):
    added, a, b = (weft.randn(s).to(dtype).requires_grad_() for s in ((6, 12), (7, 6, 40), (7, 40, 12)))
    g = weft.randn(6, 12).to(dtype)
    f = lambda added, a, b: weft.addbmm(added, a, b, beta=0.6, alpha=0.2)
    tolerance = 5e-2 if dtype is weft.bfloat16 else 1e-4
    grads = [weft.autograd.grad(c(added, a, b), (added, a, b), g) for c in (f, weft.compile(f, fullgraph=True))]
    for want, got in zip(*grads):
        weft.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)
    for k in (weft.randn(1, 6, 40), weft.randn(7, 6, 1)):
        h = lambda k, b: (k * 2).expand(7, 6, 40) @ (b * 3)
        b32 = b.detach().float()
        weft.testing.assert_close(weft.compile(h, fullgraph=True)(k, b32), h(k, b32), rtol=1e-4, atol=1e-4)


def pooled(*shape):
    """The largest elements of windows, and their places."""
    return weft.nn.functional.max_pool2d(weft.randn(shape), 2, return_indices=True)


def test_a_graph_whose_kernels_only_fill_is_left_to_eager():
    x, i = pooled(2, 3, 8, 10)
    before = inductor.counters["compiles"]
    f = lambda x, i: weft.nn.functional.max_unpool2d(x, i, 2)
    assert weft.equal(weft.compile(f, fullgraph=True)(x, i), f(x, i))
    assert inductor.counters["compiles"] == before
    g = lambda x, i: weft.nn.functional.max_unpool2d(x, i, 2) * x.sum()  # here there is something to compute
    weft.testing.assert_close(weft.compile(g, fullgraph=True)(x, i), g(x, i))
    assert inductor.counters["compiles"] == before + 1


def test_gradients_of_what_is_left_to_eager():
    x, i = pooled(2, 3, 8, 10)
    x.requires_grad_()
    f = lambda x, i: weft.nn.functional.max_unpool2d(x, i, 2)
    weight = weft.randn(2, 3, 8, 10)
    got, want = (weft.autograd.grad((h(x, i) * weight).sum(), x)[0] for h in (weft.compile(f, fullgraph=True), f))
    assert weft.equal(got, want)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16, weft.int64], ids=str)
def test_one_element_of_short_lines_is_written(dtype):
    x, i = weft.randint(1, 99, (1, 500, 1)).to(dtype), weft.randint(0, 3, (1, 500, 1))
    f = lambda x, i: weft.zeros(1, 500, 3, dtype=dtype).scatter(2, i, x)
    assert weft.equal(weft.compile(f, fullgraph=True)(x, i), f(x, i))
    with pytest.raises(RuntimeError):
        weft.compile(f, fullgraph=True)(x, i + 3)
