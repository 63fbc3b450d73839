"""What to use instead of names of PyTorch that weft has not."""

from __future__ import annotations

_INSTEAD = {
    "ao": "quantised types are not part of weft; use float16 or bfloat16",
    "quantization": "quantised types are not part of weft; use float16 or bfloat16",
    "quantize_per_tensor": "quantised types are not part of weft; use float16 or bfloat16",
    "quantize_per_channel": "quantised types are not part of weft; use float16 or bfloat16",
    "nested": "nested tensors are not part of weft; pad, and use a mask",
    "export": "weft does not export programs; weft.compile runs them, weft.fx.symbolic_trace gives a graph",
    "mtia": "weft has no kernels for this device",
    "package": "save the state_dict with weft.save",
    "qint8": "quantised types are not part of weft",
    "quint8": "quantised types are not part of weft",
    "qint32": "quantised types are not part of weft",
    "symeig": "removed from PyTorch: use weft.linalg.eigh",
    "eig": "removed from PyTorch: use weft.linalg.eig",
    "solve": "removed from PyTorch: use weft.linalg.solve (with the arguments in the other order)",
    "lstsq": "removed from PyTorch: use weft.linalg.lstsq",
    "matrix_rank": "removed from PyTorch: use weft.linalg.matrix_rank",
    "rfft": "removed from PyTorch: use weft.fft.rfft",
    "irfft": "removed from PyTorch: use weft.fft.irfft",
}


def error(module: str, name: str) -> AttributeError:
    """The AttributeError for `module.name`, with what to use instead where that is known."""
    advice = _INSTEAD.get(name)
    return AttributeError(f"module '{module}' has no attribute '{name}'" + (f": {advice}" if advice else ""), name=name)
