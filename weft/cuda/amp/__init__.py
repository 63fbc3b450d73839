"""The GPU's older names of mixed precision."""

from weft.amp.old_names import CudaAutocast as autocast
from weft.amp.old_names import CudaGradScaler as GradScaler
from weft.amp.old_names import cuda_custom_bwd as custom_bwd
from weft.amp.old_names import cuda_custom_fwd as custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
