"""MultivariateNormal(loc, covariance_matrix, precision_matrix or scale_tril)."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.distribution import Distribution
from weft.distributions.utils import lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Matrices times vectors, over batches of both."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """x^T (L L^T)^-1 x for a batch of Cholesky factors L."""
    shape = aten.broadcast_shapes(x.shape[:-1], factor.shape[:-2])
    wide = factor.expand((*shape, *factor.shape[-2:]))
    solved = aten.linalg_solve_triangular(wide, x.expand((*shape, x.shape[-1])).unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse."""
    flipped = aten.linalg_cholesky(aten.flip(precision, (-2, -1)))
    inverse = aten.transpose(aten.flip(flipped, (-2, -1)), -2, -1)
    identity = aten.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return aten.linalg_solve_triangular(inverse, identity.expand(inverse.shape), upper=False)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, with a covariance that is given as itself, its inverse, or its Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    params = (("loc", 1), ("_unbroadcasted_scale_tril", 2), ("covariance_matrix", 2), ("precision_matrix", 2), ("scale_tril", 2))

    def __init__(self, loc: Tensor, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
                 validate_args: bool | None = None):  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        named = [(n, m) for n, m in given.items() if m is not None]
        if len(named) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = named
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} {'matrix ' if name == 'scale_tril' else ''}must be at least two-dimensional, with optional leading "
                f"batch dimensions"
            )
        batch_shape = aten.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, *matrix.shape[-2:])))
        self.loc = loc.expand((*batch_shape, loc.shape[-1]))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
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
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Tensor:
        return self._wide(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self._wide(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        return self._wide(aten.cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: self._unbroadcasted_scale_tril.pow(2).sum(-1).expand((*self._batch_shape, *self._event_shape)))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        eps = aten.randn(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)
