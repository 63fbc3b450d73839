"""Laplace(loc, scale)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """The double exponential distribution about `loc`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    params = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale**2)
    stddev = property(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        eps = aten.finfo(self.loc.dtype).eps
        u = aten.rand(shape, dtype=self.loc.dtype, device=self.loc.device) * (2 - eps) + (eps - 1)
        return self.loc - self.scale * u.sign() * aten.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -aten.log(2 * self.scale) - aten.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 0.5 - 0.5 * (value - self.loc).sign() * aten.expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * aten.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + aten.log(2 * self.scale)
