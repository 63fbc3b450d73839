"""Padding by reflection, repetition and wrapping round, against NumPy, forward and backward."""

import math

import numpy as np
import pytest

import weft

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("pad", [(0, 0), (1, 2), (3, 0), (0, 3), (2, 1, 0, 2), (1, 1, 2, 2)])
@pytest.mark.parametrize("mode", MODES)
def test_pad(mode, pad, dynamic):
    weft.compiler.reset()
    a = np.arange(60.0, dtype="f4").reshape((3, 4, 5) if len(pad) == 2 else (1, 3, 4, 5))
    widths = [(0, 0)] * (a.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in reversed(range(0, len(pad), 2))]
    expected, places = np.pad(a, widths, MODES[mode]), np.pad(np.arange(60).reshape(a.shape), widths, MODES[mode])
    plain = lambda x: weft.nn.functional.pad(x, pad, mode)
    for f in (plain, weft.compile(plain, fullgraph=True, dynamic=dynamic)):
        x = weft.from_numpy(a).requires_grad_()
        y = f(x)
        np.testing.assert_array_equal(y.detach().numpy(), expected)
        g = np.random.default_rng(0).normal(size=expected.shape).astype("f4")
        y.backward(weft.from_numpy(g))
        np.testing.assert_allclose(x.grad.numpy().ravel(), np.bincount(places.ravel(), g.ravel(), 60), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "dims,count,error",
    [(1, 2, NotImplementedError), (4, 2, NotImplementedError), (5, 4, NotImplementedError), (3, 6, NotImplementedError),
     (3, 0, NotImplementedError), (3, 3, RuntimeError), (2, 6, RuntimeError)],
)  # fmt: skip
def test_sizes_that_do_not_go_with_the_padding_are_refused(mode, dims, count, error):
    with pytest.raises(error):
        weft.nn.functional.pad(weft.ones([3] * dims), [1] * count, mode)


def test_what_is_cut_is_cut_before_anything_is_added():
    for pad in ((-3, 4), (4, -3)):
        with pytest.raises(RuntimeError, match="narrow"):
            weft.nn.functional.pad(weft.zeros(2, 2), pad)
    assert weft.nn.functional.pad(weft.ones(2, 2), (-2, 1)).tolist() == [[0], [0]]


def test_a_value_that_is_nowhere_put_may_be_any():
    x = weft.tensor([1, 2, 3], dtype=weft.int8)
    assert weft.nn.functional.pad(x, (-1, 0), value=math.inf).tolist() == [2, 3]
    with pytest.raises((RuntimeError, OverflowError)):
        weft.nn.functional.pad(x, (1, 0), value=math.inf)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("cut", [(-1, 0), (0, -2), (-1, -1)])
def test_what_is_cut_alone_is_cut_in_a_graph(mode, cut):
    x = weft.arange(12.0).reshape(1, 3, 4).requires_grad_()
    pad = lambda x: weft.nn.functional.pad(x, (*cut, 1, 0), mode)
    weft.compiler.reset()
    found = weft.compile(pad, fullgraph=True)(x)
    first = 1 if mode == "reflect" else 0
    expected = weft.cat([x[:, first : first + 1], x], 1)[..., -cut[0] : 4 + cut[1]]
    assert weft.equal(found, expected)
    assert weft.equal(*(weft.autograd.grad(y.square().sum(), x)[0] for y in (found, expected)))


@pytest.mark.parametrize("compiled", [False, True])
def test_circular_pads_may_be_longer_than_what_a_crop_leaves(compiled):
    """Where PyTorch 2.13 shows memory that nobody wrote (the first of (3, -1) below), what is left goes round once more."""
    weft.compiler.reset()
    function = weft.compile(weft.nn.functional.pad, fullgraph=True) if compiled else weft.nn.functional.pad
    x = weft.arange(6.0).reshape(1, 2, 3).requires_grad_()
    pad = lambda *amounts: function(x, amounts, mode="circular")
    assert pad(-1, 3).tolist() == [[[1, 2, 1, 2, 1], [4, 5, 4, 5, 4]]]
    assert pad(-2, 3).tolist() == [[[2, 2, 2, 2], [5, 5, 5, 5]]]
    y = pad(3, -1)
    assert y.tolist() == [[[1, 0, 1, 0, 1], [4, 3, 4, 3, 4]]]
    (y * weft.arange(1.0, 11.0).reshape(y.shape)).sum().backward()
    assert x.grad.tolist() == [[[6, 9, 0], [16, 24, 0]]]
    for amounts in ((4, -1), (-3, 3)):
        with pytest.raises(RuntimeError, match="wrapping around more than once"):
            pad(*amounts)
