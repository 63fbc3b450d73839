"""The CPU."""

import platform

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The vector instructions that this processor offers: "AVX512", "AVX2" or "DEFAULT"."""
    try:
        with open("/proc/cpuinfo") as file:
            found = next((line for line in file if line.startswith("flags")), "").split()
    except OSError:
        found = [platform.machine()]
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= set(found):
        return "AVX512"
    return "AVX2" if {"avx2", "fma"} <= set(found) else "DEFAULT"
