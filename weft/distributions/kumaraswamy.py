"""Kumaraswamy(concentration1, concentration0)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import AffineTransform, PowerTransform
from weft.distributions.uniform import Uniform
from weft.distributions.utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moments(a: Tensor, b: Tensor, n: int) -> Tensor:
    ratio = 1 + n / a
    return aten.exp(b.log() + aten.lgamma(ratio) + aten.lgamma(b) - aten.lgamma(ratio + b))


class Kumaraswamy(TransformedDistribution):
    """Much like a beta distribution, with a distribution function in closed form."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = aten.zeros_like(self.concentration0)
        base = Uniform(zeros, zeros + 1, validate_args=validate_args)
        steps = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, steps, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1, new.concentration0 = self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, new)

    mean = property(lambda self: _moments(self.concentration1, self.concentration0, 1))
    variance = property(lambda self: _moments(self.concentration1, self.concentration0, 2) - self.mean.pow(2))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = a.reciprocal() * ((1 - a.reciprocal()).log() - (b - a.reciprocal()).log())
        return aten.where((a < 1) | (b < 1), math.nan, log_mode.exp())

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = aten.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - aten.log(a) - aten.log(b)
