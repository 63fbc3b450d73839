"""Resizing of images and sequences, as composites: a weighted sum of elements along each dim, one dim after the other."""

import math
from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.meta import Meta, channels_innermost, exceeds
from aten.op import composite, ops
from aten.promotion import TYPE_NAMES
from aten.shapes import is_int, product

_DIMS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_NEAREST = ("nearest", "nearest-exact")


@composite(
    "interpolate(Tensor input, Any size=None, Any scale_factor=None, str mode='nearest', bool? align_corners=None, "
    "bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
    tags=["function_only"],
)
def interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    """[N, C, *S] resized to a size or by a factor: nearest, nearest-exact, linear, bilinear, trilinear, bicubic, area.

    Bytes are rounded to the nearest, and limited to what they hold.
    """
    n, sizes = input.ndim - 2, list(input.shape[2:])
    if mode in ("area", *_NEAREST) and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    out, scales = _wanted(sizes, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    _check_mode(mode, input.ndim)
    if mode == "area":
        return getattr(ops, f"adaptive_avg_pool{n}d")(input, out)
    if any(exceeds(1, s) for s in (*out, *sizes)):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {tuple(sizes)} output {tuple(out)}"
        )
    if not input.dtype.is_floating_point and input.dtype is not dtypes.uint8:
        raise NotImplementedError(f"\"upsample_{mode}{n}d\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
    if channels_innermost(Meta.of(input)):
        inner = [0, *range(2, input.ndim), 1]
        resized = _resized(input.permute(inner), 1, out, sizes, scales, mode, bool(align_corners), antialias)
        return resized.permute([0, input.ndim - 1, *range(1, input.ndim - 1)])
    return _resized(input, 2, out, sizes, scales, mode, bool(align_corners), antialias)


def _wanted(sizes: list[Any], size: Any, factor: Any, recompute: Any) -> tuple[list[Any], list[Any]]:
    """The sizes of the result, and the factors by which places are found (None: the quotient of sizes)."""
    n = len(sizes)
    if size is not None and factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if recompute and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    given, what = (size, "output size") if size is not None else (factor, "scale_factor")
    if isinstance(given, (list, tuple)) and len(given) != n:
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of {sizes} "
            f"and {what} of {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and {what} in (o1, o2, ...,oK) "
            "format."
        )
    if size is not None:
        out = list(size) if isinstance(size, (list, tuple)) else [size] * n
        if not all(is_int(o) or isinstance(o, np.integer) for o in out):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types "
                f"{[type(o) for o in out]}"
            )
        return [int(o) if isinstance(o, np.integer) else o for o in out], [None] * n
    factors = list(factor) if isinstance(factor, (list, tuple)) else [factor] * n
    out = [int(math.floor(s * f)) for s, f in zip(sizes, factors)]
    return out, [None] * n if recompute else factors


def _check_mode(mode: str, ndim: int) -> None:
    if ndim in (3, 4, 5) and mode in _DIMS and _DIMS[mode] != ndim - 2:
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_DIMS[mode] + 2}D input")
    if ndim not in (3, 4, 5) or mode not in (*_DIMS, *_NEAREST, "area"):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | bilinear | "
            f"bicubic | trilinear | area | nearest-exact (got {mode})"
        )


def _resized(
    x: Any, first: int, out: list[Any], sizes: list[Any], scales: list[Any], mode: str, align: bool, antialias: bool
) -> Any:
    """x whose dims from `first` on become `out`."""
    dims = list(zip(range(first, first + len(out)), out, sizes, scales))
    dtype = x.dtype
    if mode in _NEAREST:
        if dtype.itemsize == 2 and x.requires_grad and _native.is_grad_enabled():
            x = x.to(dtypes.float32)  # in which the gradients of all dims are added up
        for d, o, s, f in dims:
            x = ops.index_select(x, d, _nearest(o, s, f, mode == "nearest-exact"))
        return x.to(dtype)
    x = x if dtype.itemsize > 2 else x.to(dtypes.float32)
    for d, o, s, f in dims:
        if antialias:
            matrix = _smooth(o, s, align, f, mode == "bicubic")
        else:
            matrix = _matrix(_cubic_taps(o, s, align, f) if mode == "bicubic" else _linear_taps(o, s, align, f), s)
        x = _along(x, d, matrix.to(x.dtype))
    return x.round().clamp(0, 255).to(dtype) if dtype is dtypes.uint8 else x.to(dtype)


