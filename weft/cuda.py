"""The GPU as PyTorch code asks about it. weft's eager kernels are for the CPU; GPU kernels are rendered as Triton and need the
`cuda` extra and a driver."""

from __future__ import annotations

import functools


@functools.cache
def device_count() -> int:
    """How many NVIDIA GPUs the driver offers; 0 without a driver."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def is_available() -> bool:
    return device_count() > 0


def synchronize(device: object = None) -> None:
    """Waits for the GPU's work. Raises RuntimeError where there is none."""
    if not is_available():
        raise RuntimeError("weft.cuda.synchronize: no NVIDIA driver or GPU was found on this machine")


def manual_seed_all(seed: int) -> None:
    """Seeds the generators of all GPUs, if any: they share the CPU generator's seed."""
    if is_available():
        import aten

        aten.manual_seed(seed)
