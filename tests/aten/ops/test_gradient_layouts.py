"""Where gradients lie. Expected strides: PyTorch 2.13 on a CPU."""

import pytest

import weft
from weft.nn import functional as F

LAST, LAST_3D = weft.channels_last, weft.channels_last_3d
IMAGES, VOLUMES = ((100, 1, 20, 4), (500, 1, 100, 20, 4))


def image(*sizes, memory_format=weft.contiguous_format):
    return weft.rand(sizes).contiguous(memory_format=memory_format).requires_grad_()


CONVOLUTIONS = {
    "images": (F.conv2d, ((2, 4, 5, 5), LAST), ((3, 4, 3, 3),), IMAGES, (36, 1, 12, 4)),
    "weights": (F.conv2d, ((2, 4, 5, 5),), ((3, 4, 3, 3), LAST), IMAGES, (36, 1, 12, 4)),
    "volumes": (F.conv3d, ((2, 4, 5, 5, 5), LAST_3D), ((3, 4, 3, 3, 3),), VOLUMES, (108, 1, 36, 12, 4)),
    "transposed": (F.conv_transpose2d, ((2, 4, 5, 5), LAST), ((4, 3, 3, 3),), IMAGES, (27, 1, 9, 3)),
    "rows": (F.conv2d, ((2, 4, 5, 5),), ((3, 4, 3, 3),), (100, 25, 5, 1), (36, 9, 3, 1)),
}


def _made(sizes, memory_format=weft.contiguous_format):
    return image(*sizes, memory_format=memory_format)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, compiled):
    weft.compiler.reset()
    convolve, x, w, of_x, of_w = CONVOLUTIONS[name]
    x, w = _made(*x), _made(*w)
    gradients = lambda x, w: weft.autograd.grad(convolve(x, w).sin().sum(), (x, w))
    found = (weft.compile(gradients) if compiled else gradients)(x, w)
    assert [g.stride() for g in found] == [of_x, of_w]
    expected = weft.autograd.grad(convolve(x.contiguous(), w.contiguous()).sin().sum(), (x, w))
    assert all(weft.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(found, expected))


LINEARS = {
    "rows": (lambda: (weft.rand(3, 4), weft.rand(5, 4)), [(4, 1), (4, 1), (1,)]),
    "a transposed input": (lambda: (weft.rand(4, 3).t(), weft.rand(5, 4)), [(1, 3), (4, 1), (1,)]),
    "a transposed weight": (lambda: (weft.rand(3, 4), weft.rand(4, 5).t()), [(4, 1), (1, 5), (1,)]),
    "batches": (lambda: (weft.rand(4, 2, 3).permute(1, 2, 0), weft.rand(4, 5).t()), [(3, 1, 6), (1, 5), (1,)]),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LINEARS)
def test_linear(name, compiled):
    weft.compiler.reset()
    make, strides = LINEARS[name]
    x, w = (t.requires_grad_() for t in make())
    b = weft.rand(5, requires_grad=True)
    factor = weft.rand(*x.shape[:-1], 5)
    gradients = lambda x, w, b: weft.autograd.grad((F.linear(x, w, b) * factor).sum(), (x, w, b))
    found = (weft.compile(gradients) if compiled else gradients)(x, w, b)
    assert [g.stride() for g in found] == strides
    flat = factor.flatten(0, -2)
    for g, expected in zip(found, ((factor @ w), flat.t() @ x.flatten(0, -2), flat.sum(0))):
        assert weft.allclose(g, expected, rtol=1e-4, atol=1e-5)
