"""NegativeBinomial(total_count, probs or logits)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.choices import one_of, probabilities
from weft.distributions.distribution import Distribution
from weft.distributions.gamma import Gamma
from weft.distributions.utils import broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Distribution):
    """The number of successes before `total_count` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    params = ("total_count", "probs", "logits")

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        given = one_of(None, probs, logits)
        self.total_count, self._param = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        setattr(self, "logits" if probs is None else "probs", self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    probs, logits = probabilities(is_binary=True)
    param_shape = property(lambda self: self._param.size())
    mean = property(lambda self: self.total_count * aten.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / aten.sigmoid(-self.logits))

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, aten.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with aten.no_grad():
            return aten.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        unnormalized = self.total_count * aten.logsigmoid(-self.logits) + value * aten.logsigmoid(self.logits)
        normalizer = -aten.lgamma(self.total_count + value) + aten.lgamma(1.0 + value) + aten.lgamma(self.total_count)
        return unnormalized - normalizer.masked_fill(self.total_count + value == 0.0, 0.0)
