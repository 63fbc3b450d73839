"""Multinomial(total_count, probs or logits)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.categorical import Categorical
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each category comes in `total_count` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    params = ("_categorical",)

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    _param = property(lambda self: self._categorical._param)
    param_shape = property(lambda self: self._categorical.param_shape)
    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        super()._expand_into(new, batch_shape)
        new.total_count = self.total_count

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        places = drawn.permute(*range(1, drawn.ndim), 0)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, places, aten.ones_like(places).to(counts.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return aten.lgamma(value.sum(-1) + 1) - aten.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        from weft.distributions.binomial import Binomial  # a family of its own, needed here alone

        n = aten.tensor(self.total_count)
        support = Binomial(self.total_count, self.probs).enumerate_support(expand=False)[1:]
        weights = aten.exp(Binomial(self.total_count, self.probs).log_prob(support))
        return (
            self.total_count * self._categorical.entropy() - aten.lgamma(n + 1) + (weights * aten.lgamma(support + 1)).sum([0, -1])
        )
