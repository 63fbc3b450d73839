"""CUDA devices: Triton functions compiled, kept and loaded, and eager ops made of them."""

from __future__ import annotations

import importlib.util


def why_not() -> str | None:
    """What is missing to compile for the devices of this machine; None if nothing is."""
    if importlib.util.find_spec("triton") is None:
        return "compiling for a CUDA device needs Triton: pip install 'weft[cuda]'"
    try:
        from aten import _cuda
    except ImportError as e:
        return f"this build of weft has no driver layer for CUDA: {e}"
    return _cuda.why_not()
