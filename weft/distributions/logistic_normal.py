"""LogisticNormal(loc, scale)."""

from __future__ import annotations

from typing import Any

from weft.distributions import constraints
from weft.distributions.independent import Independent
from weft.distributions.normal import Normal
from weft.distributions.transformed_distribution import TransformedDistribution
from weft.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Points of the simplex of which the logits are normal."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))

    _normal = property(lambda self: self.base_dist.base_dist if isinstance(self.base_dist, Independent) else self.base_dist)
    loc = property(lambda self: self._normal.loc)
    scale = property(lambda self: self._normal.scale)
