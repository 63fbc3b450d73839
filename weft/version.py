"""Versions: `__version__` is the PyTorch version whose API this is, for programs that ask; `weft` is the library's own."""

from weft.torch_version import TorchVersion

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "weft", "xpu"]

weft = "0.1.0"
__version__ = TorchVersion(f"2.6.0+weft{weft}")
debug = False
git_version = "unknown"  # weft is not built from a checkout
cuda = hip = rocm = xpu = None  # eager kernels are the CPU's
