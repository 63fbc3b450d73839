"""Halves that are gated by others: values and derivatives are those of a product with a sigmoid, to the bit."""

import pytest

import weft


def gated(x, dim):
    a, b = x.chunk(2, dim)
    return a * b.sigmoid()


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16, weft.float16], ids=str)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sizes, dim", [((4, 6), 1), ((4, 6), 0), ((3, 4, 5), -2), ((2, 4100), 1), ((2, 0), 1), ((8,), 0)], ids=str)
def test_glu(sizes, dim, turned, dtype):
    weft.manual_seed(0)
    x = weft.randn(sizes, dtype=dtype)
    x = (x.t().contiguous().t() if turned and x.ndim == 2 else x).requires_grad_()
    wide = x.detach().float() if dtype.itemsize == 2 else x.detach().clone()
    wide.requires_grad_()
    for _ in range(4):
        found = weft.nn.functional.glu(x, dim)
    expected = gated(wide, dim)
    assert weft.equal(found, expected.to(dtype))
    g = weft.randn(found.shape).to(dtype)
    (slope,) = weft.autograd.grad(found, x, g)
    (wanted,) = weft.autograd.grad(expected, wide, g.to(wide.dtype))
    assert weft.equal(slope, wanted.to(dtype))


def test_glu_twice_differentiated_mapped_and_compiled():
    x = weft.randn(3, 4, dtype=weft.float64, requires_grad=True)
    glu = weft.nn.functional.glu
    assert weft.autograd.gradcheck(glu, (x,)) and weft.autograd.gradgradcheck(glu, (x,))
    plain = x.detach()
    assert weft.equal(weft.func.vmap(glu)(plain), glu(plain))
    _, tangent = weft.func.jvp(glu, (plain,), (plain,))
    assert weft.allclose(tangent, weft.func.jvp(lambda x: gated(x, 1), (plain,), (plain,))[1])
    assert weft.allclose(weft.compile(glu)(plain), glu(plain))
    for exact in (False, True):
        compiled = weft.compile(glu, options={"exact": exact})
        (found,) = weft.autograd.grad(compiled(x).sum(), x)
        (expected,) = weft.autograd.grad(glu(x).sum(), x)
        assert weft.equal(found, expected) if exact else weft.allclose(found, expected)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16], ids=str)
def test_halves_lie_as_what_they_are_halves_of(dtype):
    x = weft.zeros(4, 5, 6, 8, dtype=dtype).to(memory_format=weft.channels_last)
    glu = lambda x: weft.nn.functional.glu(x, 0)
    for f in (glu, weft.compile(glu, fullgraph=True)):
        assert f(x).stride() == (240, 1, 40, 5)
        assert f(x[:, :, 0, :].transpose(1, 2)).stride() == (40, 5, 1)
