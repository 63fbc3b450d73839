"""StudentT(df, loc, scale)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.chi2 import Chi2
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of an independent chi-squared one per degree of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    params = ("df", "loc", "scale", "_chi2")

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = property(lambda self: aten.where(self.df <= 1, math.nan, self.loc))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        found = aten.where(self.df > 2, self.scale.pow(2) * self.df / (self.df - 2), math.inf)
        return aten.where(self.df <= 1, math.nan, found)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        normal = aten.randn(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * normal * aten.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        z = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + aten.lgamma(0.5 * self.df)
            - aten.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * aten.log1p(y**2.0 / self.df) - z

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = aten.lgamma(half) + math.lgamma(0.5) - aten.lgamma(0.5 * (self.df + 1))
        return (
            self.scale.log()
            + 0.5 * (self.df + 1) * (aten.digamma(0.5 * (self.df + 1)) - aten.digamma(half))
            + 0.5 * self.df.log()
            + log_beta
        )
