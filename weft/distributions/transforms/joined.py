"""Transforms that take a tensor apart along a dim, with one for each part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.transforms.transform import Transform


class _Parts(Transform):
    """Transforms of parts along a dim."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) if cache_size else t for t in tseq], dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _split(self, z: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([t(p) for t, p in zip(self.transforms, self._split(x))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([t.inv(p) for t, p in zip(self.transforms, self._split(y))])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = [t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._split(x), self._split(y))]
        return self._join(found)


class CatTransform(_Parts):
    """Transforms of the parts of some length along a dim."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    event_dim = property(lambda self: max(t.event_dim for t in self.transforms))  # type: ignore[assignment]
    length = property(lambda self: sum(self.lengths))

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, z: Tensor) -> list[Tensor]:
        return list(z.split(self.lengths, self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return aten.cat(parts, self.dim)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """A transform for each place along a dim."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, z: Tensor) -> list[Tensor]:
        if z.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"x.size({self.dim}) = {z.shape[self.dim]} must equal len(transforms) {len(self.transforms)}")
        return [z.select(self.dim, i) for i in range(z.shape[self.dim])]

    def _join(self, parts: list[Tensor]) -> Tensor:
        return aten.stack(parts, self.dim)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
