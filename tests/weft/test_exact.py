"""Exact mode: what a compiled function gives has the very bits of the plain one, forward and backward, at any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import inductor
import weft
from aten import settings
from tests.fuzz.exact import bits, run

F = weft.nn.functional
HALVES = (weft.float16, weft.bfloat16)


@pytest.fixture(autouse=True)
def fresh():
    weft._dynamo.reset()
    threads = weft.get_num_threads()
    yield
    weft.set_num_threads(threads)


def same(f, *inputs, **options) -> None:
    """Results, written inputs and gradients of f compiled are those of f, bit for bit, at one and at two threads."""
    compiled = weft.compile(f, fullgraph=True, options={"exact": True}, **options)
    for threads in (1, 2):
        weft.set_num_threads(threads)
        want, got = (run(lambda *args, g=g: _tuple(g(*args)), inputs, 0) for g in (f, compiled))
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            assert (a is None) == (b is None)
            assert a is None or (a.dtype is b.dtype and (bits(a) == bits(b)).all()), f"value {k} at {threads} threads"


def _tuple(result):
    return result if isinstance(result, tuple) else (result,)


def rand(*sizes, dtype=weft.float32, grad=True):
    return weft.randn(*sizes).to(dtype).requires_grad_(grad)


# ------------------------------------------------------------------------------------------------------------ models
@pytest.mark.parametrize("dtype", [weft.float32, *HALVES])
def test_mlp(dtype):
    def f(x, w1, b1, w2, b2):
        return F.cross_entropy(F.linear(F.gelu(F.linear(x, w1, b1)), w2, b2), weft.arange(24) % 10)

    same(f, *(rand(*s, dtype=dtype) for s in ((24, 33), (65, 33), (65,), (10, 65), (10,))))


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
def test_gpt_block(dtype):
    def f(x, ln, qkv, out, up, down):
        h = F.layer_norm(x, (32,), ln, None)
        q, k, v = F.linear(h, qkv).split(32, -1)
        q, k, v = (t.reshape(2, 17, 4, 8).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 17, 32)
        x = x + F.linear(y, out)
        return x + F.linear(F.silu(F.linear(F.rms_norm(x, (32,), ln), up)), down)

    same(f, *(rand(*s, dtype=dtype) for s in ((2, 17, 32), (32,), (96, 32), (32, 32), (64, 32), (32, 64))))


@pytest.mark.parametrize("grad", [True, False])
def test_conv_net(grad):
    def f(x, w, gamma, beta, mean, var):
        h = F.batch_norm(F.conv2d(x, w, padding=1), mean, var, gamma, beta, training=True)
        h = F.max_pool2d(h.relu(), 2)
        return F.avg_pool2d(F.group_norm(h, 2, gamma, beta), 2).mean((2, 3)).log_softmax(-1)

    inputs = [rand(2, 3, 12, 12, grad=grad), rand(4, 3, 3, 3, grad=grad), rand(4, grad=grad), rand(4, grad=grad)]
    same(f, *inputs, weft.zeros(4), weft.ones(4))


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, *HALVES])
def test_norms_and_reductions(dtype):
    def f(x, w):
        y = F.layer_norm(x, (37,), w, w) + F.rms_norm(x, (37,), w)
        z = y.softmax(0) * y.logsumexp(1, keepdim=True) + y.std(1, keepdim=True) - y.var(0) + x.cumsum(1) * x.amax(0)
        return z, y.sum(), x.norm(), x.prod(1), x.argmax(1), y.mean(0)

    same(f, rand(19, 37, dtype=dtype), rand(37, dtype=dtype))


# ------------------------------------------------------------------------------------------------------------ arithmetic
@pytest.mark.parametrize("dtype", HALVES)
def test_halves_round_after_every_op(dtype):
    def f(x, y):
        return ((x + y) - x) == y, (x * 0.1 + 0.1).floor(), weft.where(x > 0, 0.1, y) * 3, F.pad(x, (0, 1), value=0.1) * 3

    same(f, rand(1000, dtype=dtype), rand(1000, dtype=dtype))


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
def test_quotients_are_quotients(dtype):
    x = (weft.arange(5000) * 1.0).to(dtype)
    same(lambda x: ((x / 41).floor(), (x / 49).long(), x % 0.1, x // 0.3), x)


def test_functions_of_integers_take_whole_registers():
    """An int64 halves the lanes; functions of half a register are other ones."""
    same(lambda x: (x.expm1(), x.tan(), x.cosh(), 0.1**x), weft.arange(-40, 40))
    same(lambda x: (x.atan(), x.asinh(), x.exp2()), weft.tensor(-0.7037352358069926, dtype=weft.float64))


def test_numbers_keep_the_sign_of_zero():
    x = weft.tensor([-5.0, 5.0])
    assert (x * -0.0).tolist().__repr__() == "[0.0, -0.0]"
    assert weft.tensor([-0.0]).to(weft.float16)[0].to(weft.float16).item().__repr__() == "-0.0"
    same(lambda x: (x * -0.0, x / -0.0, x.clamp(min=-0.0), x.clamp(max=0.0), weft.copysign(x, -0.0)), x)
    same(lambda x: (x.clamp(min=0.0), x.clamp(0, 1)), weft.tensor([-0.0, 0.0, float("nan")], dtype=weft.bfloat16))


def test_positions_wrap_as_int64():
    def f(x):
        i = weft.arange(64)
        return (i * 6364136223846793005 + 1442695040888963407) < 0, i * 2**62 > 0, x + i

    same(f, weft.zeros(64, dtype=weft.int64))


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_are_added_up_in_float32(dtype):
    """Ones added in a half type would stop at 256 or 2048."""
    index = weft.zeros(3000, dtype=weft.int64)

    def f(x, table):
        out = weft.zeros(4, dtype=dtype)
        return (out.scatter_add(0, index, x), out.index_add(0, index, x), out.index_put((index,), x, accumulate=True),
                F.embedding(index, table).sum(0))  # fmt: skip

    x = weft.ones(3000, dtype=dtype)
    assert all(r[0].item() in (3000, 3008) for r in f(x, weft.ones(4, 1, dtype=dtype))[:3])
    same(f, x, weft.ones(4, 1, dtype=dtype).requires_grad_())


# ------------------------------------------------------------------------------------------------------------ gradients
def test_gradients_are_added_in_the_order_of_eager():
    def f(x, y):
        a, b, c = x.split([3, 5, 8], -1)
        return (a.sum() * x + y).tanh() + (b.exp().sum() - c.sin().sum()) * x + x[:, :16] * y.unsqueeze(0) + x[..., 3:4] * y

    same(f, rand(9, 16), rand(16))


def test_writes_into_inputs_and_views():
    def f(x, y):
        z = y * 2
        z[:, 1].mul_(0.3)
        z.transpose(0, 1)[2].add_(z[0, 0])
        x.add_(z.detach())
        x[0].zero_()
        return z * x

    same(f, rand(7, 5, grad=False), rand(7, 5))


@pytest.mark.parametrize("sizes", [(0,), (1,), (1, 0), (1, 1)])
def test_few_elements(sizes):
    same(lambda x: (x.sum(), x.exp() * 0.1, x.reshape(-1).cumsum(0), x.softmax(-1)), rand(*sizes))


def test_steps_see_the_layout_of_eager():
    """The order of a product or sum may depend on strides, those of dims of one element too."""
    same(lambda x: F.linear(x, x[:3], x.reshape(-1)[:3]), weft.randn(16, 64).t().to(weft.bfloat16).requires_grad_())
    same(lambda x: x @ x.t() + x.reshape(-1)[:3], rand(1, 7))
    same(lambda x: (x @ x.t()).square(), weft.randn(17, 17).t(), dynamic=True)


def test_results_that_are_equal_are_two_tensors():
    def f(x):
        y = x.sin()
        return y, y * 1, weft.where(x > 0, y, y)

    for options in ({}, {"exact": True}):
        made = weft.compile(f, options=options)(weft.ones(3))
        assert len({t.data_ptr() for t in made}) == 3


def test_remainders_keep_the_sign_of_zero_with_and_without_gradients():
    x = weft.tensor([-3.0, -0.0, 0.0, 4.0]).to(weft.float16)
    same(lambda x: (x % 1, x % 0.001), x)
    same(lambda x: (x % 1, x % 0.001), x.clone().requires_grad_())


def test_half_of_a_symbolic_size_broadcasts():
    """n - (n + 1) // 2 is 1 for 2 and 3: the guard says so where the product was broadcast."""
    f = lambda x: x.chunk(2, 1)[-1] * x
    x = weft.arange(33 * 34.0).reshape(33, 2, 17)
    for options in ({}, {"exact": True}):
        weft._dynamo.reset()
        assert weft.equal(weft.compile(f, dynamic=True, options=options)(x), f(x))


