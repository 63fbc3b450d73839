"""Which kernel attention takes, and masks that need no memory."""

from weft.nn.attention import bias
from weft.nn.attention.sdp import WARN_FOR_UNFUSED_KERNELS, SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "_cur_sdpa_kernel_backends", "bias", "sdpa_kernel"]
