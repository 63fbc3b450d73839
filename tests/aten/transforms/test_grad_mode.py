"""Transforms that differentiate do not ask the caller's grad mode; a no_grad inside of what they differentiate holds."""

import pytest

from weft import enable_grad, func, no_grad, tensor, vmap

X = [1.0, 2.0, 3.0]
PROGRAMS = {
    "grad": (lambda x: func.grad(lambda x: (x**2).sum())(x), [2, 4, 6]),
    "value_and_grad": (lambda x: func.grad_and_value(lambda x: (x**2).sum())(x)[0], [2, 4, 6]),
    "vjp": (lambda x: func.vjp(lambda x: x**2, x)[1](x)[0], [2, 8, 18]),
    "jvp": (lambda x: func.jvp(lambda x: x**3, (x,), (x,))[1], [3, 24, 81]),
    "jvp by transposition": (lambda x: func.jvp(lambda x: x.cumprod(0), (x,), (x,))[1], [1, 4, 18]),
    "jacrev": (lambda x: func.jacrev(lambda x: x**2)(x), [[2, 0, 0], [0, 4, 0], [0, 0, 6]]),
    "jacfwd": (lambda x: func.jacfwd(lambda x: x**2)(x), [[2, 0, 0], [0, 4, 0], [0, 0, 6]]),
    "hessian": (lambda x: func.hessian(lambda x: (x**3).sum())(x), [[6, 0, 0], [0, 12, 0], [0, 0, 18]]),
    "for each sample": (lambda x: vmap(func.grad(lambda x: x**2))(x), [2, 4, 6]),
    "twice": (lambda x: vmap(func.grad(func.grad(lambda x: x**3)))(x), [6, 12, 18]),
    "through a write": (lambda x: func.grad(lambda x: (x * 1).mul_(x).sum())(x), [2, 4, 6]),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("mode", [no_grad, enable_grad])
def test_the_callers_mode_makes_no_difference(name, mode):
    program, expected = PROGRAMS[name]
    with mode():
        assert program(tensor(X)).tolist() == expected


def half_constant(x):
    with no_grad():
        y = x**2
    return (y * x).sum()


@pytest.mark.parametrize("mode", [no_grad, enable_grad])
def test_no_grad_inside_holds_for_every_level(mode):
    with mode():
        assert func.grad(half_constant)(tensor(X)).tolist() == [1, 4, 9]
        twice = func.grad(lambda x: func.grad(half_constant)(x).sum())
        assert twice(tensor(X)).tolist() == [0, 0, 0]  # the inner gradient is y, a constant


def test_under_no_grad_the_tensors_of_the_caller_get_no_history():
    w = tensor(2.0, requires_grad=True)
    x = tensor(X)
    with no_grad():
        assert not func.grad(lambda x: (w * x).sum())(x).requires_grad
        assert not func.vjp(lambda x: x * w, x)[0].requires_grad
    assert func.grad(lambda x: (w * x).sum())(x).requires_grad
    assert func.vjp(lambda x: x * w, x)[0].requires_grad
