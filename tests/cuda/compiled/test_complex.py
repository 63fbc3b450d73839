"""Complex numbers on a device are computed there, as pairs of floats: eager, compiled and gradients as on the CPU."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import weft

F = weft.nn.functional


@pytest.fixture(autouse=True)
def nothing_by_the_host():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def numbers(*sizes, seed=0):
    made = np.random.default_rng(seed).normal(size=(2, *sizes)).astype("f4")
    return weft.from_numpy(made[0] + 1j * made[1])


def written(a, at, value):
    a = a.clone()
    a[at] = value
    return a


PROGRAMS = {
    "add": lambda a, b, m, r: a + b * 2 - 3j,
    "mul": lambda a, b, m, r: a * b * (1 + 2j),
    "of a real one": lambda a, b, m, r: a * r + r * 2j,
    "div": lambda a, b, m, r: a / b + a / 3,
    "quotient of a number": lambda a, b, m, r: 2 / a,
    "conj": lambda a, b, m, r: -a.conj(),
    "abs": lambda a, b, m, r: a.abs() + a.angle(),
    "parts": lambda a, b, m, r: a.real + a.imag * 2,
    "exp": lambda a, b, m, r: a.exp().log().sqrt(),
    "sin": lambda a, b, m, r: a.sin() + a.cos() * a.tan(),
    "sinh": lambda a, b, m, r: a.sinh() + a.cosh() + (a * 9).tanh(),
    "pow": lambda a, b, m, r: a**2 + a**-1 + a**0.5,
    "compare": lambda a, b, m, r: (a == b) | (a != a.flip(0)),
    "where": lambda a, b, m, r: weft.where(r > 0, a, b).masked_fill(r > 1, 2 + 1j),
    "sum": lambda a, b, m, r: a.sum(0) + a.mean(),
    "cumsum": lambda a, b, m, r: a.cumsum(1),
    "product": lambda a, b, m, r: a @ m,
    "batched product": lambda a, b, m, r: a[None] @ m[None],
    "linear": lambda a, b, m, r: F.linear(a, b, b[:, 0]),
    "vdot": lambda a, b, m, r: weft.vdot(a[0], b[0]) + weft.dot(a[1], b[1]),
    "moved": lambda a, b, m, r: weft.cat([a, b.t().contiguous().t()], 1).roll(1, 0).tril(),
    "indexed": lambda a, b, m, r: a[[0, 2]].index_select(1, weft.tensor([1, 0], device=a.device)),
    "padded": lambda a, b, m, r: F.pad(a, (1, 1)).t().clone(),
    "cast": lambda a, b, m, r: r.to(weft.complex64) + a.to(weft.complex128),
    "made": lambda a, b, m, r: weft.polar(r.abs(), r) + weft.complex(r, r) + weft.full_like(a, 1 + 2j),
    "written": lambda a, b, m, r: written(written(a, slice(0, 2), 3j), (slice(None), 0), b[:, 1]).mul_(b),
    "out": lambda a, b, m, r: weft.mul(a.detach(), b, out=weft.zeros(5, 4, dtype=a.dtype, device=a.device).t()),
    "sigmoid": lambda a, b, m, r: a.sigmoid() + F.silu(b),
    "product of all": lambda a, b, m, r: a.prod() + b.prod(1, keepdim=True) + a[:, :0].prod(),
    "running products": lambda a, b, m, r: a.cumprod(1) + b.cumprod(0),
    "sgn": lambda a, b, m, r: a.sgn(),
}


def parts(x):
    return np.asarray(x.detach().cpu().numpy())


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_on_the_cpu(device, name):
    f, args = PROGRAMS[name], (numbers(4, 5), numbers(4, 5, seed=1), numbers(5, 3, seed=2), numbers(4, 5, seed=3).real.clone())

    def run(function, where):
        own = [x.detach().clone().to(where) for x in args]
        out = function(own[0].requires_grad_(), *own[1:])
        if out.requires_grad:
            out.abs().sum().backward()
        return out.detach(), own[0].grad

    want, grad = run(f, "cpu")
    weft._dynamo.reset()
    for function in (f, weft.compile(f, fullgraph=True)):
        got, its = run(function, device)
        assert got.device.type == "cuda" and got.dtype is want.dtype and got.shape == want.shape and got.stride() == want.stride()
        np.testing.assert_allclose(parts(got), parts(want), rtol=1e-4, atol=1e-5)
        assert (its is None) == (grad is None)
        if grad is not None:
            np.testing.assert_allclose(parts(its), parts(grad), rtol=1e-3, atol=1e-4)


def test_extremes_neither_overflow_nor_vanish(device):
    x = weft.tensor([1e30 + 1e30j, 1e-30 + 1e-30j, 0j, -4 + 0j, 300 + 1j])
    y = weft.tensor([1e30 - 1e30j, 1e-30j, 2 + 0j, 1j, 1e-3 + 300j])
    for f in (lambda x, y: x / y, lambda x, y: x.abs(), lambda x, y: x.sqrt(), lambda x, y: x.tanh()):
        np.testing.assert_allclose(parts(f(x.to(device), y.to(device))), parts(f(x, y)), rtol=1e-5)


def test_one_kernel_an_op(sim, device):
    from aten import _cuda

    a, b = numbers(4, 5).to(device), numbers(4, 5, seed=1).to(device)
    assert (a * b).is_cuda
    before = _cuda.counts()["launches"]
    made = a * b
    assert _cuda.counts()["launches"] == before + 1
    assert made.is_cuda
