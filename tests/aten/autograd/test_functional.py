"""autograd.functional and forward_ad."""

import pytest

import aten
import weft
from aten.autograd import forward_ad, functional


def close(a, b, tolerance=1e-5):
    assert tuple(a.shape) == tuple(b.shape)
    assert (a - b).abs().max().item() < tolerance


W = aten.randn([6, 4])
f = lambda v: (W @ v).tanh()
scalar = lambda x: (x * x).sin().sum()


def test_products():
    v = aten.randn([4])
    expected = (1 - f(v) ** 2).unsqueeze(1) * W
    weights, direction = aten.randn([6]), aten.randn([4])
    y, g = functional.vjp(f, v, weights)
    close(y, f(v))
    close(g, weights @ expected)
    y, t = functional.jvp(f, v, direction)
    close(t, expected @ direction)
    assert not t.requires_grad
    (y,), (a, b) = functional.vjp(lambda x, y: (x * y,), (v, v + 1), (direction,))
    close(a, direction * (v + 1))
    close(b, direction * v)


@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian_and_hessian(vectorize):
    v = aten.randn([4])
    close(functional.jacobian(f, v, vectorize=vectorize), (1 - f(v) ** 2).unsqueeze(1) * W)
    second = aten.diag(2 * (v * v).cos() - 4 * v * v * (v * v).sin())
    close(functional.hessian(scalar, v, vectorize=vectorize), second)
    blocks = functional.hessian(lambda x, y: (x * y).sum(), (v, v), vectorize=vectorize)
    close(blocks[0][1], aten.eye(4))
    close(blocks[0][0], aten.zeros([4, 4]))
    y, product = functional.hvp(scalar, v, v)
    close(product, second @ v)


def test_create_graph():
    v = aten.randn([4]).requires_grad_()
    functional.jacobian(lambda x: x**3, v, create_graph=True).sum().backward()
    close(v.grad, 6 * v.detach())


def test_strict():
    with pytest.raises(RuntimeError, match="independent of input 1"):
        functional.vjp(lambda x, y: x.sum(), (aten.ones([2]), aten.ones([2])), strict=True)


def test_dual_tensors():
    x, t = aten.randn([3]), aten.randn([3])
    with forward_ad.dual_level():
        out = forward_ad.unpack_dual(scalar(forward_ad.make_dual(x, t)))
        plain = forward_ad.unpack_dual(x * 2)
    close(out.primal, scalar(x))
    close(out.tangent, (2 * x * (x * x).cos() * t).sum())
    assert plain.tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        forward_ad.make_dual(x, t)


def test_names():
    assert weft.autograd.functional is functional and weft.vmap is weft.func.vmap
    out, push = weft.func.linearize(scalar, aten.ones([2]))
    close(push(aten.ones([2])), weft.func.grad(scalar)(aten.ones([2])).sum())
    assert weft.utils.checkpoint.checkpoint is not None


def test_vectors_are_nested_as_what_they_belong_to():
    x, v = weft.ones(3), weft.ones(3)
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        functional.jvp(weft.sin, x, (v, v))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        functional.jvp(lambda a, b: a + b, (x, x), v)
