"""Public convolutions, by the core op of `convolution.py`; windows as columns; shuffles of pixels and channels."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from aten.meta import Meta, exceeds
from aten.op import composite, op, ops, registry
from aten.ops.batching import to_front
from aten.ops.convolution import padded, turned, windows
from aten.ops.formats import keep_channels
from aten.promotion import TYPE_NAMES
from aten.shapes import is_empty, is_int, product, show


def spread_over(value: Any, n: int, name: str) -> list[int]:
    """One number a spatial dimension. Raises RuntimeError for another count."""
    if is_int(value):
        return [value] * n
    value = list(value)
    if len(value) == 1:
        return value * n
    if len(value) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution "
            f"dimensions, "
            f"but got {name}={show(value)}"
        )
    return value


def _check(name: str, x: Any, weight: Any, bias: Any, groups: int, n: int) -> None:
    if x.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {show(x.shape)}"
        )
    if x.dtype is not weight.dtype:
        raise RuntimeError(
            f"Input type ({TYPE_NAMES[x.dtype.name]}) and bias type ({TYPE_NAMES[weight.dtype.name]}) should be the same"
        )
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(
            f"Input type ({TYPE_NAMES[x.dtype.name]}) and bias type ({TYPE_NAMES[bias.dtype.name]}) should be the same"
        )
    if x.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {show(weight.shape)}, expected input{show(x.shape)} to have "
            f"{weight.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    if weight.shape[0] % groups or is_empty(weight.shape[0]):
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0")


def _check_steps(stride: list[int], padding: list[int], dilation: list[int]) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")


def _by(sizes: list[Any]) -> str:
    return f"({' x '.join(map(str, sizes))})"


def _result_sizes(sizes: Any, kernel: Any, before: Any, after: Any, stride: Any, dilation: Any) -> list[Any]:
    """Positions along each spatial dimension. Raises RuntimeError where a kernel is larger than what is padded."""
    wide = [s + b + a for s, b, a in zip(sizes, before, after)]
    for size, k, d in zip(wide, kernel, dilation):
        if exceeds((k - 1) * d + 1, size):
            raise RuntimeError(
                f"Calculated padded input size per channel: {_by(wide)}. Kernel size: {_by(kernel)}. Kernel size "
                "can't be greater than actual input size"
            )
    return [(w - d * (k - 1) - 1) // s + 1 for w, d, k, s in zip(wide, dilation, kernel, stride)]


def _convolved(x, weight, bias, size, stride, before, dilation, holes, groups):
    """A bias of another dtype than the weights', which only transposed convolutions take, does not change that of the result."""
    if x.dtype is not weight.dtype:
        found, expected = TYPE_NAMES[weight.dtype.name], TYPE_NAMES[x.dtype.name]
        raise RuntimeError(f"expected scalar type {expected} but found {found}")
    if is_empty(x.shape[1]):  # of no channels are no channels made, as in PyTorch
        weight, bias = weight.narrow(0, 0, 0), None if bias is None else bias.narrow(0, 0, 0)
    n = weight.shape[0]
    if bias is not None and (bias.ndim != 1 or exceeds(bias.shape[0], n) or exceeds(n, bias.shape[0])):
        raise RuntimeError(
            f"Given weight of size {show(weight.shape)}, expected bias to be 1-dimensional with {n} elements, but got bias of size "
            f"{show(bias.shape)} instead"
        )
    if bias is None or bias.dtype is weight.dtype:
        return ops.convolution(x, weight, bias, size, stride, before, dilation, holes, groups)
    result = ops.convolution(x, weight, None, size, stride, before, dilation, holes, groups)
    return (result + bias.reshape([-1] + [1] * len(size))).to(x.dtype)


