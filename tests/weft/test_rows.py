"""Programs over rows, compiled and plain: sizes that change, long rows, halves, layouts, rows of nothing."""

from __future__ import annotations

import numpy as np
import pytest

import weft
import weft.nn.functional as F


def error_of(f, *args):
    with pytest.raises((IndexError, RuntimeError)) as caught:
        f(*args)
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("name", ["amax", "amin", "argmax", "argmin", "max", "min"])
def test_the_extreme_of_nothing_raises_where_the_size_is_symbolic(name):
    def f(x):
        return getattr(x, name)(1)

    compiled = weft.compile(f, dynamic=True)
    compiled(weft.randn(4, 5)), compiled(weft.randn(3, 6))
    empty = weft.empty(4, 0)
    assert error_of(compiled, empty) == error_of(f, empty)


def test_softmax_and_logsumexp_of_nothing():
    def f(x):
        return weft.softmax(x, 1), weft.log_softmax(x, 1), weft.logsumexp(x, 1)

    for dynamic in (False, True):
        compiled = weft.compile(f, dynamic=dynamic)
        for size in (3, 0, 5):
            x = weft.randn(4, size)
            for got, want in zip(compiled(x), f(x)):
                assert weft.allclose(got, want, atol=1e-6)


FUSED = [
    lambda x: weft.softmax(x.t(), 1),
    lambda x: weft.log_softmax(x.t(), 0),
    lambda x: F.layer_norm(x.t(), (3,)),
    lambda x: F.rms_norm(x.t(), (3,)),
]


@pytest.mark.parametrize("f", FUSED)
def test_a_row_major_result_is_row_major_compiled(f):
    """It may be viewed, inside the graph and outside."""
    x = weft.randn(3, 4)
    got = weft.compile(f)(x)
    assert got.stride() == f(x).stride() == (3, 1)
    flat = weft.compile(lambda x: f(x).view(-1) * 2, fullgraph=True)(x)
    assert weft.allclose(flat, f(x).view(-1) * 2, atol=1e-6)


@pytest.mark.parametrize("rows", [3, 100])
def test_a_position_beside_a_sum_of_a_long_row(rows):
    """The sum is taken in chunks, the position over all of them."""

    def f(x):
        return x.sum(1), x.argmax(1), x.argmin(1), x.amax(1)

    x = weft.from_numpy(np.random.default_rng(0).normal(size=(rows, 20001)).astype("f4"))
    for got, want in zip(weft.compile(f)(x), f(x)):
        assert weft.allclose(got, want, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("dim", [0, 1])
def test_the_mean_of_halves_does_not_overflow(dim):
    def f(x):
        return (x - x.mean(dim, keepdim=True)).transpose(0, 1)

    x = (weft.arange(300 * 65) % 9 + 2000).reshape(300, 65).half()
    assert weft.allclose(weft.compile(f)(x), f(x), atol=1.0)


def test_an_op_that_looks_at_its_data_breaks_the_graph():
    """The rest is compiled, instead of all being run eager at every call."""
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def f(labels):
        return F.one_hot(labels * 2) + 1

    labels = weft.tensor([0, 2, 1])
    compiled = weft.compile(f, backend=backend)
    for _ in range(3):
        assert weft.equal(compiled(labels), f(labels))
    assert len(graphs) == 2


def test_two_equal_results_in_different_layouts():
    x = weft.randn(5, 3)
    a, b = weft.compile(lambda x: (weft.sin(x), weft.sin(x).t()))(x)
    assert a.stride() == (3, 1) and b.stride() == (1, 3) and a.data_ptr() != b.data_ptr()
    assert weft.equal(a, b.t())


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_layout_of_an_elementwise_result(dynamic):
    """That of the first argument of its size, which a guard may say."""

    def f(x, y, column):
        return x + column, column + x, x + y, y + x, weft.where(x > 0, y, 0.0), weft.where(y > 0, x, y)

    args = weft.randn(5, 7).t(), weft.randn(7, 5), weft.randn(7, 1)
    compiled = weft.compile(f, dynamic=dynamic)
    assert [t.stride() for t in compiled(*args)] == [t.stride() for t in f(*args)]


def test_reciprocals_of_an_epilogue():
    """Vectors and what is left of a row are separate code: neither names a value of the other."""

    def f(x, w, b):
        return ((x @ w) / (b + 2.0), weft.tanh(x @ w) / b.abs().sum())

    args = weft.randn(9, 5), weft.randn(5, 21), weft.randn(())
    for got, want in zip(weft.compile(f)(*args), f(*args)):
        assert weft.allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_graph_goes_on_behind_a_loss_that_looks_at_values():
    graphs = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    def f(x, v):
        loss = F.gaussian_nll_loss(x, x * 2, v)
        return loss.exp() + x

    x, v = weft.rand(3, 4), weft.rand(3, 4)
    compiled = weft.compile(f, backend=backend)
    assert weft.allclose(compiled(x, v), f(x, v)) and len(graphs) == 1
    compiled = weft.compile(f, fullgraph=True)
    assert weft.allclose(compiled(x, v), f(x, v))
    with pytest.raises(ValueError, match="var has negative entry/entries"):
        compiled(x, -v)
    assert weft.vmap(lambda x: F.gaussian_nll_loss(x, x * 2, x))(x).shape == (3,)


def test_what_is_replayed_still_looks_at_values():
    x = weft.rand(3, 4)
    for _ in range(12):  # after a few calls of a kind eager replays what they come to
        F.gaussian_nll_loss(x, x, x)
    with pytest.raises(ValueError, match="var has negative entry/entries"):
        F.gaussian_nll_loss(x, x, -x - 1)
