"""Resizing of images and sequences: weighed sums of a few elements along each dim, one dim after the other."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.meta import Meta, channels_innermost, exceeds, known_equal
from aten.op import composite, op, ops
from aten.ops.by_definition import by_definition
from aten.promotion import TYPE_NAMES
from aten.scalar.unpatched import math
from aten.shapes import is_int

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
    shrinks = [bool(o < s) for _, o, s, _ in dims]
    first_ones = [dim for dim, less in zip(dims, shrinks) if less]  # what follows has less to do
    # Then the last dim, whose elements are gathered one by one, while the others are short.
    ordered = first_ones + [dim for dim, less in zip(dims, shrinks) if not less][::-1]
    if mode in _NEAREST:
        if dtype.itemsize == 2 and x.requires_grad and _native.is_grad_enabled():
            x = x.to(dtypes.float32)  # in which the gradients of all dims are added up
        places = {d: _nearest(o, s, f, mode == "nearest-exact", len(dims) == 2) for d, o, s, f in ordered}
        if len(dims) > 1 and dims[-1][0] == x.ndim - 1:
            x = nearest(x, places.pop(x.ndim - 2), places.pop(x.ndim - 1))
        for d, at in places.items():
            x = ops.index_select(x, d, at)
        return x.to(dtype)
    of_bytes = dtype is dtypes.uint8
    x = x.to(dtypes.float32) if dtype.itemsize == 2 else x
    if mode in _DIMS and mode != "bicubic" and not antialias:  # the same sizes are told by sizes whatever the scale
        ordered = [(d, o, s, None if f is not None and bool(o == s) else f) for d, o, s, f in ordered]
    for d, o, _, f in [dim for dim in reversed(dims) if not known_equal(dim[1], dim[2])] if of_bytes else ordered:
        how = f, mode == "bicubic", align, antialias
        x = resample_bytes(x, d, o, *how) if of_bytes else resample(x, d, o, *how)
    return x.to(dtype)


# ------------------------------------------------------------------------------------------------------------ sums
@op(
    "resample(Tensor input, int dim, int out, float? scale, bool cubic, bool align, bool antialias) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def resample(input: Meta, dim: int, out: Any, scale: Any, cubic: bool, align: bool, antialias: bool) -> Meta:
    """A dim (not negative) resized to `out` elements, of which each is the sum of some of the input's, weighed (`_taps`)."""
    return Meta.contiguous((*input.sizes[:dim], out, *input.sizes[dim + 1 :]), input.dtype, input.device)


