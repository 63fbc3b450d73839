"""Bernoulli(probs or logits)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.choices import one_of, probabilities
from weft.distributions.exp_family import ExponentialFamily
from weft.distributions.utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(ExponentialFamily):
    """1 with probability `probs`, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    params = ("probs", "logits")
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._param = one_of(self, probs, logits, broadcast=True)
        super().__init__(self._param.shape, validate_args=validate_args)

    probs, logits = probabilities(is_binary=True)
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    param_shape = property(lambda self: self._param.size())

    @property
    def mode(self) -> Tensor:
        return aten.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with aten.no_grad():
            return aten.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -aten.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return aten.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(aten.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (aten.logit(self.probs),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return aten.log1p(aten.exp(x))
