"""Categorical(probs or logits)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.choices import one_of, probabilities
from weft.distributions.distribution import Distribution

__all__ = ["Categorical"]


class Categorical(Distribution):
    """The index of a category; the last dim has a probability for each."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    params = (("probs", 1), ("logits", 1), ("_param", 1))

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._param = one_of(self, probs, logits)
        if self._param.dim() < 1:
            raise ValueError(f"`{'logits' if probs is None else 'probs'}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = self._param = logits - logits.logsumexp(-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    probs, logits = probabilities(is_binary=False)
    param_shape = property(lambda self: self._param.size())
    mean = variance = property(
        lambda self: aten.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)
    )
    mode = property(lambda self: self.probs.argmax(-1))

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        super()._expand_into(new, batch_shape)
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        n = math.prod(sample_shape)
        with aten.no_grad():
            drawn = aten.multinomial(self.probs.reshape(-1, self._num_events), n, True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value = value.long().unsqueeze(-1)
        value, logits = aten.broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = aten.clamp(self.logits, min=aten.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(aten.arange(self._num_events, device=self._param.device), expand)
