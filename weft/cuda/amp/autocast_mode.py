"""Autocast of the GPU under its older names."""

from weft.amp.old_names import CudaAutocast as autocast
from weft.amp.old_names import cuda_custom_bwd as custom_bwd
from weft.amp.old_names import cuda_custom_fwd as custom_fwd

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
