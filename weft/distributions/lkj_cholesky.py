"""LKJCholesky(dim, concentration)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.beta import Beta
from weft.distributions.distribution import Distribution
from weft.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices, the density of which is a power of the determinant (Lewandowski et al. 2009)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    params = ("concentration", "_beta")

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = aten.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        offset = aten.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args=validate_args)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        new.dim, new.concentration = self.dim, self.concentration.expand(batch_shape)
        new._beta = self._beta.expand((*batch_shape, self.dim))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By the onion method."""
        with aten.no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            u = aten.randn(self._extended_shape(sample_shape), dtype=y.dtype, device=y.device).tril(-1)
            sphere = u / u.norm(dim=-1, keepdim=True)
            first = aten.zeros_like(sphere)
            first[..., 1:, :] = sphere[..., 1:, :]
            w = aten.sqrt(y) * first
            eps = aten.finfo(w.dtype).tiny
            rest = aten.clamp(1 - (w**2).sum(-1), min=eps).sqrt()
            return w + aten.diag_embed(rest)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = aten.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (order * diagonal.log()).sum(-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + aten.mvlgamma(alpha - 0.5, n) - aten.lgamma(alpha) * n
        return unnormalized - normalizer
