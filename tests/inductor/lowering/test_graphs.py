"""Core graphs through lowering, fusion, C++ and the runner equal the eager ops."""

import numpy as np
import pytest

import weft
from tests.inductor.graphs import Builder, check

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.normal(size=shape).astype("f4")


def test_gelu_of_a_sum_reduced_is_one_kernel():
    b = Builder()
    x, y = normal(8, 100), normal(100)
    out = b("sum", b("gelu", b("add", b.like("x", x), b.like("y", y)), approximate="none"), [1], False)
    check(b.module(out), [x, y], kernels=1)


def test_softmax_is_one_kernel():
    b = Builder()
    x = normal(6, 50)
    n = b.like("x", x)
    e = b("exp", b("sub", n, b("amax", n, [1], True)))
    check(b.module(b("div", e, b("sum", e, [1], True))), [x], kernels=1)


def test_layer_norm_is_one_kernel():
    b = Builder()
    x, w, c = normal(4, 6, 33), normal(33), normal(33)
    n, nw, nc = b.like("x", x), b.like("w", w), b.like("c", c)
    both = b("var_mean", n, [2], 0, True)
    variance, mean = b.item(both, 0), b.item(both, 1)
    scale = b("rsqrt", b("add", variance, 1e-5))
    out = b("add", b("mul", b("mul", b("sub", n, mean), scale), nw), nc)
    check(b.module(out, mean, scale), [x, w, c], kernels=1)


def test_views_copy_nothing():
    b = Builder()
    x = normal(4, 6, 8)
    n = b("permute", b("view", b.like("x", x), [4, 6, 2, 4]), [0, 2, 1, 3])
    out = b("mul", b("slice", n, 3, 1, 4, 2), 2.0)
    check(b.module(out, b("sum", out, [0, 3], False)), [x])


def test_a_linear_layer_is_one_kernel():
    b = Builder()
    x, w, c, r = normal(4, 6, 40), normal(35, 40), normal(35), normal(4, 6, 35)
    n, nw, nc, nr = (b.like(k, a) for k, a in (("x", x), ("w", w), ("c", c), ("r", r)))
    y = b("view", b("mm", b("view", n, [24, 40]), b("permute", nw, [1, 0])), [4, 6, 35])
    out = b("add", b("gelu", b("add", y, nc), approximate="none"), nr)
    check(b.module(out), [x, w, c, r], kernels=1, rtol=1e-5, atol=1e-5)


def test_heads_are_split_by_strides():
    b = Builder()
    q, k = normal(2, 5, 24), normal(2, 5, 24)
    heads = lambda n: b("permute", b("view", n, [2, 5, 3, 8]), [0, 2, 1, 3])
    nq, nk = heads(b.like("q", q)), heads(b.like("k", k))
    flat = lambda n, s: b("view", b("row_major", n), s)
    s = b("bmm", flat(nq, [6, 5, 8]), b("permute", flat(nk, [6, 5, 8]), [0, 2, 1]))
    s = b("mul", s, 0.125)
    e = b("exp", b("sub", s, b("amax", s, [2], True)))
    check(b.module(b("div", e, b("sum", e, [2], True))), [q, k], rtol=1e-5)


def test_a_complex_number_without_imaginary_part_fills_real_tensors():
    function = lambda x: (weft.full([2], 2 + 0j, dtype=weft.int32), x.fill_(3 + 0j))
    assert [t.tolist() for t in weft.compile(function)(weft.ones(2))] == [[2, 2], [3, 3]]
    with pytest.raises(RuntimeError, match="cannot be converted to type float without overflow"):
        weft.compile(lambda: weft.full([2], 2 + 1j, dtype=weft.float32))()
