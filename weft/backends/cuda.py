"""Switches of CUDA's libraries: products, attention, decompositions. Set, read, and without effect on the CPU."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from aten import Tensor
from weft import determinism
from weft.nn.attention import sdp

__all__ = [
    "SDPAParams", "allow_fp16_bf16_reduction_math_sdp", "can_use_cudnn_attention", "can_use_efficient_attention",
    "can_use_flash_attention", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
    "enable_mem_efficient_sdp", "flash_sdp_enabled", "fp16_bf16_reduction_math_sdp_allowed", "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul", "mem_efficient_sdp_enabled", "preferred_blas_library", "preferred_linalg_library", "sdp_kernel",
]  # fmt: skip


class _Matmul:
    """Products of matrices. `allow_tf32` is the other side of `weft.set_float32_matmul_precision`."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        return determinism.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allow: bool) -> None:
        determinism.set_float32_matmul_precision("high" if allow else "highest")

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}")
        object.__setattr__(self, name, value)


class _Plans:
    """The cache of plans of cuFFT, of which there is none."""

    size = 0
    max_size = 0

    def clear(self) -> None:
        """Nothing is kept."""


matmul = _Matmul()
cufft_plan_cache = _Plans()
_chosen = {"linalg": "default", "blas": "default"}
_reduced = {"math": False}


def is_built() -> bool:
    """False: eager kernels are the CPU's."""
    return False


def _preferred(what: str, backend: str | None, known: tuple[str, ...]) -> str:
    if backend is not None:
        if backend not in known:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(known)}.")
        _chosen[what] = backend
    return _chosen[what]


def preferred_linalg_library(backend: str | None = None) -> str:
    """Sets which of "default", "cusolver", "magma" is meant; returns it."""
    return _preferred("linalg", backend, ("default", "cusolver", "magma"))


def preferred_blas_library(backend: str | None = None) -> str:
    """Sets which of "default", "cublas", "cublaslt", "ck" is meant; returns it."""
    return _preferred("blas", backend, ("default", "cublas", "cublaslt", "ck"))


def flash_sdp_enabled() -> bool:
    return sdp.allowed["FLASH_ATTENTION"]


def enable_flash_sdp(enabled: bool) -> None:
    sdp.allowed["FLASH_ATTENTION"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    return sdp.allowed["EFFICIENT_ATTENTION"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    sdp.allowed["EFFICIENT_ATTENTION"] = bool(enabled)


def math_sdp_enabled() -> bool:
    return sdp.allowed["MATH"]


def enable_math_sdp(enabled: bool) -> None:
    sdp.allowed["MATH"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    return sdp.allowed["CUDNN_ATTENTION"]


def enable_cudnn_sdp(enabled: bool) -> None:
    sdp.allowed["CUDNN_ATTENTION"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    return _reduced["math"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    _reduced["math"] = bool(enabled)


class SDPAParams(NamedTuple):
    """What a call of scaled_dot_product_attention is given."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: CUDA's kernels of that name are not used. With `debug`, a warning says so."""
    if debug:
        warnings.warn("weft's attention is one kernel of its own, on every device", stacklevel=2)
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def is_flash_attention_available() -> bool:
    """False: asked of CUDA."""
    return False


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """The old form of `weft.nn.attention.sdpa_kernel`."""
    before = dict(sdp.allowed)
    sdp.allowed.update(
        FLASH_ATTENTION=enable_flash, MATH=enable_math, EFFICIENT_ATTENTION=enable_mem_efficient, CUDNN_ATTENTION=enable_cudnn
    )
    try:
        yield
    finally:
        sdp.allowed.update(before)