def _along(x: Any, d: int, matrix: Any) -> Any:
    """x with dim d replaced by its products with the rows of a matrix, row-major."""
    if d == x.ndim - 1:
        return x @ matrix.t()
    sizes = list(x.shape)
    flat = x.reshape([product(sizes[:d]), sizes[d], product(sizes[d + 1 :])])
    return (matrix @ flat).reshape([*sizes[:d], matrix.shape[0], *sizes[d + 1 :]])


def _matrix(taps: list[tuple[Any, Any]], size: Any) -> Any:
    """Rows of as many weights as elements, from (places, weights) of what counts."""
    place = ops.arange(size)
    return sum(ops.eq(place, at.unsqueeze(1)).to(dtypes.float64) * weight.unsqueeze(1) for at, weight in taps)


# ---------------------------------------------------------------------------------------------------------- places
def _nearest(out: Any, size: Any, scale: float | None, exact: bool) -> Any:
    if scale is not None and not exact:  # the same sizes, and twice as many, are told by sizes whatever the scale
        if bool(out == size):
            return ops.arange(out)
        if bool(out == 2 * size):
            return ops.floor_divide(ops.arange(out), 2)
    i = ops.arange(out, dtype=dtypes.float32)
    at = (i + 0.5 if exact else i) * (1 / scale if scale is not None else size / max(out, 1))
    return at.floor().to(dtypes.int64).clamp(max=size - 1)


def _source(out: Any, size: Any, align: bool, scale: float | None) -> Any:
    """Where each element of the result lies in the input."""
    i = ops.arange(out, dtype=dtypes.float64)
    if align:
        return i * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return (i + 0.5) * (1 / scale if scale is not None else size / max(out, 1)) - 0.5


def _linear_taps(out: Any, size: Any, align: bool, scale: float | None) -> list[tuple[Any, Any]]:
    at = _source(out, size, align, scale).clamp(min=0)
    low = at.floor().clamp(max=size - 1)
    weight, low = at - low, low.to(dtypes.int64)
    return [(low, 1 - weight), ((low + 1).clamp(max=size - 1), weight)]


def _cubic(t: Any, a: float) -> Any:
    t = t.abs()
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return ops.where(t <= 1, near, ops.where(t < 2, far, 0.0))


def _cubic_taps(out: Any, size: Any, align: bool, scale: float | None) -> list[tuple[Any, Any]]:
    at = _source(out, size, align, scale)
    first = at.floor()
    return [((first + k).clamp(0, size - 1).to(dtypes.int64), _cubic(at - (first + k), -0.75)) for k in range(-1, 3)]


def _smooth(out: Any, size: Any, align: bool, scale: float | None, cubic: bool) -> Any:
    """The matrix of a filter that is as wide as the reduction (antialias)."""
    step = (size - 1) / (out - 1) if align and out > 1 else 1 / scale if scale is not None else size / out
    width = max(step, 1.0)
    centre = (ops.arange(out, dtype=dtypes.float64) + 0.5) * step
    distance = (ops.arange(size, dtype=dtypes.float64) + 0.5 - centre.unsqueeze(1)) / width
    weight = _cubic(distance, -0.5) if cubic else (1 - distance.abs()).clamp(min=0)
    return weight / ops.sum(weight, [1], True)


# ------------------------------------------------------------------------------------------------------- old names
@composite("upsample_nearest(Tensor input, Any size=None, Any scale_factor=None) -> Tensor", tags=["function_only"])
def upsample_nearest(input, size, scale_factor):
    """`interpolate` with mode nearest."""
    return interpolate(input, size, scale_factor)


@composite("upsample_bilinear(Tensor input, Any size=None, Any scale_factor=None) -> Tensor", tags=["function_only"])
def upsample_bilinear(input, size, scale_factor):
    """`interpolate` with mode bilinear and aligned corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)
