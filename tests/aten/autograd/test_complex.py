"""Derivatives of ops on complex numbers: reverse mode, its own derivative, and forward mode, against differences."""

import numpy as np
import pytest

import aten
from aten import autograd
from aten.tensor import from_numpy
from aten.transforms import jvp

UNARY = """neg abs reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh
atanh square sgn angle conj real imag sinc cumsum sum mean var std norm view_as_real tanhshrink diff""".split()
BINARY = "add sub mul div pow dot vdot outer ldexp float_power logaddexp dist true_divide rsub".split()
FORMS = {
    "pow_integer": lambda x: x**3,
    "pow_complex": lambda x: x ** (1 + 2j),
    "power_of_a_number": lambda x: 2.0**x,
    "power_of_a_complex_number": lambda x: (1 + 1j) ** x,
    "addcmul": lambda x, y: aten.addcmul(x, y, x, value=2 - 1j),
    "addcdiv": lambda x, y: aten.addcdiv(x, y, x, value=2 - 1j),
    "lerp": lambda x, y: aten.lerp(x, y, 0.3),
    "masked_fill": lambda x: x.masked_fill(x.real > 0, 1j),
    "polar": lambda x: aten.polar(x.abs(), x.angle()),
    "where": lambda x, y: aten.where(x.real > 0, x, y),
    "adjoint": lambda x: x.reshape(3, 1).mH @ x.reshape(3, 1),
    "matrix_adjoint": lambda x: x.reshape(1, 3).H,
}
_generator = np.random.default_rng(0)


def numbers(*sizes):
    return from_numpy(_generator.uniform(0.2, 1.2, sizes) + 1j * _generator.uniform(-0.9, 0.9, sizes))


def check(f, *inputs, second=True):
    inputs = tuple(x.requires_grad_() for x in inputs)
    assert autograd.gradcheck(f, inputs)
    if second:
        assert autograd.gradgradcheck(f, inputs)
    tangents = tuple(numbers(*x.shape) for x in inputs)
    _, tangent = jvp(f, tuple(x.detach() for x in inputs), tangents)
    eps = 1e-6
    with autograd.no_grad():
        ahead, behind = (f(*[x + s * eps * t for x, t in zip(inputs, tangents)]) for s in (1, -1))
    expected = (ahead - behind) / (2 * eps)
    assert tangent.dtype is expected.dtype
    np.testing.assert_allclose(tangent.numpy(), expected.numpy(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", UNARY + BINARY)
def test_an_op(name):
    f = getattr(aten, name, None) or aten.registry[name]
    along = {"cumsum": (0,)}.get(name, ())
    if name in BINARY:
        check(f, numbers(3), numbers(3))
    else:
        check(lambda x: f(x, *along), numbers(3))


@pytest.mark.parametrize("name", FORMS)
def test_a_form(name):
    f = FORMS[name]
    check(f, *[numbers(3) for _ in range(f.__code__.co_argcount)])


def test_the_gradient_of_a_square_is_conjugate():
    """PyTorch: d Re(z*z) for z = 1+2j is 2 - 4j."""
    z = from_numpy(np.array(1 + 2j)).requires_grad_()
    (z**2).real.backward()
    assert z.grad.item() == 2 - 4j


def test_sizes_are_real():
    _, tangent = jvp(lambda z: z.abs(), (numbers(2),), (numbers(2),))
    assert tangent.dtype is aten.float64
