"""The base of transforms, inverses, chains, and changes of what counts as one value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import aten
from aten import Tensor
from weft.distributions import constraints
from weft.distributions.utils import _sum_rightmost, lazy_property


class Transform:
    """y = t(x), x = t.inv(y). `cache_size` 1 keeps the last pair, so that going back is exact and free."""

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size, self._inv = cache_size, None
        self._kept: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """How many dims make one value."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = _Inverse(self)
            self._inv = lambda: inverse  # type: ignore[assignment]
        return inverse

    @property
    def sign(self) -> Any:
        """1 where it increases, -1 where it decreases."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same with a cache."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        if x is self._kept[0]:
            return self._kept[1]
        y = self._call(x)
        self._kept = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if y is self._kept[1]:
            return self._kept[0]
        x = self._inverse(y)
        self._kept = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx|"""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of y."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of x."""
        return shape

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


class _Inverse(Transform):
    def __init__(self, transform: Transform):
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    domain = property(lambda self: self._forward.codomain)
    codomain = property(lambda self: self._forward.domain)
    bijective = property(lambda self: self._forward.bijective)  # type: ignore[assignment]
    sign = property(lambda self: self._forward.sign)
    inv = property(lambda self: self._forward)  # type: ignore[assignment]

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Inverse) and self._forward == other._forward

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self._forward._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._forward(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._forward.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._forward.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._forward!r})"


class ComposeTransform(Transform):
    """One transform after another."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        self.parts = [p.with_cache(cache_size) for p in parts] if cache_size else list(parts)
        super().__init__(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def _dims(self, parts: list[Transform], first: str, last: str) -> Any:
        constraint = getattr(parts[0], first)
        event_dim = getattr(parts[-1], last).event_dim
        for part in reversed(parts):
            event_dim += getattr(part, first).event_dim - getattr(part, last).event_dim
            event_dim = max(event_dim, getattr(part, first).event_dim)
        more = event_dim - constraint.event_dim
        return constraints.independent(constraint, more) if more else constraint

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._dims(self.parts, "domain", "codomain") if self.parts else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._dims(self.parts[::-1], "codomain", "domain") if self.parts else constraints.real

    @lazy_property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(p.bijective for p in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return math.prod(p.sign for p in self.parts)

    @property
    def inv(self) -> Transform:
        made = ComposeTransform([p.inv for p in reversed(self.parts)])
        made._inv = lambda: self  # type: ignore[assignment]
        return made

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return aten.zeros_like(x)
        xs = [x]
        for part in self.parts[:-1]:
            xs.append(part(xs[-1]))
        xs.append(y)
        total: Any = 0
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, xs, xs[1:]):
            total = total + _sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return "ComposeTransform(\n    " + ",\n    ".join(repr(p) for p in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dims count as dims of the event: their Jacobians are summed."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    domain = property(lambda self: constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims))
    codomain = property(lambda self: constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims))
    bijective = property(lambda self: self.base_transform.bijective)  # type: ignore[assignment]
    sign = property(lambda self: self.base_transform.sign)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of another shape."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0):
        self.in_shape, self.out_shape = aten.Size(in_shape), aten.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    domain = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def with_cache(self, cache_size: int = 1) -> Transform:
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape((*x.shape[: x.ndim - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape((*y.shape[: y.ndim - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.ndim - len(self.in_shape)])

    def _other_shape(self, shape: Any, mine: Any, other: Any) -> Any:
        if len(shape) < len(mine):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(mine)
        if tuple(shape[cut:]) != tuple(mine):
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {mine}")
        return aten.Size((*shape[:cut], *other))

    def forward_shape(self, shape: Any) -> Any:
        return self._other_shape(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._other_shape(shape, self.out_shape, self.in_shape)