def test_dynamic_sizes():
    f = lambda x, w: F.gelu(F.linear(x, w)).softmax(-1) / 3
    compiled = weft.compile(f, dynamic=True, options={"exact": True})
    for n in (5, 9, 33):
        x, w = rand(n, 7), rand(n + 1, 7)
        want, got = (run(lambda *args, g=g: (g(*args),), (x, w), n) for g in (f, compiled))
        assert all((bits(a) == bits(b)).all() for a, b in zip(got, want, strict=True))


# ------------------------------------------------------------------------------------------------------------ gradients
def _columns(t):
    return t.t().contiguous().t()


SEEDS = {
    "missing": lambda y, z: (None, weft.randn(*z.shape)),
    "columns": lambda y, z: (_columns(weft.randn(*y.shape)), _columns(weft.randn(*z.shape))),
    "repeated": lambda y, z: (weft.ones(()).expand(*y.shape), weft.ones(z.shape[1]).expand(*z.shape)),
    "every second": lambda y, z: (weft.randn(y.shape[0], 2 * y.shape[1])[:, ::2], None),
}


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("kind", SEEDS)
def test_gradients_may_be_missing_or_lie_otherwise(kind, dynamic, writes):
    """A zero in place of nothing would make 0 of -0, and NaN of infinity; the order of a sum follows the layout."""

    def f(x, b, w):
        if writes:
            w.copy_(x[:, :2])
        y = F.normalize(x.t() * 2 + b, dim=-1) * weft.where(x.t() > 0, -1.0, float("inf"))
        return y, weft.softmax(x, 0) / (b.reshape(-1, 1)[0] + x)

    x, b = rand(17, 33), rand(17)
    results = {}
    for g in (f, weft.compile(f, fullgraph=True, dynamic=dynamic, options={"exact": True})):
        weft.manual_seed(1)
        results[g] = []
        for _ in range(2):
            own = [x.detach().clone().requires_grad_(), b.detach().clone().requires_grad_()]
            outs = g(*own, weft.zeros(17, 2))
            pairs = [(y, s) for y, s in zip(outs, SEEDS[kind](*outs)) if s is not None]
            results[g] += weft.autograd.grad([y for y, _ in pairs], own, [s for _, s in pairs], allow_unused=True)
    for a, w in zip(*results.values(), strict=True):
        assert (a is None) == (w is None) and (a is None or (bits(a) == bits(w)).all())


