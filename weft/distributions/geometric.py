"""Geometric(probs or logits)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.choices import one_of, probabilities
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(Distribution):
    """The number of failures before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    params = ("probs", "logits")

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None):
        self._param = one_of(self, probs, logits, broadcast=True)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            value = self.probs.data[~(self.probs > 0)]
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution "
                f"{self!r} to be "
                f"positive but found invalid values:\n{value}"
            )

    probs, logits = probabilities(is_binary=True)
    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: aten.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)
    param_shape = property(lambda self: self._param.size())

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with aten.no_grad():
            u = aten.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
            return (u.clamp(min=aten.finfo(self.probs.dtype).tiny).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = aten.where((probs == 1) & (value == 0), 0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return aten.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
