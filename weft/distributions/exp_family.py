"""Exponential families: densities exp(t(x) . theta - F(theta) + k(x))."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Says its natural parameters and log normaliser, from which entropy and divergence follow (Nielsen and Nock 2010)."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """By the Bregman divergence of the log normaliser."""
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        gradients = aten.autograd.grad(normalizer.sum(), natural, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for parameter, gradient in zip(natural, gradients):
            result = result - (parameter * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result
