"""What a GradScaler does to gradients and to its scale: two functions, which scalers of others call as well."""

from __future__ import annotations

from collections.abc import Sequence

import aten
from aten import Tensor


def _amp_foreach_non_finite_check_and_unscale_(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies tensors by `inv_scale` where they lie; `found_inf` (one float32) becomes 1 if one of them has an inf or NaN."""
    for name, t in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if t.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if t.dtype is not aten.float32:
            raise RuntimeError(f"{name} must be a float tensor.")
    with aten.no_grad():
        for t in self:
            bad = (~t.isfinite()).any().to(aten.float32)
            found_inf.copy_(aten.maximum(found_inf, bad.to(found_inf.device)))
            t.mul_(inv_scale.to(t.device))


def _amp_update_scale_(
    self: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: float, scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:  # fmt: skip
    """The scale (one float32) after a step: less if `found_inf` is not 0; more after `growth_interval` steps without, as far
    as it is finite. `growth_tracker` (one int32) counts those steps. Nothing is read by the host."""
    for name, t, dtype in (
        ("growth_tracker", growth_tracker, aten.int32),
        ("current_scale", self, aten.float32),
        ("found_inf", found_inf, aten.float32),
    ):
        if t.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if t.dtype is not dtype:
            raise RuntimeError(f"{name} must be {'an int' if dtype is aten.int32 else 'a float'} tensor.")
    with aten.no_grad():
        bad = found_inf.reshape(self.shape) != 0
        steps = growth_tracker + 1
        due = (steps == growth_interval).reshape(self.shape)
        grown = self * scale_growth_factor
        self.copy_(aten.where(bad, self * scale_backoff_factor, aten.where(due & grown.isfinite(), grown, self)))
        growth_tracker.copy_(steps * (~(bad | due)).reshape(steps.shape))
    return self
