"""The gradient of running products, with zeros and without, of few elements and of many."""

import pytest

import weft


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def product_rule(x, g, dim):
    """The sum over later places of g times the product up to there with one element left out."""
    x, g = x.movedim(dim, -1).double(), g.movedim(dim, -1).double()
    out = weft.zeros_like(x)
    for i in range(x.shape[-1]):
        rest = x.clone()
        rest[..., i] = 1
        out[..., i] = (weft.cumprod(rest, -1) * g)[..., i:].sum(-1)
    return out.movedim(-1, dim)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
@pytest.mark.parametrize("zeros", [(), ((0, 0, 0),), ((1, 3, 2), (1, 5, 2), (0, 3, 2))])
@pytest.mark.parametrize("shape, dim", [((3, 7, 5), 1), ((40, 80, 9), 0), ((80, 9, 40), -1)])
def test_gradients(shape, dim, zeros, dtype):
    x = weft.rand(shape).add(0.5).to(dtype)
    for place in zeros:
        x[place] = 0
    x.requires_grad_()
    g = weft.randn(shape).to(dtype)
    want = product_rule(x.detach(), g, dim)
    f = lambda x: weft.cumprod(x, dim)
    for c in (f, weft.compile(f)):
        (got,) = weft.autograd.grad(c(x), x, g)
        assert got.dtype is dtype
        scale = want.abs().max().item()
        weft.testing.assert_close(got.double(), want, rtol=0, atol=scale * (5e-2 if dtype is weft.bfloat16 else 1e-4))
    eager, compiled = (weft.autograd.grad(c(x), x, g)[0] for c in (f, weft.compile(f, options={"exact": True})))
    assert weft.equal(eager, compiled)


def test_a_compiled_gradient_looks_for_zeros_as_eager_does():
    x = (weft.rand(200, 100) + 0.5).requires_grad_()
    f = lambda x: weft.cumprod(x, 1)
    eager, compiled = (weft.autograd.grad(c(x), x, weft.ones(200, 100))[0] for c in (f, weft.compile(f)))
    assert weft.equal(eager, compiled)
