"""Wishart(df, covariance_matrix, precision_matrix or scale_tril)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.exp_family import ExponentialFamily
from weft.distributions.multivariate_normal import _precision_to_scale_tril
from weft.distributions.utils import lazy_property

__all__ = ["Wishart"]


def multivariate_digamma(x: Tensor, p: int) -> Tensor:
    """The derivative of mvlgamma(x, p)."""
    places = aten.arange(p, dtype=x.dtype, device=x.device) / 2
    return aten.digamma(x.unsqueeze(-1) - places).sum(-1)


class Wishart(ExponentialFamily):
    """The scatter matrix of `df` normal vectors."""

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True
    params = ("df", ("_unbroadcasted_scale_tril", 2), ("covariance_matrix", 2), ("precision_matrix", 2), ("scale_tril", 2))
    _mean_carrier_measure = 0

    def __init__(self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        named = [(n, m) for n, m in given.items() if m is not None]
        if len(named) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        df = df if isinstance(df, Tensor) else aten.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape, event_shape = aten.broadcast_shapes(df.shape, matrix.shape[:-2]), matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand((*batch_shape, *event_shape)))
        if bool(self.df.le(event_shape[-1] - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}.")
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = aten.linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def _expand_into(self, new: Any, batch_shape: Any) -> None:
        super()._expand_into(new, batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _wide(self, matrix: Tensor) -> Tensor:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._wide(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._wide(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._wide(aten.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = property(lambda self: self.df.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = aten.where(factor <= 0, math.nan, factor)
        return factor.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df.reshape((*self._batch_shape, 1, 1)) * (v.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Any = (), max_try_correction: Any = None) -> Tensor:
        """By Bartlett's decomposition."""
        p = self._event_shape[-1]
        shape = self._extended_shape(sample_shape)
        dof = self.df.unsqueeze(-1) - aten.arange(p, dtype=self.df.dtype, device=self.df.device)
        chi2 = 2 * aten._standard_gamma((dof / 2).expand(shape[:-1]))
        lower = aten.randn(shape, dtype=self.df.dtype, device=self.df.device).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (lower + aten.diag_embed(chi2.clamp(min=aten.finfo(chi2.dtype).tiny).sqrt()))
        return factor @ factor.mT

    def _log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        solved = aten.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = solved.diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (p * math.log(2) / 2 + self._log_det())
            - aten.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * aten.linalg_slogdet(value)[1]
            - trace / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        normalizer = aten.mvlgamma(nu / 2, p) + (p + 1) * (p * math.log(2) / 2 + self._log_det())
        return normalizer - (nu - p - 1) / 2 * multivariate_digamma(nu / 2, p) + nu * p / 2
