"""`python -m weft.cuda`: the driver, the devices, and what is missing to use them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys

from weft import cuda
from weft.cuda import devices


def report() -> list[str]:
    """What there is, a line each."""
    lines = []
    why = devices.why_not()
    if why is None:
        version = devices.driver_version()
        lines.append(f"driver: serves CUDA {version.major}.{version.minor}")
        if version < (12, 0):
            lines.append("  missing: a driver of CUDA 12 or newer (525)")
    else:
        lines.append(f"driver: none ({why})")
        lines.append("  WEFT_LIBCUDA names another library than libcuda.so.1")
    for i in range(cuda.device_count()):
        found = cuda.get_device_properties(i)
        free, total = cuda.mem_get_info(i)
        lines.append(
            f"cuda:{i}: {found.name}, sm_{found.major}{found.minor}, {found.multi_processor_count} multiprocessors, "
            f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
        )
    if importlib.util.find_spec("triton") is None:
        lines.append("triton: missing (pip install 'weft[cuda]'); nothing can be computed on a device without it")
    else:
        lines.append(f"triton: {importlib.metadata.version('triton')}")
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
    sys.exit(0 if cuda.is_available() else 1)