@op(
    "resample_backward(Tensor grad, int dim, int size, float? scale, bool cubic, bool align, bool antialias) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def resample_backward(grad: Meta, dim: int, size: Any, scale: Any, cubic: bool, align: bool, antialias: bool) -> Meta:
    """The gradient of an input of `resample` with `size` elements along dim."""
    return Meta.contiguous((*grad.sizes[:dim], size, *grad.sizes[dim + 1 :]), grad.dtype, grad.device)


def _taps(out: Any, size: Any, scale: Any, cubic: bool, align: bool, antialias: bool) -> tuple[Any, Any]:
    """(places, weights), both [out, k]: what each element of the result is the weighed sum of. (Natively: resample_kernels.cpp.)"""
    if antialias:
        return _smooth_taps(out, size, align, scale, cubic)
    places, weights = zip(*(_cubic_taps if cubic else _linear_taps)(out, size, align, scale))
    return ops.stack(list(places), 1), ops.stack(list(weights), 1)


def _columns(x: Any, *taps: Any) -> list[tuple[Any, Any]]:
    """The k-th place of all sums and its weights, for each k."""
    places, weights = _taps(*taps)
    return [(ops.select(places, 1, k), ops.select(weights, 1, k).to(x.dtype)) for k in range(int(places.shape[1]))]


@resample.decompose
def _(input, dim, out, *how):
    along = [1] * dim + [-1] + [1] * (input.ndim - dim - 1)
    taps = _columns(input, out, input.shape[dim], *how)
    return sum(ops.index_select(input, dim, at) * weight.reshape(along) for at, weight in taps)


@resample_backward.decompose
def _(grad, dim, size, *how):
    place, matrix = ops.arange(size, device=grad.device), 0.0
    for at, weight in _columns(grad, grad.shape[dim], size, *how):  # (products with mostly zeros, but no place is written twice)
        matrix = matrix + ops.eq(place.unsqueeze(1), at).to(weight.dtype) * weight
    return ops.movedim(ops.movedim(grad, dim, -1) @ ops.transpose(matrix, 0, 1), -1, dim)


resample.kernel(by_definition(lambda *args: resample.decompose_fn(*args)))
resample_backward.kernel(by_definition(lambda *args: resample_backward.decompose_fn(*args)))


@resample.vjp
def _(g, input_meta, dim, scale, cubic, align, antialias):
    return resample_backward(g, dim, input_meta.sizes[dim], scale, cubic, align, antialias)


@resample_backward.vjp
def _(g, grad_meta, dim, scale, cubic, align, antialias):
    return resample(g, dim, grad_meta.sizes[dim], scale, cubic, align, antialias)


resample.whole = resample_backward.whole = True


@op(
    "resample_bytes(Tensor input, int dim, int out, float? scale, bool cubic, bool align, bool antialias) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def resample_bytes(input: Meta, dim: int, out: Any, scale: Any, cubic: bool, align: bool, antialias: bool) -> Meta:
    """`resample` of bytes: by weights of 15 bits, rounded to bytes, as PyTorch's kernels for images do."""
    return Meta.contiguous((*input.sizes[:dim], out, *input.sizes[dim + 1 :]), input.dtype, input.device)


@resample_bytes.decompose
def _(input, dim, out, *how):
    size = input.shape[dim]
    places, weights = _taps(out, size, *how)
    matrix = ops.sum(ops.eq(places.unsqueeze(2), ops.arange(size, device=input.device)) * weights.unsqueeze(2), [1])
    powers = ops.arange(23, dtype=dtypes.float64, device=input.device).exp2()
    fitting = (ops.amax(matrix) * powers + 0.5).floor() < 2.0**15
    scale = ops.amax(ops.where(fitting, powers, 1.0))
    matrix = matrix * scale
    matrix = (matrix + ops.where(matrix < 0, -0.5, 0.5)).trunc()
    x = input.to(dtypes.float64)
    sums = ops.movedim(ops.movedim(x, dim, -1) @ ops.transpose(matrix, 0, 1), -1, dim)
    return ((sums + scale * 0.5) / scale).floor().clamp(0, 255).to(dtypes.uint8)


resample_bytes.kernel(by_definition(lambda *args: resample_bytes.decompose_fn(*args)))


# ---------------------------------------------------------------------------------------------------------- places
@op("nearest(Tensor input, LongTensor rows, LongTensor columns) -> Tensor", tags=["fused", "function_only", "hidden"])
def nearest(input: Meta, rows: Meta, columns: Meta) -> Meta:
    """Some rows and columns, the last two dims, one by one."""
    return Meta.contiguous((*input.sizes[:-2], rows.sizes[0], columns.sizes[0]), input.dtype, input.device)


@op(
    "nearest_backward(Tensor grad, LongTensor rows, LongTensor columns, int height, int width) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def nearest_backward(grad: Meta, rows: Meta, columns: Meta, height: Any, width: Any) -> Meta:
    """The gradient of an input of `nearest` of that height and width."""
    return Meta.contiguous((*grad.sizes[:-2], height, width), grad.dtype, grad.device)


@nearest.decompose
def _(input, rows, columns):
    return ops.index_select(ops.index_select(input, input.ndim - 2, rows), input.ndim - 1, columns)


@nearest_backward.decompose
def _(grad, rows, columns, height, width):
    lead, n = list(grad.shape[:-2]), grad.ndim
    zeros = lambda *sizes: ops.zeros([*lead, *sizes], dtype=grad.dtype, device=grad.device)
    summed = ops.index_add(zeros(height, grad.shape[-1]), n - 2, rows, grad)
    return ops.index_add(zeros(height, width), n - 1, columns, summed)


nearest.kernel(by_definition(lambda *args: nearest.decompose_fn(*args)))
nearest_backward.kernel(by_definition(lambda *args: nearest_backward.decompose_fn(*args)))
nearest.vjp(lambda g, input_meta, rows, columns: nearest_backward(g, rows, columns, *input_meta.sizes[-2:]))
nearest_backward.vjp(lambda g, rows, columns: nearest(g, rows, columns))


def _nearest(out: Any, size: Any, scale: float | None, exact: bool, of_image: bool) -> Any:
    if scale is not None and not exact and of_image:  # the same sizes, and twice as many, are told by sizes whatever the scale
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


def _smooth_taps(out: Any, size: Any, align: bool, scale: float | None, cubic: bool) -> tuple[Any, Any]:
    """Those of a filter that is as wide as the reduction (antialias)."""
    if align:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = 1 / scale if scale is not None else size / out
    width = max(step, 1.0)
    reach = 2 * width if cubic else width
    centre = (ops.arange(out, dtype=dtypes.float64) + 0.5) * step
    place = ops.floor(centre - reach + 0.5).unsqueeze(1) + ops.arange(2 * int(math.ceil(reach)) + 1)
    distance = (place + 0.5 - centre.unsqueeze(1)) / width
    weight = _cubic(distance, -0.5) if cubic else (1 - distance.abs()).clamp(min=0)
    weight = ops.where((place >= 0) & (place < size), weight, 0.0)
    return place.clamp(0, size - 1).to(dtypes.int64), weight / ops.sum(weight, [1], True)


# ------------------------------------------------------------------------------------------------------- old names
@composite("upsample_nearest(Tensor input, Any size=None, Any scale_factor=None) -> Tensor", tags=["function_only"])
def upsample_nearest(input, size, scale_factor):
    """`interpolate` with mode nearest."""
    return interpolate(input, size, scale_factor)


@composite("upsample_bilinear(Tensor input, Any size=None, Any scale_factor=None) -> Tensor", tags=["function_only"])
def upsample_bilinear(input, size, scale_factor):
    """`interpolate` with mode bilinear and aligned corners."""
    return interpolate(input, size, scale_factor, "bilinear", True)
