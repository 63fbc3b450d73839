"""Parametrizations that are there: orthogonal matrices, weight_norm, spectral_norm."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import aten
from aten import Tensor
from aten.op import ops
from weft.nn import functional as F
from weft.nn.module import Module
from weft.nn.utils import parametrize
from weft.nn.utils.spectral_norm import transposed_dim
from weft.nn.utils.weight_norm import norm_except_dim, scaled

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(q: Tensor, eps: float | None = None) -> bool:
    n, k = q.size(-2), q.size(-1)
    unit = aten.eye(k, dtype=q.dtype, device=q.device)
    return aten.allclose(q.mH @ q, unit, atol=10.0 * n * aten.finfo(q.dtype).eps if eps is None else eps)


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthonormal columns next to those of (n, k), n >= k, with signs such that an orthogonal `a` stays what it is."""
    x, tau = aten.geqrf(a)
    return aten.linalg_householder_product(x, tau) * x.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Map(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """An orthogonal (or semi-orthogonal) matrix from any matrix of its sizes."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: _Map, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _Map.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = tuple(weight.shape)
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        n, k = x.size(-2), x.size(-1)
        wide = n < k
        if wide:
            x, n, k = x.mT, k, n
        q = self._by_reflections(x) if self.orthogonal_map is _Map.householder else self._by_group(x, n, k)
        if hasattr(self, "base") and self.base is not None:
            q = self.base @ q
        return q.mT if wide else q

    def _by_group(self, x: Tensor, n: int, k: int) -> Tensor:
        """The exponential, or the Cayley transform, of a skew matrix (Lezcano-Casado & Martínez-Rubio 2019)."""
        x = x.tril()
        if n != k:
            x = aten.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], -1)
        skew = x - x.mH
        if self.orthogonal_map is _Map.matrix_exp:
            q = aten.matrix_exp(skew)
        else:
            unit = aten.eye(n, dtype=skew.dtype, device=skew.device)
            q = aten.linalg_solve(aten.add(unit, skew, alpha=-0.5), aten.add(unit, skew, alpha=0.5))
        return q[..., :k] if n != k else q

    def _by_reflections(self, x: Tensor) -> Tensor:
        """A product of Householder reflections; the diagonal's signs are those of the columns."""
        a = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
        q = aten.linalg_householder_product(a, tau)
        return q * x.diagonal(dim1=-2, dim2=-1).to(dtype=aten.int32).unsqueeze(-2).to(dtype=q.dtype)

    def right_inverse(self, q: Tensor) -> Tensor:
        if tuple(q.shape) != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {aten.Size(self.shape)}. Got a tensor of shape {q.shape}."
            )
        given = q
        n, k = q.size(-2), q.size(-1)
        wide = n < k
        if wide:
            q, n, k = q.mT, k, n
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _Map.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            a, tau = aten.geqrf(q)
            signs = a.diagonal(dim1=-2, dim2=-1).sign()
            signs = aten.where(tau == 0, -signs, signs)  # where it is no reflection
            a = a - _on_diagonal(a.diagonal(dim1=-2, dim2=-1), a) + _on_diagonal(signs, a)
            return a.mT if wide else a
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            more = aten.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(aten.cat([q, more], -1))
        self.base = q
        return _on_diagonal(-aten.ones(*given.shape[:-2], min(n, k), dtype=given.dtype, device=given.device), given)


def _on_diagonal(values: Tensor, like: Tensor) -> Tensor:
    """A matrix of the sizes of `like`, zero but for these values on its diagonal."""
    made = aten.zeros_like(like)
    made.diagonal(dim1=-2, dim2=-1).copy_(values)
    return made


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps the matrix (or batch) `name` orthogonal: orthonormal columns, or rows if they are the fewer.

    orthogonal_map: "matrix_exp" (default for square and complex ones), "cayley" or "householder" (the default else).
    use_trivialization: any orthogonal matrix can be assigned, for a buffer of n x n more (Lezcano-Casado 2019).
    Raises ValueError for another map, fewer than 2 dims, or a name that is none.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_Map, orthogonal_map, None)
    if chosen is None:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module


class _WeightNorm(Module):
    """original0: sizes, original1: directions."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Makes the parameter `name` of its norms over all dims but `dim` (None: all) and its directions (Salimans & Kingma 2016).

    State dicts of the old `nn.utils.weight_norm` are read.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def read_old(state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(read_old)
    return module


class _SpectralNorm(Module):
    """The weight over its largest singular value, with vectors moved on by power iteration at each call in training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -max(weight.ndim, 1) <= dim < max(weight.ndim, 1):
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:  # a vector's singular value is its norm
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            with aten.no_grad():
                for name, size in (("_u", matrix.size(0)), ("_v", matrix.size(1))):
                    self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
                self._power_method(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        """(dim, all else)."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, matrix: Tensor, count: int) -> None:
        with aten.no_grad():
            for _ in range(count):
                ops.write_statistics(self._u, F.normalize(aten.mv(matrix, self._v), dim=0, eps=self.eps))
                ops.write_statistics(self._v, F.normalize(aten.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # what this call's backward needs, the next call moves on
        return weight / aten.vdot(u, aten.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # its direction is kept, its singular value becomes 1


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides `name` by its largest singular value, as a matrix (`dim`, all else) (Miyato et al. 2018).

    dim: 0, for transposed convolutions 1. Raises ValueError for a name that is none or fewer than 1 power iterations.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, transposed_dim(module) if dim is None else dim, eps)
    parametrize.register_parametrization(module, name, made)
    return module
