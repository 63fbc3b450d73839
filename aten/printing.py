"""Tensors as text, in PyTorch's form: four digits, columns aligned, long ones summarised."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.promotion import to_complex
from aten.scalar.unpatched import math


class PrintOptions:
    """What `set_printoptions` sets."""

    precision = 4
    threshold = 1000  # more elements are summarised
    edgeitems = 3  # shown at each end of a summarised dimension
    linewidth = 80
    sci_mode: bool | None = None


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors print; `profile` is "default", "short" or "full"."""
    profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
    if profile in profiles:
        PrintOptions.precision, PrintOptions.threshold, PrintOptions.edgeitems, PrintOptions.linewidth = profiles[profile]
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(PrintOptions, name, value)
    PrintOptions.sci_mode = sci_mode


def _float_format(values: np.ndarray) -> Callable[[Any], str]:
    """One format for all values: integers with a point, fixed digits, or scientific where the range is wide."""
    finite = np.abs(values[np.isfinite(values) & (values != 0)])
    precision = PrintOptions.precision
    if finite.size == 0:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else f"{v}"
    largest, smallest = float(finite.max()), float(finite.min())
    whole = bool(np.all(finite == np.ceil(finite)))
    scientific = largest / smallest > 1000 or largest > 1e8 or (not whole and smallest < 1e-4)
    if PrintOptions.sci_mode is not None:
        scientific = PrintOptions.sci_mode
    if scientific:
        return lambda v: f"{v:.{precision}e}"
    if whole:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else f"{v}"
    return lambda v: f"{v:.{precision}f}"


def _formatter(values: np.ndarray) -> Callable[[Any], str]:
    """A function from an element to its text; all texts of `values` come out equally wide."""
    if values.dtype.kind == "b" or values.dtype.kind in "iu":
        show: Callable[[Any], str] = str
    elif values.dtype.kind == "c":
        real, imaginary = _formatter(values.real.ravel()), _formatter(np.abs(values.imag).ravel())
        return lambda v: f"{real(v.real)}{'-' if np.signbit(v.imag) else '+'}{imaginary(abs(v.imag)).strip()}j"
    else:
        show = _float_format(values)
        values = values[np.isfinite(values) & (values != 0)]  # PyTorch's columns are as wide as these
    width = max((len(show(v)) for v in values.ravel().tolist()), default=0)
    return lambda v: show(v).rjust(width)


def _ends(n: int, shorten: bool) -> tuple[list[int], list[int]]:
    edge = PrintOptions.edgeitems
    if shorten and n > 2 * edge:
        return list(range(edge)), list(range(n - edge, n))
    return list(range(n)), []


def _vector(values: np.ndarray, indent: int, show: Callable[[Any], str], shorten: bool) -> str:
    head, tail = _ends(len(values), shorten)
    items = values.tolist()
    texts = [show(items[i]) for i in head] + ([" ..."] if tail else []) + [show(items[i]) for i in tail]
    width = max((len(t) for t in texts), default=0) + 2
    per_line = max(1, (PrintOptions.linewidth - indent) // width)
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(values: np.ndarray, indent: int, show: Callable[[Any], str], shorten: bool) -> str:
    if values.ndim == 0:
        return show(values.item())
    if values.ndim == 1:
        return _vector(values, indent, show, shorten)
    head, tail = _ends(len(values), shorten)
    slices = [_nested(values[i], indent + 1, show, shorten) for i in head]
    if tail:
        slices += ["..."] + [_nested(values[i], indent + 1, show, shorten) for i in tail]
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(slices) + "]"


def _shown(values: np.ndarray, shorten: bool) -> np.ndarray:
    """The elements that will be printed: they alone decide the format."""
    if shorten:
        for dim, size in enumerate(values.shape):
            head, tail = _ends(size, True)
            values = values.take(head + tail, dim)
    return values


def _values(tensor: Any) -> np.ndarray:
    array = tensor.numpy(force=True)
    if tensor.dtype is dtypes.complex32:
        return array["real"].astype(np.float32) + 1j * array["imag"].astype(np.float32)
    return array.astype(np.float32) if tensor.dtype is dtypes.bfloat16 or tensor.dtype in dtypes.FLOAT8 else array


def _suffixes(tensor: Any) -> Iterable[str]:
    if not tensor.is_cpu:
        yield f"device='{tensor.device}'"
    empty = not tensor.is_meta and tensor.numel() == 0
    if tensor.is_meta or (empty and tensor.ndim != 1):
        yield f"size={tuple(tensor.shape)}"
    natural = (
        {_native.get_default_dtype()}
        if empty or tensor.is_meta
        else {_native.get_default_dtype(), to_complex(_native.get_default_dtype()), dtypes.int64, dtypes.bool}
    )
    if tensor.dtype not in natural:
        yield f"dtype={tensor.dtype!r}"
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:  # a view whose memory was written where autograd cannot follow
        yield "grad_fn=<Invalid>"
        return
    if grad_fn is not None:
        yield f"grad_fn=<{grad_fn.name()}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"


def elements_text(tensor: Any, indent: int) -> str:
    """The elements of a tensor with memory; lines behind the first begin at column `indent`."""
    if tensor.is_meta:
        return "..."
    if tensor.numel() == 0:
        return "[]"
    values = _values(tensor)
    shorten = values.size > PrintOptions.threshold
    return _nested(values, indent, _formatter(_shown(values, shorten)), shorten)


def tensor_text(tensor: Any, prefix: str | None = None, *, tensor_contents: str | None = None) -> str:
    """The repr of a tensor with memory; `tensor_contents` stands for the elements of one that has none. Subclasses are called
    by their name."""
    if prefix is None:
        prefix = f"{'tensor' if type(tensor) is _native.Tensor else type(tensor).__name__}("
    indent = len(prefix)
    body = elements_text(tensor, indent) if tensor_contents is None else tensor_contents
    text = prefix + body
    last = len(text) - (text.rfind("\n") + 1)
    for suffix in _suffixes(tensor):
        if last + len(suffix) + 3 > PrintOptions.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"


__all__ = ["PrintOptions", "set_printoptions", "tensor_text"]
