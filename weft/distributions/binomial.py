"""Binomial(total_count, probs or logits)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.choices import one_of, probabilities
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["Binomial"]


class Binomial(Distribution):
    """The number of successes of `total_count` tries."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    params = ("total_count", "probs", "logits")

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        given = one_of(None, probs, logits)
        self.total_count, self._param = broadcast_all(total_count, given)
        self.total_count = self.total_count.type_as(self._param)
        setattr(self, "logits" if probs is None else "probs", self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    probs, logits = probabilities(is_binary=True)
    param_shape = property(lambda self: self._param.size())
    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with aten.no_grad():
            return aten.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        ways = aten.lgamma(self.total_count + 1) - aten.lgamma(value + 1) - aten.lgamma(self.total_count - value + 1)
        positive = self.logits.clamp(min=0)
        normalizer = self.total_count * (positive + aten.log1p(aten.exp(-self.logits.abs())))
        return ways + value * self.logits - normalizer

    def entropy(self) -> Tensor:
        n = int(self.total_count.max())
        if not bool(self.total_count.min() == n):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(aten.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = int(self.total_count.max())
        if not bool(self.total_count.min() == n):
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return self._enumerated(aten.arange(1 + n, dtype=self._param.dtype, device=self._param.device), expand)
