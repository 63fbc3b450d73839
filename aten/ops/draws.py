"""Numbers of discrete and gamma distributions, drawn by NumPy's generators from a seed and counter of the Philox stream."""

from typing import Any

import numpy as np

from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.random import reserve
from aten.scalar.unpatched import math
from aten.shapes import broadcast, product


def _generator(seed: int, offset: int) -> "np.random.Generator":  # (NumPy imports its random numbers on first use)
    return np.random.Generator(np.random.Philox(key=[seed % 2**64, offset % 2**64]))


@op("poisson_philox(Tensor input, int seed, int offset) -> Tensor", tags=["random", "function_only", "hidden", "constant"])
def poisson_philox(input: Meta, seed: Any, offset: Any) -> Meta:
    """For each rate a number of Poisson's distribution."""
    return input.like(sizes=input.sizes)


@poisson_philox.kernel
def _(out, rate, seed, offset):
    if (rate < 0).any():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    out[...] = _generator(seed, offset).poisson(rate.astype(np.float64))


poisson_philox.vjp(lambda g: ops.zeros_like(g))


@composite("poisson(Tensor input, Generator? generator=None) -> Tensor", tags=["function_only", "random"])
def poisson(input, generator):
    """For each rate (not negative) a number of Poisson's distribution, in the dtype of the rates. Its gradient is zero."""
    seed, offset = reserve(product(input.shape), generator)
    return poisson_philox(input, seed, offset)


@op(
    "binomial_philox(Tensor count, Tensor prob, int seed, int offset) -> Tensor",
    tags=["random", "function_only", "hidden", "constant"],
)
def binomial_philox(count: Meta, prob: Meta, seed: Any, offset: Any) -> Meta:
    """For each count and probability the number of successes."""
    return prob.like(sizes=broadcast(count.sizes, prob.sizes))


@binomial_philox.kernel
def _(out, count, prob, seed, offset):
    chance = np.nan_to_num(prob.astype(np.float64)).clip(0, 1)
    drawn = _generator(seed, offset).binomial(count.astype(np.float64).clip(0).astype(np.int64), chance)
    out[...] = np.where(np.isnan(prob.astype(np.float64)), np.nan, drawn)


binomial_philox.vjp(lambda g, count, prob: (ops.zeros_like(count), ops.zeros_like(prob)))


@composite("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", tags=["function_only", "random"])
def binomial(count, prob, generator):
    """For each count and probability the number of successes, in their dtype. Its gradient is zero."""
    if count.dtype is not prob.dtype:
        raise RuntimeError("Found dtype " + repr(prob.dtype) + " but expected " + repr(count.dtype))
    seed, offset = reserve(product(broadcast(count.shape, prob.shape)), generator)
    return binomial_philox(count, prob, seed, offset)


@op("standard_gamma_philox(Tensor input, int seed, int offset) -> Tensor", tags=["random", "function_only", "hidden"])
def standard_gamma_philox(input: Meta, seed: Any, offset: Any) -> Meta:
    """For each concentration a number of the gamma distribution of rate 1."""
    return input.like(sizes=input.sizes)


@standard_gamma_philox.kernel
def _(out, alpha, seed, offset):
    a = alpha.astype(np.float64)
    drawn = _generator(seed, offset).standard_gamma(np.where(a > 0, a, 1))
    drawn = np.maximum(drawn, float(np.finfo(out.dtype).tiny) if out.dtype.kind == "f" else 1e-38)
    out[...] = np.where(a > 0, drawn, np.nan)


@op("standard_gamma_grad(Tensor input, Tensor output) -> Tensor", tags=["function_only", "hidden"])
def standard_gamma_grad(input: Meta, output: Meta) -> Meta:
    """The derivative of a drawn gamma number by its concentration: minus that of the distribution function by the concentration
    over the density (implicit reparameterisation; Figurnov et al. 2018)."""
    return output.like(sizes=output.sizes)


def _lower(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The regularised lower incomplete gamma function over x^a exp(-x) / gamma(a + 1): a series where x < a + 1."""
    term = np.ones_like(x)
    total = np.ones_like(x)
    for k in range(1, 2000):
        term = term * x / (a + k)
        total = total + term
        if np.all(term < 1e-17 * total):
            break
    return total


_lgamma = np.vectorize(math.lgamma, otypes=[float])


def _distribution(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Regularised lower incomplete gamma function, in double precision."""
    front = np.exp(a * np.log(x) - x - _lgamma(a + 1))
    return front * _lower(a, x)


@standard_gamma_grad.kernel
def _(out, alpha, drawn):
    a, x = np.broadcast_arrays(alpha.astype(np.float64), drawn.astype(np.float64))
    h = 1e-4 * a
    # Richardson: the error is of order h^4
    near = (_distribution(a + h, x) - _distribution(a - h, x)) / (2 * h)
    wide = (_distribution(a + 2 * h, x) - _distribution(a - 2 * h, x)) / (4 * h)
    by_alpha = (4 * near - wide) / 3
    density = np.exp((a - 1) * np.log(x) - x - _lgamma(a))
    out[...] = -by_alpha / density


standard_gamma_philox.vjp(lambda g, input, out: g * standard_gamma_grad(input, out.detach()))


@composite("_standard_gamma(Tensor input, Generator? generator=None) -> Tensor", tags=["function_only", "random"])
def standard_gamma(input, generator):
    """For each concentration a number of the gamma distribution of rate 1; differentiable by the concentration."""
    seed, offset = reserve(product(input.shape), generator)
    return standard_gamma_philox(input, seed, offset)


@composite("_sample_dirichlet(Tensor input, Generator? generator=None) -> Tensor", tags=["function_only", "random"])
def sample_dirichlet(input, generator):
    """For each row of concentrations a point of the simplex; differentiable by the concentrations."""
    drawn = standard_gamma(input, generator)
    return drawn / drawn.sum(-1, keepdim=True)
