"""Derivatives in one native pass equal the ops' vjps (which run when the walk is recorded)."""

import numpy as np
import pytest

import aten
from aten import _native
from aten import dtype as dtypes
from aten.op import registry

rng = np.random.default_rng(0)


def make(*sizes, dtype="float32"):
    return aten.from_numpy(rng.standard_normal(sizes)).to(getattr(dtypes, dtype)).requires_grad_()


def compare(fn, inputs, tolerance):
    """Gradients of a plain walk against those of one under create_graph."""
    out = fn(*inputs)
    weights = make(*out.shape).detach().to(out.dtype)
    plain = aten.autograd.grad(out, inputs, weights, retain_graph=True)
    recorded = aten.autograd.grad(out, inputs, weights, create_graph=True)
    assert any(b.requires_grad for b in recorded)
    for a, b in zip(plain, recorded):
        assert (a.dtype, a.shape) == (b.dtype, b.shape) and not a.requires_grad
        x, y = (np.asarray(t.detach()).astype(np.float64) for t in (a, b))
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * max(1, np.abs(y).max()))


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-6), ("float64", 1e-12), ("bfloat16", 2e-2)])
def test_fused_derivatives_are_the_vjps(dtype, tolerance):
    x, w, b = make(3, 5, 37, dtype=dtype), make(37, dtype=dtype), make(37, dtype=dtype)
    op = registry
    compare(op["gelu"], (x,), 2 * tolerance)
    compare(lambda t: op["gelu"](t, approximate="tanh"), (x,), 2 * tolerance)
    compare(op["silu"], (x,), tolerance)
    compare(lambda t: t.softmax(-1), (x,), tolerance)
    compare(lambda t: t.log_softmax(2), (x,), tolerance)
    compare(lambda t: t.softmax(0), (x,), tolerance)
    compare(lambda t, u, v: op["layer_norm"](t, [37], u, v), (x, w, b), 5 * tolerance)
    compare(lambda t, u: op["layer_norm"](t, [37], u), (x, w), 5 * tolerance)
    compare(lambda t: op["layer_norm"](t, [5, 37]), (x,), 5 * tolerance)
    compare(lambda t, u: op["rms_norm"](t, [37], u, 1e-6), (x, w), 5 * tolerance)
    many = make(700, 16, dtype=dtype)
    compare(
        lambda t, u, v: op["layer_norm"](t, [16], u, v),
        (many, make(16, dtype=dtype), make(16, dtype=dtype)),
        20 * tolerance,
    )


@pytest.mark.parametrize("dtype, tolerance", [("float32", 2e-6), ("float64", 1e-12), ("bfloat16", 2e-2), ("float16", 3e-3)])
@pytest.mark.parametrize("dim, sizes", [(0, (150, 141)), (1, (2, 70, 3)), (-2, (3, 1, 5)), (0, (5, 1)), (1, (4, 65, 2, 8))])
def test_softmax_of_columns_is_one_pass(dim, sizes, dtype, tolerance):
    (x,) = inputs = (make(*sizes, dtype=dtype),)
    compare(lambda t: t.softmax(dim), inputs, tolerance)
    compare(lambda t: t.log_softmax(dim), inputs, tolerance)
    at = dim % len(sizes)
    for log in (False, True):
        assert _native.softmax_backward(x.detach(), x.detach(), at, log) is not NotImplemented


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    attention = registry["scaled_dot_product_attention"]
    q, k, v = make(2, 3, 7, 8), make(2, 3, 9, 8), make(2, 3, 9, 5)
    compare(lambda *t: attention(*t, is_causal=causal), (q, k, v), 5e-6)
    compare(lambda *t: attention(*t, is_causal=causal, scale=0.3), (q, k, v), 5e-6)
    heads = make(2, 7, 3, 8)
    compare(
        lambda t: attention(t.transpose(1, 2), t.transpose(1, 2), t.transpose(1, 2), is_causal=causal), (heads,), 5e-6
    )
    if not causal:
        mask = aten.from_numpy(rng.random((7, 9)) > 0.3)
        compare(lambda *t: attention(*t, mask), (q, k, v), 5e-6)
        bias = make(7, 9)
        compare(lambda *t: attention(*t[:3], t[3]), (q, k, v, bias), 5e-6)
    small = tuple(make(2, 4, 3, dtype="float64") for _ in range(3))
    assert aten.autograd.gradcheck(lambda *t: attention(*t, is_causal=causal), small)
    _native.python_entries(True)
    attention(q, k, v, is_causal=causal)
    assert _native.python_entries() == {}


def test_cat_and_split_are_one_node_each():
    x, y = make(2, 3, dtype="float64"), make(2, 4, dtype="float64")
    joined = registry["cat"]([x, y], 1)
    assert joined.grad_fn.name() == "CatBackward0" and joined.shape == (2, 7)
    assert aten.autograd.gradcheck(lambda a, b: registry["cat"]([a, b * 2], dim=1), (x, y))
    parts = joined.split([2, 5], 1)
    assert parts[0].grad_fn is parts[1].grad_fn and parts[0]._base is joined
    assert aten.autograd.gradcheck(lambda a: a.split(2, 1)[1] * 3, (y,))
    assert aten.autograd.gradgradcheck(lambda a: a.chunk(2, 1)[0].exp() * a.chunk(2, 1)[1], (y,))
    (gx,) = aten.autograd.grad(parts[1].sum(), (x,))
    assert gx.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_alpha():
    x, y = make(3, 4), make(4)
    for op in ("add", "sub"):
        sign = 1 if op == "add" else -1
        with aten.no_grad():
            expected = np.asarray(x.detach()) + sign * np.float32(0.3) * np.asarray(y.detach())
            np.testing.assert_allclose(np.asarray(registry[op](x, y, alpha=0.3).detach()), expected, rtol=1e-6)
            z = x.detach().clone()
            np.testing.assert_allclose(np.asarray(getattr(z, op + "_")(y.detach(), alpha=0.3)), expected, rtol=1e-6)
        compare(lambda a, b, op=op: registry[op](a, b, alpha=2) * a, (x, y), 1e-6)
    with pytest.raises(RuntimeError, match="alpha must not be a floating point|integral"):
        aten.tensor([1, 2]).add(aten.tensor([1, 2]), alpha=0.5)
