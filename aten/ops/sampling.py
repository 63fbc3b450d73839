"""Images sampled at the points of a grid."""

from typing import Any

from aten import dtype as dtypes
from aten.meta import Meta, exceeds
from aten.op import composite, op, ops
from aten.ops.by_definition import by_definition
from aten.promotion import TYPE_NAMES
from aten.scalar.unpatched import math
from aten.shapes import show


def _reflected(x: Any, low: float, high: float) -> Any:
    """x folded back into [low, high] (both in half pixels)."""
    if low == high:
        return x * 0
    start, span = low / 2, (high - low) / 2
    x = (x - start).abs()
    rest = ops.fmod(x, span)
    flips = ops.floor(x / span)
    return ops.where(ops.eq(ops.remainder(flips, 2), 0), rest + start, span - rest + start)


def _half_pixels(x: Any, size: int) -> Any:
    """x * size / 2 - 1/2, rounded once: a grid that means the middles of pixels hits them, or the same side of them, everywhere."""
    if x.dtype is not dtypes.float32:
        return (x * size - 1) / 2
    return ((x.to(dtypes.float64) * size - 1) / 2).to(dtypes.float32)


def _inside(x: Any, size: int, padding: str, align: bool) -> Any:
    """Coordinates moved into the image as the padding mode says (zeros: not moved); NaN lies at 0."""
    if padding == "reflection":
        x = _reflected(x, 0, 2 * (size - 1)) if align else _reflected(x, -1, 2 * size - 1)
    if padding == "zeros":
        return x
    edge = ops.where(ops.isnan(x), 0.0, x.clamp(0, size - 1)).detach()
    return ops.where((x > 0) & (x < size - 1), x, edge)  # (without a slope on the border itself, as in PyTorch)


def _pixels(image: Any, at: list[Any]) -> Any:
    """image[n, :, at...] as [N, C, *grid], 0 where a coordinate is outside."""
    n, c, *sizes = image.shape
    grid = list(at[0].shape[1:])
    valid, flat = None, 0
    for x, size in zip(at, sizes):
        fits = (x >= 0) & (x <= size - 1)
        valid = fits if valid is None else valid & fits
        flat = flat * size + x.clamp(0, size - 1).to(dtypes.int64)
    flat = ops.where(valid, flat, 0).reshape([n, 1, math.prod(grid)]).expand([n, c, math.prod(grid)])
    found = ops.gather(image.reshape([n, c, math.prod(sizes)]), 2, flat).reshape([n, c, *grid])
    return ops.where(valid.unsqueeze(1), found, 0)


def _linear(image: Any, at: list[Any]) -> Any:
    low = [ops.floor(x.detach()) for x in at]
    total = 0.0
    for corner in range(2 ** len(at)):
        places: list[Any] = []
        weight: Any = 1.0
        for d, (x, base) in enumerate(zip(at, low)):
            high = corner >> d & 1
            places.append(base + high)
            weight = weight * ((x - base) if high else (base + 1 - x))
        total = total + _pixels(image, places) * weight.unsqueeze(1)
    return total


def _cubic_weights(t: Any) -> list[Any]:
    a = -0.75
    far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(image: Any, raw: list[Any], padding: str, align: bool) -> Any:
    (y, x), (height, width) = raw, image.shape[2:]
    y0, x0 = ops.floor(y.detach()), ops.floor(x.detach())
    total = 0.0
    for i, wy in enumerate(_cubic_weights(y - y0)):
        for j, wx in enumerate(_cubic_weights(x - x0)):
            place = [_inside(y0 + (i - 1), height, padding, align), _inside(x0 + (j - 1), width, padding, align)]
            total = total + _pixels(image, place) * (wy * wx).unsqueeze(1)
    return total


def _check_grid(input: Any, grid: Any, mode: str) -> None:
    n = input.ndim - 2
    if bool(grid.shape[-1] != n):
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes {show(grid.shape)}"
        )
    both = f"input with sizes {show(input.shape)} and grid with sizes {show(grid.shape)}"
    if bool(grid.shape[0] != input.shape[0]):
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {both}")
    if grid.ndim != input.ndim:
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {both}")
    for d in range(2, input.ndim):
        if bool(input.shape[d] <= 0):
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {show(input.shape)} "
                f"with dimension {d} being empty"
            )
    if mode == "bicubic" and n != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


