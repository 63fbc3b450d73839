"""The GPU's scaler of gradients under its older name."""

from weft.amp.grad_scaler import OptState as OptState
from weft.amp.old_names import CudaGradScaler as GradScaler

__all__ = ["GradScaler"]