@pytest.mark.parametrize("dynamic", [False, True])
def test_random_graphs_with_a_gradient_missing(dynamic):
    f = lambda x: (F.dropout(x, 0.3) * x, weft.rand_like(x) * x.sin(), x.exp())
    x, grads = weft.randn(9, 7), []
    for g in (f, weft.compile(f, fullgraph=True, dynamic=dynamic, options={"exact": True})):
        for _ in range(2):
            weft.manual_seed(3)
            own = x.clone().requires_grad_()
            for used in ([0], [1, 2], [0, 2]):
                results = g(own)
                outs = [results[k] for k in used]
                grads += weft.autograd.grad(outs, own, [weft.ones(9, 7)] * len(used))
    assert all((bits(a) == bits(b)).all() for a, b in zip(grads[:6], grads[6:], strict=True))


def test_what_a_derivative_makes_is_not_taken_for_what_another_one_does():
    """The derivative of prod saves what it computes; without it the names are those of other values."""

    def f(x):
        v, n = x % -0.5, x.norm(dim=0, keepdim=True)
        return v.prod(dim=0, keepdim=True), v.clone(), n @ n

    x = weft.randn(17, dtype=weft.float64)
    grads = []
    for g in (f, weft.compile(f, fullgraph=True, options={"exact": True})):
        own = x.clone().requires_grad_()
        _, *outs = g(own)
        grads += weft.autograd.grad(outs, own, [weft.ones_like(y) for y in outs])
    assert (bits(grads[0]) == bits(grads[1])).all()


