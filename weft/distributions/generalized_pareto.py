"""GeneralizedPareto(loc, scale, concentration)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What lies beyond a threshold `loc` (Pickands 1975): a tail as a power of its distance for a positive `concentration`, an
    exponential one for 0, one that ends at loc - scale / concentration for a negative one."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    params = ("loc", "scale", "concentration")

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mode = property(lambda self: self.loc)

    @property
    def mean(self) -> Tensor:
        return self._where(self.concentration < 1, lambda c: self.loc + self.scale / (1 - c), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._where(self.concentration < 0.5, lambda c: self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self._where(self.concentration < 0, lambda c: self.loc - self.scale / c, math.inf)
        return constraints.interval(self.loc, end)

    def _where(self, holds: Tensor, value: Callable[[Tensor], Tensor], otherwise: Any) -> Tensor:
        """value(concentration) where `holds`; elsewhere it is asked of a number for which it and its gradient are finite."""
        return aten.where(holds, value(aten.where(holds, self.concentration, -0.25)), otherwise)

    def _curved(self, value: Callable[[Tensor], Tensor], straight: Tensor) -> Tensor:
        """value(concentration), and its limit where that is nearly 0."""
        return self._where(~aten.isclose(self.concentration, aten.zeros_like(self.concentration)), value, straight)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(aten.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _distance(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (value - self.loc) / self.scale

    def log_prob(self, value: Any) -> Tensor:
        z = self._distance(value)
        return -self.scale.log() - self._curved(lambda c: (1 + 1 / c) * aten.log1p(c * z), z)

    def log_survival_function(self, value: Any) -> Tensor:
        """log of the share beyond `value`."""
        z = self._distance(value)
        return self._curved(lambda c: -aten.log1p(c * z) / c, -z)

    def log_cdf(self, value: Any) -> Tensor:
        """log of the share up to `value`."""
        return aten.log1p(-self.log_survival_function(value).exp())

    def cdf(self, value: Any) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        beyond = aten.log1p(-value)
        return self.loc + self.scale * self._curved(lambda c: aten.expm1(-c * beyond) / c, -beyond)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
