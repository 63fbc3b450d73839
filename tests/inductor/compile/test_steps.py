"""What one op cannot do costs that op a step, never the whole function: complex numbers, unknown errors of a lowering."""

from __future__ import annotations

import warnings

import pytest

import inductor
import weft
from aten import errors, settings
from inductor.lowering.registry import table
from tests.inductor.agree import agree

z = weft.complex(weft.randn(4, 4), weft.randn(4, 4))


def mutates(z):
    z.add_(1)
    return z * 2


def mutates_a_view(z):
    z[1:].mul_(2)
    return z.sum()


@pytest.mark.parametrize(
    "f",
    [
        lambda z: (z * z + z.t()).sum(0),
        lambda z: (z @ z).t(),
        lambda z: (z.t().reshape(-1), z[1:, ::2] * 2, z.flip(0), z.permute(1, 0)[1]),
        lambda z: (z.t().contiguous(), z.unsqueeze(1).expand(4, 3, 4) + 0, weft.cat([z, z.t()], 1), z.roll(1, 0)),
        lambda z: (z.abs().sin() * 2, weft.where(z.abs() > 1, z, 0)),
        lambda z: z + weft.full((4, 4), 1j) - weft.zeros(4, 4, dtype=weft.complex64),
        lambda z: (z, z.t(), z, z.conj() * 2j),
        mutates,
        mutates_a_view,
    ],
)
def test_complex_numbers(f):
    agree(f, z, tolerance=1e-5)


def test_what_stands_around_complex_numbers_becomes_kernels():
    x = weft.randn(5, 16)
    agree(lambda x: weft.fft.irfft(weft.fft.rfft(x.sin() + 1) * 2) + x.cos(), x, tolerance=1e-4)
    assert inductor.counters["kernels"] == 2
    agree(lambda x: weft.fft.rfft(x).abs() + 1, x, tolerance=1e-4)


def test_gradients_through_complex_numbers():
    x = weft.randn(8).requires_grad_()
    f = lambda x: weft.fft.rfft(x * 2).abs().sum()
    (want,) = weft.autograd.grad(f(x), x)
    (got,) = weft.autograd.grad(weft.compile(f, fullgraph=True)(x), x)
    assert weft.allclose(got, want, atol=1e-5)


def test_an_unknown_error_in_a_lowering_costs_a_step(monkeypatch):
    def broken(graph, *args):
        raise KeyError("a bug in one lowering")

    monkeypatch.setitem(table, "sinh", broken)
    f, x = lambda x: (x * 2).sinh() + 1, weft.randn(7)
    errors.forget_warnings()
    with settings.patch(strict=False, cache=False), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        inductor.counters.clear()
        weft._dynamo.reset()
        assert weft.allclose(weft.compile(f)(x), f(x))
    assert inductor.counters["kernels"] == 2 and inductor.counters["compiles"] == 1
    assert any("a bug in one lowering" in str(w.message) for w in told)
    weft._dynamo.reset()
    with settings.patch(strict=True, cache=False), pytest.raises(KeyError, match="a bug in one lowering"):
        weft.compile(f)(x)
