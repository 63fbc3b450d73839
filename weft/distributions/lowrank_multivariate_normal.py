"""LowRankMultivariateNormal(loc, cov_factor, cov_diag)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from weft.distributions.utils import lazy_property

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with covariance W W^T + diag(d)."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    params = (("loc", 1), ("cov_diag", 1), ("cov_factor", 2))

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {n} x m")
        if cov_diag.shape[-1] != n:
            raise ValueError(f"cov_diag must be a batch of vectors with shape ({n},)")
        batch_shape = aten.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand((*batch_shape, n)), cov_diag.expand((*batch_shape, n))
        self.cov_factor = cov_factor.expand((*batch_shape, *cov_factor.shape[-2:]))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = self._capacitance()
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)

    def _capacitance(self) -> Tensor:
        """The Cholesky factor of I + W^T D^-1 W (Woodbury)."""
        w, d = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        inner = (w.mT / d.unsqueeze(-2)) @ w
        return aten.linalg_cholesky(inner + aten.eye(w.shape[-1], dtype=w.dtype, device=w.device))

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        super()._expand_into(new, batch_shape)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:  # type: ignore[override]
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand((*self._batch_shape, *self._event_shape))

    def _wide(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        w = self._unbroadcasted_cov_factor
        return self._wide(w @ w.mT + aten.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def scale_tril(self) -> Tensor:
        return aten.linalg_cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        w, d = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        a = aten.linalg_solve_triangular(self._capacitance_tril, w.mT / d.unsqueeze(-2), upper=False)
        return self._wide(aten.diag_embed(d.reciprocal()) - a.mT @ a)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        like = {"dtype": self.loc.dtype, "device": self.loc.device}
        narrow = aten.randn((*shape[:-1], self.cov_factor.shape[-1]), **like)
        mixed = _batch_mv(self._unbroadcasted_cov_factor, narrow)
        return self.loc + mixed + self._unbroadcasted_cov_diag.sqrt() * aten.randn(shape, **like)

    def _log_det(self) -> Tensor:
        return 2 * self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        diff = value - self.loc
        w, d = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        inner = _batch_mv(w.mT / d.unsqueeze(-2), diff)
        distance = (diff.pow(2) / d).sum(-1) - _batch_mahalanobis(self._capacitance_tril, inner)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return found.expand(self._batch_shape)
