"""Images and sequences resized: weighed sums of few elements, their derivatives, and what compiled code makes of them."""

import numpy as np
import pytest

import weft

F = weft.nn.functional
MODES = {"linear": (2, 3, 7), "bilinear": (2, 3, 7, 5), "bicubic": (2, 2, 6, 5), "trilinear": (1, 2, 3, 4, 5)}
FACTORS = (0.4, 1, 1.7, 2, 3.3)


def image(*sizes, dtype=weft.float64, requires_grad=True):
    return weft.randn(*sizes, dtype=dtype).requires_grad_(requires_grad)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_derivatives(mode, align, factor):
    resize = lambda x: F.interpolate(x, scale_factor=factor, mode=mode, align_corners=align)
    x = image(*MODES[mode])
    assert weft.autograd.gradcheck(resize, x, check_forward_ad=True, check_batched_grad=True)
    assert weft.autograd.gradgradcheck(resize, x)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 2), (7, 9), (1, 1), (20, 2)])
def test_derivatives_of_wide_filters(mode, size):
    assert weft.autograd.gradcheck(lambda x: F.interpolate(x, size=size, mode=mode, antialias=True), image(1, 2, 9, 7))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_compiled_is_eager_bit_for_bit(mode, dynamic):
    resize = lambda x: F.interpolate(x * 2, scale_factor=1.5, mode=mode) + 1
    weft._dynamo.reset()
    compiled = weft.compile(resize, dynamic=dynamic, fullgraph=True, options={"exact": True})
    for more in (0, 1, 4):
        x = image(*(s + more for s in MODES[mode]), dtype=weft.float32)
        y = resize(x)
        g = weft.randn_like(y)
        assert weft.equal(compiled(x), y)
        assert weft.equal(weft.autograd.grad(compiled(x), x, g)[0], weft.autograd.grad(y, x, g)[0])


def test_what_is_far_counts_for_nothing():
    """An infinite pixel, which times zero is no number, shows where it is looked at."""
    x = weft.zeros(1, 1, 6, 6)
    x[0, 0, 0, 0] = weft.inf
    y = F.interpolate(x, scale_factor=2, mode="bilinear")
    assert y[0, 0, 3:].isfinite().all() and y[0, 0, :, 3:].isfinite().all() and not y[0, 0, 0, 0].isfinite()


@pytest.mark.parametrize("layout", ["channels_last", "expanded", "turned"])
def test_layouts(layout):
    x = weft.randn(2, 3, 5, 4)
    y = {
        "channels_last": lambda: x.to(memory_format=weft.channels_last),
        "turned": lambda: x.mT.contiguous().mT,
        "expanded": lambda: x[:, :1].expand(2, 3, 5, 4),
    }[layout]()
    for mode in ("bilinear", "bicubic"):
        weft.testing.assert_close(F.interpolate(y, size=(9, 3), mode=mode), F.interpolate(y.contiguous(), size=(9, 3), mode=mode))


def test_one_element_of_aligned_corners_is_the_first():
    """Recorded with PyTorch 2.13."""
    x = weft.arange(35.0).reshape(1, 1, 7, 5)
    wide = F.interpolate(x, size=(7, 1), mode="bilinear", align_corners=True, antialias=True)
    assert wide.flatten().tolist() == [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0]


def test_halves_and_bytes():
    """Recorded with PyTorch 2.13."""
    x = weft.arange(12).reshape(1, 1, 3, 4) * 20
    for dtype in (weft.float16, weft.bfloat16):
        y = F.interpolate(x.to(dtype), size=(2, 3), mode="bilinear")
        assert y.dtype is dtype and y.float().flatten().tolist() == pytest.approx([23.33, 50, 76.67, 143.33, 170, 196.67], rel=8e-3)
    assert F.interpolate(x.to(weft.uint8), size=(2, 3), mode="bilinear").flatten().tolist() == [23, 50, 77, 143, 170, 197]


def test_nothing_is_saved():
    """A derivative that is known by sizes alone can be asked for again."""
    x = image(1, 2, 4, 4)
    y = F.interpolate(x, scale_factor=2, mode="bicubic")
    y.backward(weft.ones_like(y))
    y.backward(weft.ones_like(y))
    weft.testing.assert_close(x.grad.sum(), weft.tensor(256.0, dtype=weft.float64))


@pytest.mark.parametrize("sizes, how", [((2, 3, 5, 4), {"scale_factor": 2}), ((1, 2, 3, 5, 4), {"size": (2, 7, 9)})])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_rows_and_columns_are_repeated_by_one_kernel(mode, sizes, how):
    x = weft.from_numpy(np.random.default_rng(0).standard_normal(sizes)).requires_grad_()
    out = weft.nn.functional.interpolate(x, mode=mode, **how)
    places = [
        [int(np.floor((i + (0.5 if mode == "nearest-exact" else 0)) * s / o)) for i in range(o)]
        for s, o in zip(sizes[2:], out.shape[2:])
    ]
    expected = x[
        (
            slice(None),
            slice(None),
            *(weft.tensor(p).reshape([-1 if d == k else 1 for d in range(len(places))]) for k, p in enumerate(places)),
        )
    ]
    weft.testing.assert_close(out, expected)
    g = weft.from_numpy(np.random.default_rng(1).standard_normal(tuple(out.shape))).requires_grad_()
    found, wanted = (weft.autograd.grad(o, x, g, create_graph=True)[0] for o in (out, expected))
    weft.testing.assert_close(found, wanted)
    weft.testing.assert_close(*(weft.autograd.grad((d * d.detach().cos()).sum(), g)[0] for d in (found, wanted)))
    weft.testing.assert_close(weft.compile(lambda x: weft.nn.functional.interpolate(x, mode=mode, **how))(x), out)


def test_the_same_sizes_are_told_by_sizes_whatever_the_scale():
    """But for neighbours in sequences and volumes, which go by the scale."""
    for n, mode in ((1, "linear"), (2, "bilinear"), (3, "trilinear"), (2, "nearest")):
        x = weft.arange(2.0 * 3**n).reshape(1, 2, *[3] * n).requires_grad_()
        resize = lambda x, mode=mode: F.interpolate(x, scale_factor=1.3, mode=mode)
        for run in (resize, weft.compile(resize)):
            assert weft.equal(run(x), x)
            assert weft.equal(weft.autograd.grad(run(x), x, x.detach())[0], x)
    assert F.interpolate(weft.arange(3.0).reshape(1, 1, 3), scale_factor=1.3).flatten().tolist() == [0, 0, 1]
    assert F.interpolate(weft.arange(3.0).reshape(1, 1, 3), scale_factor=2.2).flatten().tolist() == [0, 0, 0, 1, 1, 2]
    assert F.interpolate(weft.arange(3.0).expand(1, 1, 3, 3, 3), scale_factor=1.3)[0, 0, 1, 1].tolist() == [0, 0, 1]
