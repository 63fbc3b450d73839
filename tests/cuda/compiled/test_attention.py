"""Attention on a device is one kernel forward and two backward, which store no scores; it gives what the CPU gives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import weft
from tests.cuda.compiled.test_functions import floats

F = weft.nn.functional
attention = F.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def nothing_by_the_host():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def grown(function, where, args, seed=5):
    """The result of function(*args) on a device and the gradients of its first three arguments."""
    weft.manual_seed(seed)
    own = [x.detach().clone().to(where).requires_grad_(k < 3) for k, x in enumerate(args)]
    out = function(*own)
    out.square().sum().backward()
    return [out.detach(), *(x.grad for x in own[:3])]


def check(device, function, *args, tolerance=1e-5, dynamic=None):
    """Eager and compiled on the device as on the CPU."""
    want = grown(function, "cpu", args)
    weft._dynamo.reset()
    for f in (function, weft.compile(function, fullgraph=True, dynamic=dynamic)):
        for g, w in zip(grown(f, device, args), want, strict=True):
            assert g.device.type == "cuda" and g.shape == w.shape and g.dtype is w.dtype
            np.testing.assert_allclose(g.cpu().float().numpy(), w.float().numpy(), rtol=tolerance, atol=tolerance)


def operands(*, queries=20, keys=37, heads=3, key_heads=3, depth=8, width=8, batch=2):
    sizes = (batch, heads, queries, depth), (batch, key_heads, keys, depth), (batch, key_heads, keys, width)
    return [floats(*s, seed=k) for k, s in enumerate(sizes)]


def mask(queries=20, keys=37):
    m = floats(queries, keys, seed=9) > -0.3
    m[3] = False  # a row that sees nothing
    return m


PROGRAMS = {
    "plain": (attention, operands()),
    "causal": (lambda q, k, v: attention(q, k, v, is_causal=True), operands()),
    "causal, longer than a block": (
        lambda q, k, v: attention(q, k, v, is_causal=True), operands(queries=140, keys=70, heads=1, key_heads=1, batch=1),
    ),
    "more keys than a block": (attention, operands(queries=5, keys=140, heads=1, key_heads=1, batch=1, depth=20, width=33)),
    "mask": (lambda q, k, v, m: attention(q, k, v, m), [*operands(), mask()]),
    "added mask": (lambda q, k, v, m: attention(q, k, v, m), [*operands(), floats(2, 1, 20, 37)]),
    "computed mask": (lambda q, k, v, m: attention(q, k, v, m.abs() * -2), [*operands(), floats(20, 37)]),
    "of keys": (lambda q, k, v, m: attention(q, k, v, m), [*operands(), floats(2, 1, 1, 37) > 0]),
    "dropped": (lambda q, k, v: attention(q, k, v, dropout_p=0.3, is_causal=True), operands()),
    "dropped with a mask": (lambda q, k, v, m: attention(q, k, v, m, dropout_p=0.3), [*operands(), mask()]),
    "fewer heads of keys": (lambda q, k, v: attention(q, k, v, enable_gqa=True), operands(heads=4, key_heads=2)),
    "batches that broadcast": (lambda q, k, v: attention(q, k[:1], v[0, 0], scale=0.5), operands()),
    "heads in the middle": (
        lambda q, k, v: attention(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2),
        operands(heads=6, key_heads=6, queries=3, keys=3),
    ),
    "of what is computed": (lambda q, k, v: attention(q * 2, k + 1, v.sin()), operands()),
    "no batch": (attention, [x[0, 0] for x in operands()]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_and_backward(device, name):
    function, args = PROGRAMS[name]
    check(device, function, *args)


def test_sizes_that_are_symbols(device):
    check(device, lambda q, k, v: attention(q, k, v, is_causal=True), *operands(), dynamic=True)


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16])
def test_halves(device, dtype):
    check(device, attention, *(x.to(dtype) for x in operands()), tolerance=6e-2 if dtype is weft.bfloat16 else 8e-3)


@pytest.mark.parametrize("name", ["wide", "float64", "no keys", "no queries", "all dropped"])
def test_what_is_not_tiled_is_made_of_products(device, name):
    q, k, v = operands()
    p = 0.0
    if name == "wide":
        q, k, v = (x.repeat(1, 1, 1, 20) for x in (q, k, v))
    elif name == "float64":
        q, k, v = (x.double() for x in (q, k, v))
    elif name == "no keys":
        k, v = k[:, :, :0], v[:, :, :0]
    elif name == "no queries":
        q = q[:, :, :0]
    else:
        p = 1.0
    check(device, lambda q, k, v: attention(q, k, v, dropout_p=p), q, k, v, tolerance=5e-4)


def test_higher_derivatives_and_batches(device):
    q, k, v = operands()
    f = lambda q: attention(q, k.to(q.device), v.to(q.device), dropout_p=0.3).square().sum()
    twice = weft.func.grad(lambda q: weft.func.grad(f)(q).sin().sum())
    for function in (twice, lambda q: weft.vmap(weft.func.grad(f), randomness="different")(q.expand(2, *q.shape)),
                     lambda q: weft.func.jvp(f, (q,), (q,))[1]):  # fmt: skip
        weft.manual_seed(1)
        want = function(q)
        weft.manual_seed(1)
        np.testing.assert_allclose(function(q.to(device)).cpu().numpy(), want.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("compiled", [False, True])
def test_no_scores_are_stored(sim, device, compiled):
    """Launches are counted, and bytes: those of the scores would be 16 times those of an operand."""
    from aten import _cuda

    f = lambda q, k, v: attention(q, k, v, is_causal=True)
    f = weft.compile(f, fullgraph=True) if compiled else f
    args = operands(queries=128, keys=128, heads=1, key_heads=1, batch=1)
    grown(f, device, args)
    own = [x.to(device).requires_grad_() for x in args]
    grad = weft.ones(1, 1, 128, 8, device=device)
    before = weft.cuda.memory_allocated()
    weft.cuda.reset_peak_memory_stats()
    launched = _cuda.counts()["launches"]
    out = f(*own)
    assert _cuda.counts()["launches"] - launched == 1
    out.backward(grad)
    assert _cuda.counts()["launches"] - launched == 3
    assert weft.cuda.max_memory_allocated() - before < 8 * args[0].nbytes
