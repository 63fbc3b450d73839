"""Dirichlet(concentration)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Points of the simplex."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    params = (("concentration", 1),)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        corner = (self.concentration < 1).all(-1, keepdim=True)
        most = aten.one_hot(mode.nan_to_num(0).argmax(-1), mode.shape[-1]).to(mode.dtype)
        first = aten.one_hot(self.concentration.argmax(-1), mode.shape[-1]).to(mode.dtype)
        return aten.where(corner, first if bool(corner.any()) else most, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return aten._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        return aten.xlogy(a - 1.0, value).sum(-1) + aten.lgamma(a.sum(-1)) - aten.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return (
            aten.lgamma(a).sum(-1) - aten.lgamma(total) - (k - total) * aten.digamma(total) - ((a - 1.0) * aten.digamma(a)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - aten.lgamma(x.sum(-1))
