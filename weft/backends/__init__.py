"""Switches of the libraries behind PyTorch's kernels. Each is kept and answered; weft's own kernels ask for none of them.

Those of attention (`cuda.enable_flash_sdp` …) are what `weft.nn.attention.sdpa_kernel` sets.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

_PARTS = (
    "cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "quantized",
    "xnnpack",
)  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _PARTS:
        return _import_module(f"weft.backends.{name}")
    raise AttributeError(f"module 'weft.backends' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_PARTS)
