"""Transforms from the reals to what satisfies a constraint: bijections (`biject_to`), or cheaper ones (`transform_to`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Factories of transforms by the class of a constraint: `registry(constraint)` makes one."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], transforms.Transform] | None = None) -> Any:
        """`factory(constraint)` for a class of constraints, given as one or as an instance; a decorator without the factory."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> transforms.Transform:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _bounded(c: Any) -> transforms.Transform:
    if (
        isinstance(c.lower_bound, (int, float))
        and c.lower_bound == 0
        and isinstance(c.upper_bound, (int, float))
        and c.upper_bound == 1
    ):
        return transforms.SigmoidTransform()
    scale = c.upper_bound - c.lower_bound
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(c.lower_bound, scale)])


def _above(c: Any) -> transforms.Transform:
    if isinstance(c.lower_bound, (int, float)) and c.lower_bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(c.lower_bound, 1)])


def _below(c: Any) -> transforms.Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(c.upper_bound, -1)])


for _registry in (biject_to, transform_to):

    def _of(kind: Any, registry: ConstraintRegistry = _registry) -> Callable[[Any], transforms.Transform]:
        return lambda c: kind([registry(part) for part in c.cseq], c.dim, *([c.lengths] if kind is transforms.CatTransform else []))

    _registry.register(constraints.real, lambda c: transforms.identity_transform)
    _registry.register(
        constraints.independent,
        lambda c, registry=_registry: transforms.IndependentTransform(registry(c.base_constraint), c.reinterpreted_batch_ndims),
    )
    for _kind in (constraints.greater_than, constraints.greater_than_eq):
        _registry.register(_kind, _above)
    _registry.register(constraints.less_than, _below)
    for _kind in (constraints.interval, constraints.half_open_interval):
        _registry.register(_kind, _bounded)
    _registry.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
    _registry.register(constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform())
    _registry.register(constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform())
    _registry.register(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
    _registry.register(constraints.cat, _of(transforms.CatTransform))
    _registry.register(constraints.stack, _of(transforms.StackTransform))
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