# ------------------------------------------------------------------------------------------------------------ the setting
def test_pointwise_ops_still_share_a_kernel():
    with settings.patch(cache=False):
        inductor.counters.clear()
        same(lambda x: (x.sin() * 2 + x.exp()).tanh() / 3, rand(50, grad=False))
    assert inductor.counters["kernels"] == 1


def test_the_environment_sets_it():
    program = """
import weft
f = lambda x: ((x + 0.1) * 3 - x, x.sum())
x = weft.randn(3001).to(weft.bfloat16)
assert all(map(weft.equal, weft.compile(f)(x), f(x)))
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "WEFT_EXACT": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_gradient_laid_out_by_columns_around_a_size_of_one():
    weft.manual_seed(0)
    x = weft.randn(65, 1, 1)
    g = weft.randn(3, 1, 65).transpose(0, -1)

    def f(x):
        y = x * 1
        return weft.nn.functional.linear(y.detach(), y.reshape(-1, 1)[:3])

    def gradient(f):
        leaf = x.clone().requires_grad_()
        return weft.autograd.grad(f(leaf), leaf, g)[0]

    assert weft.equal(gradient(weft.compile(f, dynamic=True, options={"exact": True})), gradient(f))


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: F.mish(x),
        lambda x, y: weft.square(x),
        lambda x, y: weft.addcmul(x, x, y, value=0.2),
        lambda x, y: weft.logaddexp(x, y),
        lambda x, y: F.softplus(x, 2, 1),
        lambda x, y: F.mish(x.t()),  # is no chain
        lambda x, y: weft.lerp(x, y[:1], 0.3),
        lambda x, y: weft.lerp(x, y, 0.3) + weft.lerp(x, y, 0.7),
        lambda x, y: weft.lerp(x, y.detach(), x),
        lambda x, y: weft.addcdiv(x.detach(), x, y, value=0.2),
        lambda x, y: weft.rsub(x, y, alpha=2),
        lambda x, y: x.angle() + x.clamp(-y, y),
        lambda x, y: x.nansum(0) + x.nansum(),
        lambda x, y: (x * 1).copy_(y) + (x * 1).copy_(x[0]),
    ],
)
def test_what_eager_runs_as_one_chain_adds_to_a_gradient_at_once(f, dtype):
    same(lambda x, y: (f(x, y), x * y, x.sin(), f(x, y) * 0.3), rand(4, 5, dtype=dtype), rand(4, 5, dtype=dtype))


def test_a_norm_whose_factors_are_a_part_of_what_it_norms():
    def f(x):
        row = x.reshape(-1, 7)[0]
        return weft.nn.functional.layer_norm(x, (7,), row, row)

    found = []
    for g in (f, weft.compile(f, fullgraph=True, options={"exact": True})):
        x = weft.linspace(-1, 2, 28, dtype=weft.float64).reshape(4, 7).requires_grad_()
        found.append(weft.autograd.grad(g(x), x, weft.ones(4, 7, dtype=weft.float64))[0])
    assert found[0].equal(found[1])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("write", [lambda v, y: v[..., 0].copy_(y * 0.7), lambda v, y: v.transpose(1, 2)[:, 2:].mul_(y)])
def test_a_gradient_is_laid_out_as_what_was_written_through_a_view(write, dynamic):
    """The order in which the gradient of what was written is summed follows the layout of the whole, not that of a gradient."""
    weft.manual_seed(0)
    x, y = weft.randn(2, 7, 7, 33).transpose(0, -1), weft.randn(())
    seeds = [weft.randn(33, 7, 7, 2), weft.randn(2, 7, 7, 33).transpose(0, -1)]

    def f(x, y):
        v = x.clone()
        write(v, y)
        return v, 1.5 - v

    found = []
    for g in (f, weft.compile(f, fullgraph=True, dynamic=dynamic or None, options={"exact": True})):
        own = [x.clone().requires_grad_(), y.clone().requires_grad_()]
        found.append(weft.autograd.grad(g(*own), own, seeds))
    assert all((bits(a) == bits(b)).all() for a, b in zip(*found, strict=True))


LAID_OUT = {
    "gelu": F.gelu,
    "silu": F.silu,
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(2),
    "layer_norm": lambda x: F.layer_norm(x, (17,), x[0, 0]),
    "rms_norm": lambda x: F.rms_norm(x, (2, 17)),
    "scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "mish": F.mish,
    "binary_cross_entropy": lambda x: F.binary_cross_entropy_with_logits(x, x * 0.5, reduction="none"),
}


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("name", LAID_OUT)
def test_gradients_are_laid_out_as_in_eager(name, columns):
    """A sum of them, the gradient of what was broadcast here, has the order of their layout."""
    weft.manual_seed(0)
    x = weft.randn(17, 2, 7).transpose(0, -1)
    x, seed, row = x if columns else x.contiguous(), weft.randn(17, 2, 7).transpose(0, -1), weft.randn(17)
    found = []
    for g in (LAID_OUT[name], weft.compile(LAID_OUT[name], fullgraph=True, options={"exact": True})):
        own = x.clone().requires_grad_()
        found += weft.autograd.grad(g(own), own, seed)
    assert found[0].stride() == found[1].stride() and (bits(found[0]) == bits(found[1])).all()
    found = []
    f = lambda x, row: LAID_OUT[name](x * row)
    for g in (f, weft.compile(f, fullgraph=True, options={"exact": True})):
        own = [x.clone().requires_grad_(), row.clone().requires_grad_()]
        found.append(weft.autograd.grad(g(*own), own, seed))
    assert all((bits(a) == bits(b)).all() for a, b in zip(*found, strict=True))


def test_the_gradient_of_a_product_of_zeros_of_both_signs():
    x = weft.tensor([[-0.0, 0.0, 3.0], [-1.0, -0.0, 2.0]])
    for product in (lambda x: x.prod(), lambda x: x.prod(0), lambda x: x.prod(1)):
        same(product, x.requires_grad_())


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_a_write_through_as_strided_of_what_lies_by_columns(exact, dynamic):
    def f(x, y):
        z = x * 2
        z.as_strided((2, 2), (1, 5), 3).mul_(y)
        return z

    x, y, found = weft.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1), weft.tensor(3.0), []
    for g in (f, weft.compile(f, fullgraph=True, dynamic=dynamic, options={"exact": exact})):
        own = [x.clone().requires_grad_(), y.clone().requires_grad_()]
        out = g(*own)
        found.append([out, *weft.autograd.grad(out, own, x + 1)])
    assert found[0][0].stride() == found[1][0].stride() and all(map(weft.equal, *found))


def test_a_write_of_another_layout_adds_no_zeros_to_a_gradient():
    """A zero added to -0 would be 0."""

    def f(x):
        v = x.clone()
        v.masked_fill_(v > 0, 0.2)
        return x * -0.0, v.round()

    same(f, weft.randn(7, 16).t().requires_grad_())


def test_a_value_replaced_by_a_function_of_itself_twice():
    """Gradients of both uses add up in the order of one tensor's."""

    def f(x):
        v = x * 1
        v.lerp_(v, 0.3)
        return v

    same(f, weft.randn(37, 11).requires_grad_())


def irfft_of_rfft(x):
    return weft.fft.irfft(weft.fft.rfft(x, norm="ortho"), x.shape[-1])


def irfft_of_real(x):
    return weft.fft.irfft(x + 0j, 2 * x.shape[-1] - 2)


@pytest.mark.parametrize("f", [irfft_of_rfft, irfft_of_real])
def test_transforms_of_symbolic_sizes_scale_as_they_store(f):
    """Also backwards: a gradient that is scaled before it is transformed has other bits."""
    same(f, weft.randn(2, 24).requires_grad_(), dynamic=True)
    same(f, weft.randn(3, 13).requires_grad_(), dynamic=True)
