"""Comparison of results in tests, and tensors to test with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import aten
from aten import Tensor

# (rtol, atol) by dtype, as in PyTorch's assert_close
_TOLERANCE = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
_TOLERANCE |= {f"complex{2 * int(n[5:])}": t for n, t in _TOLERANCE.items() if n != "bfloat16"}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    check_device: bool = True,
    check_stride: bool = False,
    msg: str | None = None,
) -> None:
    """Raises AssertionError unless |actual - expected| <= atol + rtol |expected| everywhere, and sizes, dtypes and structure agree.

    Tolerances default by dtype; give both or neither. Sequences and mappings are compared element by element.
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    rest = {
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "check_dtype": check_dtype,
        "check_device": check_device,
        "check_stride": check_stride,
        "msg": msg,
    }
    if actual is None or expected is None:
        assert actual is expected, msg or f"None mismatch: {actual} is not {expected}"
        return
    _check_kinds(actual, expected, check_dtype, msg)
    if isinstance(expected, dict):
        assert isinstance(actual, dict) and set(actual) == set(expected), msg or "The keys of the mappings do not match"
        for key in expected:
            assert_close(actual[key], expected[key], **rest)
        return
    if isinstance(expected, (list, tuple)):
        assert isinstance(actual, (list, tuple)) and len(actual) == len(expected), (
            msg or "The lengths of the sequences do not match"
        )
        for a, e in zip(actual, expected):
            assert_close(a, e, **rest)
        return
    if isinstance(expected, Tensor):
        assert tuple(actual.shape) == tuple(expected.shape), (
            msg or f"Shapes do not match: {actual.shape} != {expected.shape}"
        )
        assert actual.layout == expected.layout, (
            msg or f"The values for attribute 'layout' do not match: {actual.layout} != {expected.layout}"
        )
        assert not check_dtype or actual.dtype == expected.dtype, (
            msg or f"dtypes do not match: {actual.dtype} != {expected.dtype}"
        )
        assert not check_device or actual.device == expected.device, (
            msg or f"Devices do not match: {actual.device} != {expected.device}"
        )
        if actual.layout is not aten.strided:
            parts = [(x.coalesce() if x.is_sparse else x)._pieces() for x in (actual, expected)]
            assert_close(*parts, **rest)
            return
        assert not check_stride or actual.stride() == expected.stride(), msg or "Strides do not match"
        if actual.is_meta or expected.is_meta:
            return
    _values(actual, expected, rtol, atol, equal_nan, msg)


def _check_kinds(actual: Any, expected: Any, check_dtype: bool, msg: str | None) -> None:
    """Raises TypeError where one is a tensor, an array or a container and the other is not, AssertionError for numbers of two."""
    pair = actual, expected
    for kind in (Tensor, np.ndarray, dict, (list, tuple)):
        if isinstance(actual, kind) != isinstance(expected, kind):
            raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    if check_dtype and isinstance(actual, np.ndarray):
        assert actual.dtype == expected.dtype, msg or f"dtypes do not match: {actual.dtype} != {expected.dtype}"
    kinds = [type(x.item() if isinstance(x, np.generic) else x) for x in pair]
    if check_dtype and all(kind in (bool, int, float, complex) for kind in kinds):
        assert kinds[0] is kinds[1], msg or f"The (d)types do not match: {kinds[0]} != {kinds[1]}."


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: str = ""
) -> None:
    """`assert_close` as it was called before: numbers and lists are made tensors, dtypes may differ, NaN equals NaN."""
    actual, expected = (x if isinstance(x, Tensor) else aten.tensor(x) for x in (actual, expected))
    assert_close(
        actual, expected.to(actual.dtype), rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None
    )


def _values(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, equal_nan: bool, msg: str | None
) -> None:
    pair = [x.detach().cpu() if isinstance(x, Tensor) else x for x in (actual, expected)]
    names = [x.dtype.name for x in pair if isinstance(x, Tensor) and x.dtype.name in _TOLERANCE]
    a, e = (np.asarray(x.numpy() if isinstance(x, Tensor) else x) for x in pair)
    for x, given in ((a, actual), (e, expected)):
        if not isinstance(given, Tensor) and x.dtype.kind not in "biufc":  # (of tensors bfloat16 and float8 are void to NumPy)
            raise TypeError(
                f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}: {given!r} is no number"
            )
    if rtol is None:
        found = [_TOLERANCE[n] for n in names] or [_TOLERANCE["float64"] if a.dtype.kind in "fc" else (0.0, 0.0)]
        rtol, atol = max(r for r, _ in found), max(t for _, t in found)
    if a.dtype.kind in "biu" and e.dtype.kind in "biu":
        bad = a != e
    else:
        wide = np.complex128 if "c" in (a.dtype.kind, e.dtype.kind) else np.float64
        bad = ~np.isclose(a.astype(wide), e.astype(wide), rtol=rtol, atol=atol, equal_nan=equal_nan)
    if np.any(bad):
        where = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
        raise AssertionError(
            msg
            or f"{int(np.sum(bad))} of {bad.size} elements are not close (rtol={rtol}, atol={atol}); the first at "
            f"{tuple(int(i) for i in where)}: {a[where]} != {e[where]}"
        )


def _real(dtype: Any) -> Any:
    return aten.float64 if dtype is aten.complex128 else aten.float32


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of numbers drawn evenly from [low, high): by default [-9, 9), [-9, 10) of integers, [0, 10) of unsigned ones.

    exclude_zero: zeros are replaced by the least number above. noncontiguous: its elements lie at every other place.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, got {memory_format=}")
    floats = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not floats:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    signed = floats or dtype.is_signed
    low = low if low is not None else -9 if signed and dtype is not aten.bool else 0
    high = high if high is not None else 2 if dtype is aten.bool else 9 if floats else 10
    if not low < high:
        raise ValueError(f"make_tensor: `low` must be less than `high`, but got {low} >= {high}")
    drawn = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and sizes else sizes
    if dtype.is_complex:
        parts = [aten.empty(drawn, dtype=_real(dtype), device=device).uniform_(low, high) for _ in range(2)]
        made = aten.complex(*parts).to(dtype)
    elif floats:
        wide = dtype if dtype in (aten.float32, aten.float64) else aten.float32
        made = aten.empty(drawn, dtype=wide, device=device).uniform_(low, high).to(dtype)
    else:
        made = aten.randint(math.floor(low), math.ceil(high), drawn, device=device).to(dtype)
    if exclude_zero:
        least = aten.finfo(dtype).tiny if floats else 1
        made = aten.where(made == 0, aten.full_like(made, least), made)
    if noncontiguous and sizes:
        made = made[..., ::2]
    elif memory_format is not None:
        made = made.contiguous(memory_format=memory_format)
    return made.requires_grad_(requires_grad) if requires_grad else made
