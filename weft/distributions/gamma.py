"""Gamma(concentration, rate)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.exp_family import ExponentialFamily
from weft.distributions.utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution; samples are differentiable by both parameters."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    params = ("concentration", "rate")
    _mean_carrier_measure = 0

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = aten._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return drawn.clamp(min=aten.finfo(drawn.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        value = aten.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._validate_sample(value)
        a, b = self.concentration, self.rate
        return aten.xlogy(a, b) + aten.xlogy(a - 1, value) - b * value - aten.lgamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return aten.igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - aten.log(self.rate) + aten.lgamma(a) + (1.0 - a) * aten.digamma(a)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return aten.lgamma(x + 1) + (x + 1) * aten.log(-y.reciprocal())
