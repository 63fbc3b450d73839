"""The CPU's older names of mixed precision."""

from weft.amp.old_names import CpuAutocast as autocast
from weft.amp.old_names import CpuGradScaler as GradScaler

__all__ = ["GradScaler", "autocast"]
