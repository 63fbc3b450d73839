"""sdpa_kernel: which ways of scaled_dot_product_attention are allowed.

weft has one eager kernel, which keeps no matrix of scores, and takes it apart when it compiles: it answers to each of the names, so
what is chosen changes no result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from enum import IntEnum

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The ways that PyTorch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


_SWITCHED = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION)
allowed: dict[str, bool] = {backend.name: True for backend in _SWITCHED}


def current_backends() -> list[SDPBackend]:
    """Those that are allowed now."""
    return [b for b in _SWITCHED if allowed[b.name]]


_cur_sdpa_kernel_backends = current_backends  # as PyTorch's own tests and some models call it


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Within the block (or the decorated function) only `backends` are allowed. Raises AssertionError for anything else."""
    chosen = list(backends) if isinstance(backends, Iterable) else [backends]
    for backend in chosen:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(
                f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backend).__name__}"
            )
    before = dict(allowed)
    for known in _SWITCHED:
        allowed[known.name] = known in chosen
    try:
        yield
    finally:
        allowed.update(before)
