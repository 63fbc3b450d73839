"""Exact mode, gradients with gaps between their elements: compiled code takes the derivative that eager takes."""

import pytest

import weft
from weft.nn import functional as F

pytestmark = pytest.mark.usefixtures("own_cache")
FUNCTIONS = {
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(2),
    "layer_norm": lambda x: F.layer_norm(x, [7]),
    "gelu": lambda x: F.gelu(x),
}
GRADIENTS = {
    "every second one": lambda g: weft.stack([g, g], -1)[..., 0],
    "a part": lambda g: weft.cat([g, g], 1)[:, :4],
    "rows that repeat": lambda g: g[:, :1].expand(3, 4, 7),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("layout", GRADIENTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_with_gaps(name, layout, dynamic):
    x, g = weft.randn(3, 4, 7), GRADIENTS[layout](weft.randn(3, 4, 7))

    def f(x):
        return FUNCTIONS[name](x), x.sin()

    def gradient(f):
        own = x.clone().requires_grad_()
        return weft.autograd.grad(f(own)[0], own, g)[0]

    got, want = gradient(weft.compile(f, dynamic=dynamic, fullgraph=True, options={"exact": True})), gradient(f)
    assert weft.equal(got, want) and got.stride() == want.stride()


def test_a_backward_whose_saved_values_lie_otherwise_is_taken_op_by_op():
    def f(x, y):
        y[0].addcmul_(x.sum(), x.mean())  # a write with history into a tensor with gaps
        return F.lp_pool1d(y, 2, 1)

    x, y = weft.rand(8, 5, 2), weft.rand(8, 5, 4)
    for g in (weft.rand(2, 5, 8).permute(2, 1, 0), weft.ones([]).expand(8, 5, 2)):

        def gradient(f, g=g):
            own, written = x.clone().requires_grad_(), y.clone()[..., ::2]
            return weft.autograd.grad(f(own, written), own, g)[0]

        assert weft.allclose(gradient(weft.compile(f, fullgraph=True, options={"exact": True})), gradient(f))


def test_products_of_an_input_with_gaps_that_the_function_writes():
    def f(x, v):
        x.sub_(0.1)
        return x @ v, v @ x, weft.einsum("ij,i->j", x, v)

    x, v = weft.randn(33, 33), weft.randn(33)
    for at in ((slice(None), slice(None, None, 2)), (slice(None, None, 2), slice(None))):
        wide = [weft.zeros(33 * (1 + (at[0].step == 2)), 33 * (1 + (at[1].step == 2)))[at].copy_(x) for _ in range(2)]
        got = weft.compile(f, fullgraph=True, options={"exact": True})(wide[0], v)
        assert all(map(weft.equal, got, f(wide[1], v)))


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_input_that_no_gradient_needs_may_be_written_before_another_form_comes(dynamic):
    def f(x, w):
        return (x + w * w).softmax(1)

    def gradient(f, g):
        x, w = weft.arange(28.0).reshape(4, 7), weft.arange(28.0).reshape(4, 7).sin().requires_grad_()
        out = f(x, w)
        x.zero_()
        return weft.autograd.grad(out, w, g)[0]

    c = weft.compile(f, dynamic=dynamic, fullgraph=True, options={"exact": True})
    for g in (weft.ones(4, 7), weft.arange(7.0).expand(4, 7), weft.arange(28.0).reshape(7, 4).t()):
        assert weft.equal(gradient(c, g), gradient(f, g))


@pytest.mark.parametrize("op", [F.silu, F.gelu, weft.tanh])
@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("dynamic", [False, True])
def test_gradients_of_attention_lie_as_eagers(op, width, dynamic):
    """Heads before positions or behind them: what comes before is differentiated in one pass, or op by op."""
    weft.manual_seed(0)
    x = weft.randn(16, 2, 4, width).half()

    def f(x):
        v = op(x)
        return F.scaled_dot_product_attention(v, v, v)

    def gradient(f):
        own = x.clone().requires_grad_()
        return weft.autograd.grad(f(own).float().square().sum(), own)[0]

    compiled = weft.compile(f, dynamic=dynamic, fullgraph=True, options={"exact": True})
    assert weft.equal(gradient(compiled), gradient(f))


@pytest.mark.parametrize(
    "function", [lambda x: x.nansum(2, keepdim=True), lambda x: x.softmax(1).nansum(-1), lambda x: x.nanmean((0, 2))]
)
def test_sums_of_numbers_that_are_no_nan_by_gradients_in_another_order(function):
    x = weft.randn(3, 8, 64).masked_fill(weft.rand(3, 8, 64) < 0.1, float("nan"))
    sizes = list(function(x).shape)
    for g in (weft.randn(sizes), weft.randn(sizes[::-1]).permute(*range(len(sizes))[::-1])):
        for dynamic in (False, True):

            def gradient(f, g=g):
                own = x.clone().requires_grad_()
                return weft.autograd.grad(f(own), own, g)[0]

            weft.compiler.reset()
            got = gradient(weft.compile(function, dynamic=dynamic, fullgraph=True, options={"exact": True}))
            want = gradient(function)
            assert weft.equal(got.isnan(), want.isnan()) and weft.equal(got.nan_to_num(), want.nan_to_num())
            assert got.stride() == want.stride()


@pytest.mark.parametrize(
    "written", [lambda x, s: x.add_(s), lambda x, s: x.transpose(2, 1).add_(s).mul_(2), lambda x, s: x[0].mul_(s)]
)
def test_inputs_with_gaps_that_are_written_with_history(written):
    """Gradients were summed as the gradients of the results lie, not as the input does."""

    def f(a, x):
        written(x, a.sum())
        return x * 2, x.sin()

    a, memory = weft.randn(2, 7, 1), weft.randn(2, 14, 1)
    compiled = weft.compile(f, fullgraph=True, options={"exact": True})
    for _ in range(8):
        seeds = [weft.randn(2, 7, 1), weft.randn(2, 7, 1)]

        def gradient(f, seeds=seeds):
            own, x = a.clone().requires_grad_(), memory.clone()[:, :7]
            return weft.autograd.grad(f(own, x), own, seeds)[0]

        assert weft.equal(gradient(compiled), gradient(f))
