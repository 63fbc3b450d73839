"""The GPU's scaler of gradients under its older name."""

from weft.amp.old_names import CudaGradScaler as GradScaler

__all__ = ["GradScaler"]
