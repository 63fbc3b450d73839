"""ContinuousBernoulli(probs or logits)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.choices import one_of, probabilities
from weft.distributions.exp_family import ExponentialFamily
from weft.distributions.utils import broadcast_all, clamp_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ExponentialFamily):
    """Numbers of [0, 1] with a density proportional to p^x (1 - p)^(1 - x) (Loaiza-Ganem and Cunningham 2019)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    params = ("probs", "logits")
    _mean_carrier_measure = 0
    _lims = (0.499, 0.501)  # near 1/2 series take the place of the formulas, which lose all digits there

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None
    ):
        self._param = one_of(self, probs, logits, broadcast=True)
        if probs is not None:
            if validate_args is not None and not bool(self.arg_constraints["probs"].check(self.probs).all()):
                raise ValueError("The parameter probs has invalid values")
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    probs, logits = probabilities(is_binary=True, clamped=True)
    param_shape = property(lambda self: self._param.size())
    stddev = property(lambda self: aten.sqrt(self.variance))

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        super()._expand_into(new, batch_shape)
        new._lims = self._lims

    def _apart(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        return aten.where(self._apart(), self.probs, self._lims[0] * aten.ones_like(self.probs))

    def _log_constant(self) -> Tensor:
        cut = self._cut()
        below = aten.where(cut <= 0.5, cut, aten.zeros_like(cut))
        above = aten.where(cut >= 0.5, cut, aten.ones_like(cut))
        known = aten.log(aten.abs(aten.log1p(-cut) - aten.log(cut))) - aten.where(
            cut <= 0.5, aten.log1p(-2.0 * below), aten.log(2.0 * above - 1.0)
        )
        x = (self.probs - 0.5) ** 2
        return aten.where(self._apart(), known, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut()
        known = cut / (2.0 * cut - 1.0) + 1.0 / (aten.log1p(-cut) - aten.log(cut))
        x = self.probs - 0.5
        return aten.where(self._apart(), known, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Tensor:
        cut = self._cut()
        known = cut * (cut - 1.0) / (1.0 - 2.0 * cut) ** 2 + 1.0 / (aten.log1p(-cut) - aten.log(cut)) ** 2
        x = (self.probs - 0.5) ** 2
        return aten.where(self._apart(), known, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        u = aten.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return self.icdf(u)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -aten.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._log_constant()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        cut = self._cut()
        known = (cut**value * (1.0 - cut) ** (1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        found = aten.where(self._apart(), known, value)
        return aten.where(value <= 0.0, 0.0, aten.where(value >= 1.0, 1.0, found))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut()
        known = (aten.log1p(-cut + value * (2.0 * cut - 1.0)) - aten.log1p(-cut)) / (aten.log(cut) - aten.log1p(-cut))
        return aten.where(self._apart(), known, value)

    def entropy(self) -> Tensor:
        low, high = aten.log1p(-self.probs), aten.log(self.probs)
        return self.mean * (low - high) - self._log_constant() - low

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        apart = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = aten.where(apart, x, (self._lims[0] - 0.5) * aten.ones_like(x))
        return aten.where(
            apart, aten.log(aten.abs(aten.special_expm1(cut))) - aten.log(aten.abs(cut)), 0.5 * x + x**2 / 24.0 - x**4 / 2880.0
        )
