"""What runs as eager's kernel although loops for it are known, and what follows a product in loops of its own."""

import pytest

import inductor
import weft
from inductor import compile as pipeline
from inductor.lowering import graph as graph_lowering
from inductor.lowering import indexing
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
    recorded = x.clone().requires_grad_()
    for f, t in ((lambda x: weft.max(x, 0), x), (lambda x: weft.min(x, 0, keepdim=True), x), (lambda x: weft.max(x, 0), recorded)):
        steps.clear()
        for got, want in zip(weft.compile(f, fullgraph=True)(t), f(t)):
            assert weft.equal(weft.nan_to_num(got), weft.nan_to_num(want)) and got.shape == want.shape
        assert len(steps) == 1
    found = [weft.autograd.grad(g(recorded)[0].nansum(), recorded)[0] for g in (f, weft.compile(f))]
    assert weft.equal(*found)


def test_extremes_that_are_loops(steps):
    x = weft.randn(40, 40)
    for f, t in (
        (lambda x: weft.max(x, 1), x), (lambda x: weft.max(x * 2, 0), x), (lambda x: weft.max(x[:, :5], 0), x),
        (lambda x: weft.max(x[:9], 0), x),
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


@pytest.fixture
def externals(monkeypatch):
    """The ops that are steps of what is compiled, with those that write into a buffer of a kernel's."""
    names = []
    for module in (graph_lowering, indexing):
        made = module.External
        monkeypatch.setattr(module, "External", lambda op, *rest, made=made, **more: names.append(op) or made(op, *rest, **more))
    return names


@pytest.fixture
def parts(monkeypatch):
    """(The text of a core graph, and of what it was lowered to), by name."""
    found, started, lowered = {}, pipeline.start, pipeline.lower
    last = []
    monkeypatch.setattr(pipeline, "lower", lambda *args: last.append(lowered(*args)) or last[-1])

    def start(part, *rest, **more):
        unit = started(part, *rest, **more)
        found[part.name] = str(part.graph), str(last[-1].operations)
        return unit

    monkeypatch.setattr(pipeline, "start", start)
    return found


@pytest.mark.parametrize("dtype", [weft.int64, weft.float32, weft.bfloat16])
def test_elements_with_places_of_their_own_are_added_by_the_op(externals, dtype):
    i, s = weft.randint(0, 9, (4, 30)), weft.arange(120).reshape(4, 30).to(dtype)
    x = weft.ones(4, 9, dtype=dtype)
    functions = {
        "scatter_add": lambda x, i, s: x.scatter_add(1, i, s),
        "scatter_add_": lambda x, i, s: weft.zeros(4, 9, dtype=s.dtype).scatter_add(1, i, s) * 2,
        "index_add": lambda x, i, s: x[0].index_add(0, i[0], s[0]),
        "index_add_": lambda x, i, s: (x[0] + 1).index_add(0, i[0], s[0]),
        "": lambda x, i, s: x.scatter_add(0, i[:, :9] % 4, s[:, :9]),
    }
    for name, f in functions.items():
        externals.clear()
        weft.testing.assert_close(weft.compile(f, fullgraph=True)(x, i, s), f(x, i, s))
        assert externals == ([name] if name and dtype is not weft.bfloat16 else [])


def test_what_the_gradient_of_a_selection_adds_to_is_not_copied(externals):
    def f(x):
        return weft.nn.functional.interpolate(x, size=(3,), mode="nearest")

    x = weft.randn(4, 6, 40, requires_grad=True)
    (want,) = weft.autograd.grad(f(x).square().sum(), x)
    externals.clear()
    (got,) = weft.autograd.grad(weft.compile(f)(x).square().sum(), x)
    weft.testing.assert_close(got, want)
    assert externals == ["index_select", "index_add_"]


def test_the_gradient_of_one_element_a_row_is_filled_and_written_where_it_is_a_result(parts):
    f = weft.nn.functional.nll_loss
    x, labels = weft.randn(5, 40, requires_grad=True), weft.randint(0, 40, (5,))
    for g, scattered in ((f, True), (lambda x, t: f(x.log_softmax(1), t), False)):
        (want,) = weft.autograd.grad(g(x, labels), x)
        (got,) = weft.autograd.grad(weft.compile(g)(x, labels), x)
        weft.testing.assert_close(got, want)
        assert ("scatter(" in parts["backward"][0]) == scattered


def test_halves_that_are_chosen_are_not_rounded(parts):
    x = weft.tensor([1.5, weft.nan, 2.25, -3.0]).bfloat16()
    for f, rounded in ((weft.nansum, False), (lambda x: weft.where(x > 0, x, x.float() * 3).bfloat16(), True)):
        assert weft.equal(weft.compile(f)(x).nan_to_num(), f(x).nan_to_num())
        assert ("round_bfloat16" in parts["forward"][1]) == rounded


def test_windows_that_overlap_are_of_what_is_in_memory(parts):
    x = weft.randn(100)
    f = lambda x: weft.stft(x, n_fft=10, return_complex=True, pad_mode="reflect")
    weft.testing.assert_close(weft.compile(f)(x), f(x))
    assert "i2" not in parts["forward"][1]  # no loop over frames and what is in them


def test_a_graph_that_fills_many_tensors_stays_with_eager(parts):
    x = weft.arange(600.0)
    for n, kernels in ((600, False), (100, True)):
        parts.clear()
        got = weft.compile(lambda x, n=n: weft.unbind_copy(x[:n]))(x)
        assert len(got) == n and got[7].item() == 7 and ("forward" in parts) == kernels
