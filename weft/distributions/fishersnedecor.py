"""FisherSnedecor(df1, df2)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.gamma import Gamma
from weft.distributions.utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    params = ("df1", "df2", "_gamma1", "_gamma2")

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    mean = property(lambda self: aten.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan))
    mode = property(lambda self: aten.where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), math.nan))

    @property
    def variance(self) -> Tensor:
        d1, d2 = self.df1, aten.where(self.df2 <= 4, math.nan, self.df2)
        return 2 * d2.pow(2) * (d1 + d2 - 2) / (d1 * (d2 - 2).pow(2) * (d2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        first, second = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = aten.finfo(second.dtype).tiny
        return (first / second.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        normalizer = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return normalizer + a * ratio.log() + (a - 1) * value.log() - (a + b) * aten.log1p(ratio * value)