@composite(
    "grid_sample(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> Tensor",
    tags=["function_only"],
)
def grid_sample(input, grid, mode, padding_mode, align_corners):
    """The image [N, C, *S] at the points grid [N, *S', d] of [-1, 1]: bilinear, nearest or bicubic."""
    _check_grid(input, grid, mode)
    if grid.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {TYPE_NAMES[input.dtype.name]} but found {TYPE_NAMES[grid.dtype.name]}")
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    return sample_points(input, grid, mode, padding_mode, bool(align_corners))


@op(
    "sample_points(Tensor input, Tensor grid, str mode, str padding, bool align) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def sample_points(input: Meta, grid: Meta, mode: str, padding: str, align: bool) -> Meta:
    """`grid_sample` of arguments that fit."""
    return input.like(sizes=(*input.sizes[:2], *grid.sizes[1:-1]))


@sample_points.decompose
def _(input, grid, mode, padding_mode, align):
    n, raw = input.ndim - 2, []
    for d, size in enumerate(input.shape[2:]):
        x = ops.select(grid, -1, n - 1 - d)
        raw.append((x + 1) * ((size - 1) / 2) if align else _half_pixels(x + 1, size))
    if mode == "bicubic":
        return _cubic(input, raw, padding_mode, align)
    at = [_inside(x, size, padding_mode, align) for x, size in zip(raw, input.shape[2:])]
    if mode != "nearest":
        return _linear(input, at)
    found = _pixels(input, [ops.round(x) for x in at])
    flat = sum(raw).unsqueeze(1) * 0  # the nearest pixel does not change with the place: its gradient is zero, but there
    return ops.replace_values(found + flat, found.detach()) if grid.requires_grad else found


@op(
    "sample_points_backward(Tensor input, Tensor grid, Tensor grad, str mode, str padding, bool align) -> (Tensor, Tensor)",
    tags=["fused", "function_only", "hidden"],
)
def sample_points_backward(
    input: Meta, grid: Meta, grad: Meta, mode: str, padding: str, align: bool
) -> tuple[Meta, Meta]:
    """The gradients of input and grid of `sample_points`."""
    return input.like(sizes=input.sizes), grid.like(sizes=grid.sizes)


@sample_points.vjp
def _(g, needs, input, grid, mode, padding, align):
    found = sample_points_backward(input, grid, g, mode, padding, align)
    return tuple(x if need else None for x, need in zip(found, needs))


@sample_points_backward.decompose
def _(input, grid, grad, mode, padding, align):
    from aten.transforms.reverse_mode import vjp  # which is made of ops

    _, pull = vjp(lambda x, at: sample_points.decompose_fn(x, at, mode, padding, align), input, grid)
    return tuple(pull(grad))


sample_points.kernel(by_definition(lambda *args: sample_points.decompose_fn(*args)))
sample_points_backward.kernel(by_definition(lambda *args: sample_points_backward.decompose_fn(*args)))


def _public(name: str) -> None:
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")

    @composite(
        f"{name}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        tags=["function_only"],
    )
    def definition(input, grid, interpolation_mode, padding_mode, align_corners):
        """`grid_sample` with modes by number."""
        return grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)


_public("grid_sampler_2d")
_public("grid_sampler_3d")


@composite("affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor", tags=["function_only"])
def affine_grid(theta, size, align_corners):
    """The grid that `grid_sample` needs to transform an image by matrices [N, d, d + 1]."""
    if len(size) not in (4, 5):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {tuple(size)}."
        )
    n, _, *spatial = size
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(spatial) in (2, 3) and (theta.ndim != 3 or tuple(theta.shape[1:]) != (len(spatial), len(spatial) + 1)):
        kind = f"Nx{len(spatial)}x{len(spatial) + 1}"
        raise ValueError(
            f"Expected a batch of {len(spatial)}D affine matrices of shape {kind} for size {tuple(size)}. Got {theta.shape}."
        )
    if any(exceeds(1, s) for s in size):
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    axes = []
    for length in spatial:
        axis = ops.linspace(-1, 1, length, dtype=theta.dtype) if length > 1 else ops.zeros(length, dtype=theta.dtype)
        axes.append(axis if align_corners or length < 2 else axis * (length - 1) / length)
    d = len(spatial)
    total = theta[:, :, -1].reshape([n, d, *[1] * d])  # of each coordinate a plane, along whose last dim what is added last varies
    for k, axis in reversed(list(enumerate(reversed(axes)))):
        along = [1] * d
        along[d - 1 - k] = axis.shape[0]
        total = total + theta[:, :, k].reshape([n, d, *[1] * d]) * axis.reshape([1, 1, *along])
    return ops.movedim(total.expand([n, d, *spatial]), 1, -1).contiguous()