def _conv(n: int) -> None:
    name = f"conv{n}d"

    @composite(
        f"{name}(Tensor input, Tensor weight, Tensor? bias=None, Any stride=1, Any padding=0, Any dilation=1, int "
        f"groups=1) -> Tensor",
        tags=["function_only"],
    )
    def definition(input, weight, bias, stride, padding, dilation, groups):
        """Cross-correlation of [N, C, *S] (or [C, *S]) with weights [O, C / groups, *K]; padding may be "same" or
        "valid".
        """
        if weight.ndim != n + 2:
            raise RuntimeError(f"{name}: expected weight to have {n + 2} dimensions, but got weight of size {show(weight.shape)}")
        x = input.unsqueeze(0) if input.ndim == n + 1 else input
        _check(name, x, weight, bias, groups, n)
        stride, dilation = spread_over(stride, n, "stride"), spread_over(dilation, n, "dilation")
        if padding == "same":
            if any(s != 1 for s in stride):
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            total = [(k - 1) * d for k, d in zip(weight.shape[2:], dilation)]
            before, after = [t // 2 for t in total], [t - t // 2 for t in total]
        else:
            if isinstance(padding, str) and padding != "valid":
                raise RuntimeError(f"Invalid padding string: '{padding}'")
            before = after = [0] * n if padding == "valid" else spread_over(padding, n, "padding")
        _check_steps(stride, before, dilation)
        size = _result_sizes(x.shape[2:], list(weight.shape[2:]), before, after, stride, dilation)
        result = _convolved(x, weight, bias, size, stride, before, dilation, [1] * n, groups)
        return result.squeeze([0]) if input.ndim == n + 1 else result


def _conv_transpose(n: int) -> None:
    name = f"conv_transpose{n}d"

    @composite(
        f"{name}(Tensor input, Tensor weight, Tensor? bias=None, Any stride=1, Any padding=0, Any "
        f"output_padding=0, int groups=1, "
        "Any dilation=1) -> Tensor",
        tags=["function_only"],
    )
    def definition(input, weight, bias, stride, padding, output_padding, groups, dilation):
        """The transpose of a convolution: weights are [C, O / groups, *K]."""
        x = input.unsqueeze(0) if input.ndim == n + 1 else input
        if x.ndim != n + 2:
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: {show(input.shape)}"
            )
        if x.shape[1] != weight.shape[0]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {show(weight.shape)}, expected input{show(x.shape)} to have "
                f"{weight.shape[0]} channels, but got {x.shape[1]} channels instead"
            )
        stride, dilation = spread_over(stride, n, "stride"), spread_over(dilation, n, "dilation")
        padding, extra = spread_over(padding, n, "padding"), spread_over(output_padding, n, "output_padding")
        _check_steps(stride, padding, dilation)
        if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation)):
            raise RuntimeError(
                f"output padding must be smaller than either stride or dilation, but got output_padding: {show(extra)} "
                f"stride: {show(stride)} dilation: {show(dilation)}"
            )
        kernel = list(weight.shape[2:])
        before = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding)]
        after = [b + e for b, e in zip(before, extra)]
        wide = [(s - 1) * h + 1 for s, h in zip(x.shape[2:], stride)]
        size = _result_sizes(wide, kernel, before, after, [1] * n, dilation)
        result = _convolved(x, turned(weight, groups), bias, size, [1] * n, before, dilation, stride, groups)
        return result.squeeze([0]) if input.ndim == n + 1 else result


for _n in (1, 2, 3):
    _conv(_n)
    _conv_transpose(_n)
    keep_channels(registry[f"conv{_n}d"], 1, gradients=True)
    keep_channels(registry[f"conv_transpose{_n}d"], 1, gradients=True)


_WINDOWS = "int[] kernel, int[] dilation, int[] padding, int[] stride"


