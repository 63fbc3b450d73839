"""Weibull(scale, concentration)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.exponential import Exponential
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import AffineTransform, PowerTransform
from weft.distributions.utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """A power of an exponential number."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(aten.ones_like(self.scale), validate_args=validate_args)
        steps = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        return super().expand(batch_shape, new)

    mean = property(lambda self: self.scale * aten.exp(aten.lgamma(1 + self.concentration_reciprocal)))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        r = self.concentration_reciprocal
        return self.scale.pow(2) * (aten.exp(aten.lgamma(1 + 2 * r)) - aten.exp(2 * aten.lgamma(1 + r)))

    def entropy(self) -> Tensor:
        r = self.concentration_reciprocal
        return euler_constant * (1 - r) + aten.log(self.scale * r) + 1
