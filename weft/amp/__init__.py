"""Mixed precision: autocast chooses the dtype of ops, GradScaler keeps small gradients from vanishing."""

from aten.autocast import is_autocast_available
from weft.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from weft.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