@op(f"columns_of_image(Tensor input, {_WINDOWS}) -> Tensor", tags=["fused", "function_only", "hidden"])
def columns_of_image(input: Meta, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Meta:
    """Windows of [N, C, H, W] as columns [N, C * taps, places]; what the padding adds is 0."""
    out = _windows_along([s + 2 * p for s, p in zip(input.sizes[2:], padding)], kernel, dilation, stride)
    return input.like(sizes=[input.sizes[0], input.sizes[1] * product(kernel), product(out)])


@op(
    f"image_of_columns(Tensor input, int[] size, {_WINDOWS}) -> Tensor",
    tags=["fused", "function_only", "hidden"],
    compute="float32",
)
def image_of_columns(input: Meta, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Meta:
    """Columns added up where `columns_of_image` takes them from: [N, C, *size]."""
    return input.like(sizes=[input.sizes[0], input.sizes[1] // product(kernel), *size])


columns_of_image.vjp(
    lambda g, input_meta, kernel, dilation, padding, stride: image_of_columns(
        g, list(input_meta.sizes[2:]), kernel, dilation, padding, stride
    )
)
image_of_columns.vjp(lambda g, kernel, dilation, padding, stride: columns_of_image(g, kernel, dilation, padding, stride))
for _windowed in (columns_of_image, image_of_columns):
    _windowed.jvp(lambda tangents, input, *rest, _windowed=_windowed: _windowed(tangents[0], *rest[:-1]))


@columns_of_image.batch
def _(n, dims, x, *windows_like):
    x = to_front(x, dims[0])
    made = columns_of_image(ops.flatten(x, 0, 1), *windows_like)
    return made.reshape([n, x.shape[1], *made.shape[1:]]), 0


@image_of_columns.batch
def _(n, dims, x, size, *windows_like):
    x = to_front(x, dims[0])
    made = image_of_columns(ops.flatten(x, 0, 1), size, *windows_like)
    return made.reshape([n, x.shape[1], *made.shape[1:]]), 0


@columns_of_image.decompose
def _(input, kernel, dilation, padding, stride):
    shown = windows(padded(input, padding, padding), kernel, stride, dilation)
    n, c, h, w = shown.shape[:4]
    return ops.permute(shown, [0, 1, 4, 5, 2, 3]).reshape([n, c * product(kernel), h * w])


@image_of_columns.decompose
def _(input, size, kernel, dilation, padding, stride):
    _check_windows(kernel, padding)
    wide = [s + 2 * p for s, p in zip(size, padding)]
    out = _windows_along(wide, kernel, dilation, stride)
    n, c, places = input.shape[0], input.shape[1] // product(kernel), product(kernel) * product(out)
    at = _places(wide, kernel, out, dilation, stride).reshape([1, 1, places]).expand([n, c, places])
    flat = ops.scatter_add(input.new_zeros([n, c, product(wide)]), 2, at, input.reshape([n, c, places]))
    return padded(flat.reshape([n, c, *wide]), [-p for p in padding], [-p for p in padding])


def _each_tap(wide: np.ndarray, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Iterator[tuple[int, int, Any]]:
    """(tap down, tap across, what the windows of a padded image have there)."""
    out = _windows_along([s + 2 * p for s, p in zip(size, padding)], kernel, dilation, stride)
    along = lambda d, tap: slice(tap * dilation[d], tap * dilation[d] + (out[d] - 1) * stride[d] + 1, stride[d])
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            yield i, j, wide[:, :, along(0, i), along(1, j)]


@columns_of_image.kernel
def _(out, x, kernel, dilation, padding, stride):
    wide = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    to = out.reshape(*x.shape[:2], *kernel, out.shape[2])
    for i, j, shown in _each_tap(wide, x.shape[2:], kernel, dilation, padding, stride):
        to[:, :, i, j] = shown.reshape(*x.shape[:2], out.shape[2])


@image_of_columns.kernel
def _(out, x, size, kernel, dilation, padding, stride):
    wide = np.zeros((*out.shape[:2], *(s + 2 * p for s, p in zip(size, padding))), out.dtype)
    given = x.reshape(*out.shape[:2], *kernel, x.shape[2])
    for i, j, shown in _each_tap(wide, size, kernel, dilation, padding, stride):
        shown += given[:, :, i, j].reshape(shown.shape)
    out[...] = wide[:, :, padding[0] : padding[0] + size[0], padding[1] : padding[1] + size[1]]


def _check_windows(kernel: list[Any], padding: list[Any]) -> None:
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"kernel size should be greater than zero, but got kernel_height: {kernel[0]} kernel_width: {kernel[1]}")
    if any(p < 0 for p in padding):
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")


@composite(
    "im2col(Tensor input, Any kernel_size, Any dilation=1, Any padding=0, Any stride=1) -> Tensor",
    tags=["function_only"],
)
def im2col(input, kernel_size, dilation, padding, stride):
    """Windows of [N, C, H, W] as columns: [N, C * taps, places]. `nn.functional.unfold`."""
    x = input.unsqueeze(0) if input.ndim == 3 else input
    if x.ndim != 4 or any(is_empty(s) for s in x.shape[1:]):
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but "
            f"got: {show(input.shape)}"
        )
    kernel, dilation = spread_over(kernel_size, 2, "kernel_size"), spread_over(dilation, 2, "dilation")
    padding, stride = spread_over(padding, 2, "padding"), spread_over(stride, 2, "stride")
    _check_windows(kernel, padding)
    out = _windows_along([s + 2 * p for s, p in zip(x.shape[2:], padding)], kernel, dilation, stride)
    if any(bool(o < 1) for o in out):
        raise RuntimeError(
            f"Given input with spatial size {tuple(x.shape[2:])}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, calculated shape of the array of sliding blocks as {tuple(out)}, but its components must "
            "be at least one."
        )
    result = columns_of_image(x, kernel, dilation, padding, stride)
    return result.squeeze([0]) if input.ndim == 3 else result


@composite(
    "col2im(Tensor input, Any output_size, Any kernel_size, Any dilation=1, Any padding=0, Any stride=1) -> Tensor",
    tags=["function_only"],
)
def col2im(input, output_size, kernel_size, dilation, padding, stride):
    """Columns added back to where `im2col` takes them. `nn.functional.fold`."""
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but "
            f"got: {show(input.shape)}"
        )
    x = input.unsqueeze(0) if input.ndim == 2 else input
    size, kernel = spread_over(output_size, 2, "output_size"), spread_over(kernel_size, 2, "kernel_size")
    dilation, padding = spread_over(dilation, 2, "dilation"), spread_over(padding, 2, "padding")
    stride = spread_over(stride, 2, "stride")
    _check_windows(kernel, padding)
    wide = [s + 2 * p for s, p in zip(size, padding)]
    out = _windows_along(wide, kernel, dilation, stride)
    given = (
        f"Given output_size={tuple(size)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, padding={tuple(padding)}, "
        f"stride={tuple(stride)}, "
    )
    if any(bool(o < 1) for o in out):
        raise RuntimeError(
            f"{given}calculated shape of the array of sliding blocks as {tuple(out)}, which is too small (non-positive)"
        )
    if bool(x.shape[1] % product(kernel) != 0):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={x.shape[1]} and kernel_size={tuple(kernel)}."
        )
    if bool(x.shape[2] != product(out)):
        raise RuntimeError(
            f"{given}expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, out))} = {product(out)}, but got input.size(2)={x.shape[2]}."
        )
    result = image_of_columns(x, size, kernel, dilation, padding, stride)
    return result.squeeze([0]) if input.ndim == 2 else result


def _windows_along(wide: list[Any], kernel: list[int], dilation: list[int], stride: list[int]) -> list[Any]:
    """How many windows there are along each dim. Raises RuntimeError for steps that are not positive."""
    for name, steps in (("stride", stride), ("dilation", dilation)):
        if any(s <= 0 for s in steps):
            raise RuntimeError(
                f"{name} should be greater than zero, but got {name}_height: {steps[0]} {name}_width: {steps[-1]}"
            )
    return [(s - (k - 1) * d - 1) // t + 1 for s, k, d, t in zip(wide, kernel, dilation, stride)]


def _places(size: list[int], kernel: list[int], out: list[int], dilation: list[int], stride: list[int]) -> Any:
    """Flat position in the image of tap (i, j) of window (y, x), as [taps, places]."""
    rows = ops.arange(kernel[0]).unsqueeze(1) * dilation[0] + ops.arange(out[0]) * stride[0]
    columns = ops.arange(kernel[1]).unsqueeze(1) * dilation[1] + ops.arange(out[1]) * stride[1]
    at = rows.reshape([kernel[0], 1, out[0], 1]) * size[1] + columns.reshape([1, kernel[1], 1, out[1]])
    return at.reshape([product(kernel), product(out)])


@composite("pixel_shuffle(Tensor input, int upscale_factor) -> Tensor")
def pixel_shuffle(input, upscale_factor):
    """[*, C * r * r, H, W] → [*, C, H * r, W * r]."""
    r = upscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if input.shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but "
            f"input.size(-3)={input.shape[-3]} is not divisible by {r * r}"
        )
    *lead, c, h, w = input.shape
    k = len(lead)
    x = input.reshape([*lead, c // (r * r), r, r, h, w])
    return ops.permute(x, [*range(k), k, k + 3, k + 1, k + 4, k + 2]).reshape([*lead, c // (r * r), h * r, w * r])


@composite("pixel_unshuffle(Tensor input, int downscale_factor) -> Tensor")
def pixel_unshuffle(input, downscale_factor):
    """[*, C, H * r, W * r] → [*, C * r * r, H, W]."""
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = input.shape
    if h % r or w % r:
        raise RuntimeError(
            f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but input.size(-2)={h}, "
            f"input.size(-1)={w} with downscale_factor={r}"
        )
    k = len(lead)
    x = input.reshape([*lead, c, h // r, r, w // r, r])
    return ops.permute(x, [*range(k), k, k + 2, k + 4, k + 1, k + 3]).reshape([*lead, c * r * r, h // r, w // r])


@composite("channel_shuffle(Tensor input, int groups) -> Tensor")
def channel_shuffle(input, groups):
    """Channels of groups interleaved."""
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    n, c = input.shape[:2]
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    x = input.reshape([n, groups, c // groups, *input.shape[2:]])
    return ops.transpose(x, 1, 2).reshape(list(input.shape))


for _made in (pixel_shuffle, pixel_unshuffle, channel_shuffle):
    keep_channels(_made)
