"""Sums and scores of halves that one kernel leaves to another are float32: results are as exact as where one kernel does all."""

import numpy as np
import pytest

import weft

F = weft.nn.functional
ULP = {weft.bfloat16: 2**-8, weft.float16: 2**-11}


def values(*sizes, dtype=weft.bfloat16):
    given = np.random.default_rng(0).standard_normal(sizes).astype(np.float32) * 2 + 1
    return weft.tensor(given).to(dtype)


def ulps(got, exact, dtype):
    """The largest distance in units of the last place of numbers of an element's size, of those that are not tiny."""
    got, exact = got.double(), exact.double()
    large = exact.abs() > 1e-3 * exact.abs().max()
    return float(((got - exact).abs() / exact.abs())[large].max()) / ULP[dtype]


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("sizes, dim", [((1000, 64), 0), ((8, 300, 40), 1)])
def test_softmax_down_columns_is_rounded_once(name, sizes, dim, dtype):
    x = values(*sizes, dtype=dtype)
    f = getattr(weft, name)
    compiled = weft.compile(lambda x: f(x, dim), fullgraph=True)(x)
    assert ulps(compiled, f(x.double(), dim), dtype) < 1.01


def test_the_gradient_of_a_target_sees_the_sum_as_it_is():
    x, target = values(2, 3, 2, 2, 3), values(2, 3, 2, 2, 3).abs()
    loss = weft.compile(lambda x, t: F.cross_entropy(x, t), fullgraph=True)
    found = []
    for dtype, f in ((weft.float64, F.cross_entropy), (weft.bfloat16, loss)):
        t = target.to(dtype).requires_grad_()
        f(x.to(dtype).requires_grad_(), t).backward()
        found.append(t.grad)
    assert ulps(found[1], found[0], weft.bfloat16) < 2.5  # rounded twice


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16])
def test_scores_of_attention_are_not_rounded(dtype):
    q = values(8, 16, 32, 16, dtype=dtype)
    exact = attention(*[q.double()] * 3)
    compiled = weft.compile(attention, fullgraph=True)
    assert float((compiled(q, q, q).double() - exact).abs().max()) < 1.2 * ULP[dtype] * float(exact.abs().max())
    gradients = []
    for given, f in ((q.double(), attention), (q, compiled)):
        given = given.requires_grad_()
        f(given, given, given).sum().backward()
        gradients.append(given.grad.double())
    assert float((gradients[1] - gradients[0]).abs().max()) < 1.2 * ULP[dtype] * float(gradients[0].abs().max())


def test_a_product_widened_at_once_is_the_sums_themselves():
    a, b = values(40, 64), values(64, 50)
    compiled = weft.compile(lambda a, b: (a @ b).float().softmax(-1), fullgraph=True)(a, b)
    weft.testing.assert_close(compiled, (a.float() @ b.float()).softmax(-1))


NORMS = {
    "instance": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
    "batch": lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    "group": lambda x, w, b: F.group_norm(x, 2, w, b),
    "layer": lambda x, w, b: F.layer_norm(x.transpose(1, -1), (8,), w, b).transpose(1, -1),
    "rms": lambda x, w, b: F.rms_norm(x.transpose(1, -1), (8,), w).transpose(1, -1) + b.view(8, 1),
}


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("dtype", [weft.bfloat16, weft.float16])
@pytest.mark.parametrize("name", NORMS)
def test_gradients_of_norms_are_rounded_once(name, dtype, how):
    """Also where a layer lies so that no kernel takes it as it is."""
    f = NORMS[name]
    given = [values(4, 8, 64, dtype=dtype), values(8, dtype=dtype), values(8, dtype=dtype)]
    weights = values(8, 64, 4, dtype=dtype).permute(2, 0, 1)
    found = []
    for inside, g in ((weft.float64, f), (dtype, weft.compile(f, fullgraph=True) if how == "compiled" else f)):
        inputs = [t.to(inside).requires_grad_() for t in given]
        y = g(*inputs)
        found.append([y.detach(), *weft.autograd.grad(y, inputs, weights.to(inside))])
    for exact, got in zip(*found):
        assert float((got.double() - exact).abs().max()) < 1.1 * ULP[dtype] * float(exact.abs().max())
