"""Pooling of images and sequences, as composites, but for means of unequal parts."""

from typing import Any

from aten import _native
from aten import dtype as dtypes
from aten.meta import Meta, exceeds
from aten.op import composite, op, ops, registry
from aten.ops.by_definition import by_definition
from aten.ops.conv import padded, spread_over, windows
from aten.ops.formats import keep_channels
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import functools, itertools, math
from aten.shapes import is_empty, is_int, product, show


def _places(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows fit."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    n = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (n - 1) * stride >= size + padding:
        n -= 1  # the last window must start inside
    return n


def _check_windows(name: str, kernel: Any, stride: Any, padding: Any, dilation: Any) -> None:
    """Raises RuntimeError in the words of PyTorch's kernels: max_pool1d has one of its own where values alone are asked for."""
    if name == "max_pool1d()":
        for what, numbers in (("kernel_size", kernel), ("stride", stride)):
            if numbers[0] <= 0:
                raise RuntimeError(f"{name} {what} must be greater than zero, but got {numbers[0]}")
        if padding[0] < 0:
            raise RuntimeError(f"{name} padding must be non-negative, but got {padding[0]}")
        if 2 * padding[0] > kernel[0]:
            raise RuntimeError(
                f"{name} padding should be at most half of kernel size, but got padding={padding[0]} and kernel_size={kernel[0]}"
            )
        if dilation[0] <= 0:
            raise RuntimeError(f"{name} dilation must be greater than zero, but got {dilation[0]}")
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    if any(k <= 0 for k in kernel):
        along = "THW"[-max(len(kernel), 2) :]
        sizes = [1] * (len(along) - len(kernel)) + list(kernel)
        given = " ".join(f"k{d}: {k}" for d, k in zip(along, sizes))
        raise RuntimeError(f"kernel size should be greater than zero, but got {given}")
    if any(s < 0 for s in stride):
        raise RuntimeError("stride should be greater than zero")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got dilation {show(dilation)}")
    if any(p < 0 for p in padding):
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    if any(2 * p > (k - 1) * d + 1 for p, k, d in zip(padding, kernel, dilation)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={max(padding)}, "
            f"kernel_size={max(kernel)} and "
            f"dilation={max(dilation)}"
        )


def _prepare(
    name: str, input: Any, n: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, ...]:
    if input.ndim not in (n + 1, n + 2):
        given = f"Expected {n + 1}D or {n + 2}D (batch mode) tensor"
        if name.startswith("max_pool1d"):
            raise RuntimeError(f"max_pool1d: {given} with optional 0 dim batch size for input, but got:{show(input.shape)}")
        raise RuntimeError(f"{name}: {given}, but got input of size {show(input.shape)}")
    if any(is_empty(s) for s in input.shape[input.ndim - n - 1 :]):
        if name == "avg_pool3d":
            raise RuntimeError(
                "avg_pool3d(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
                f"{show(input.shape)}"
            )
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{show(input.shape)}"
        )
    kernel = spread_over(kernel, n, "kernel_size")
    stride = kernel if stride is None or (not is_int(stride) and len(stride) == 0) else spread_over(stride, n, "stride")
    padding, dilation = spread_over(padding, n, "padding"), spread_over(dilation, n, "dilation")
    _check_windows(name, kernel, stride, padding, dilation)
    sizes = list(input.shape[input.ndim - n :])
    if name == "avg_pool3d" and any(exceeds(k, s) for k, s in zip(kernel, sizes)):  # whatever the padding
        image, window = (" ".join(f"{k}{d}: {s}" for d, s in zip("THW", of)) for k, of in (("", sizes), ("k", kernel)))
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({window})")
    out = [_places(*args, ceil_mode) for args in zip(sizes, kernel, stride, padding, dilation)]
    if any(o < 1 for o in out):
        raise RuntimeError(f"Given input size: {show(input.shape)}. Calculated output size: {show(out)}. Output size is too small")
    after = [
        max((o - 1) * s + d * (k - 1) + 1 - size - p, 0)
        for o, s, d, k, size, p in zip(out, stride, dilation, kernel, sizes, padding)
    ]
    return kernel, stride, padding, dilation, out, after


def _watched(x: Any) -> Any:
    return ops.watched(x) if x.requires_grad and _native.is_grad_enabled() else x


def _flat_windows(x: Any, kernel: list[int], stride: list[int], dilation: list[int], out: list[int]) -> Any:
    shown = windows(x, kernel, stride, dilation)
    n = len(kernel)
    for d, o in enumerate(out):
        shown = ops.narrow(shown, shown.ndim - 2 * n + d, 0, o)
    return ops.flatten(shown, shown.ndim - n)


def _max_pool(n: int) -> None:
    parameters = (
        "Tensor input, Any kernel_size, Any stride=None, Any padding=0, Any dilation=1, bool ceil_mode=False, "
        "bool return_indices=False"
    )

    @composite(f"max_pool{n}d({parameters}) -> Any", tags=["function_only"], native="pool", compute="float32")
    def definition(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        """The largest element of each window; with return_indices also where it stands in the flattened image."""
        direct = n == 1 and not return_indices and not (input.requires_grad and _native.is_grad_enabled())
        if direct and category(input.dtype) < 2:
            raise NotImplementedError(f"\"max_pool1d_impl\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
        kernel, stride, padding, dilation, out, after = _prepare(
            "max_pool1d()" if direct else f"max_pool{n}d", input, n, kernel_size, stride, padding, dilation, ceil_mode
        )
        alone = not return_indices and not (input.requires_grad and _native.is_grad_enabled())
        values, places = window_maxima(_watched(input), kernel, stride, padding, after, dilation, out, alone)
        return (values, places) if return_indices else values


_WINDOWS = "int[] kernel, int[] stride, int[] padding"


@op(
    f"window_maxima(Tensor input, {_WINDOWS}, int[] after, int[] dilation, int[] outs, bool alone=False)"
    " -> (Tensor values, Tensor places)",
    tags=["fused", "function_only", "hidden"],
)
def window_maxima(
    input: Meta, kernel: list, stride: list, padding: list, after: list, dilation: list, outs: list, alone: bool
) -> tuple[Meta, Meta]:
    """The largest elements of the windows of the last dims, which have so much padding before and behind, and their places in those
    dims taken as one. `alone`: the places are not expected to be read."""
    values = input.like(sizes=(*input.sizes[: len(input.sizes) - len(outs)], *outs))
    return values, values.like(dtype=dtypes.int64)


@op(
    f"window_maxima_backward(Tensor grad, LongTensor places, int[] sizes, {_WINDOWS}, int[] dilation) -> Tensor",
    tags=["fused", "function_only", "hidden"],
    compute="float32",
)
def window_maxima_backward(
    grad: Meta, places: Meta, sizes: list[Any], kernel: list[Any], stride: list[Any], padding: list[Any], dilation: list[Any]
) -> Meta:
    """The gradient of an input of `window_maxima` whose last dims have these sizes."""
    return grad.like(sizes=(*grad.sizes[: len(grad.sizes) - len(sizes)], *sizes))


def within_lowest(input: Any, padding: list[int], after: list[int]) -> Any:
    """An image with so many of the lowest of all numbers around it."""
    floating, bits = input.dtype.is_floating_point, 8 * input.dtype.itemsize - 1
    return padded(input, padding, after, -math.inf if floating else -(1 << bits) * input.dtype.is_signed)


@window_maxima.decompose
def _(input, kernel, stride, padding, after, dilation, outs, alone):
    flat = _flat_windows(within_lowest(input, padding, after), kernel, stride, dilation, outs)
    values, at = ops.max_dim(flat, -1)
    return values, _image_positions(at, list(input.shape[-len(outs) :]), kernel, stride, padding, dilation, outs)


@window_maxima_backward.decompose
def _(grad, places, sizes, *windows):
    return part_maxima_backward.decompose_fn(grad, places, sizes)


def _by_windows(grad: Any, places: Any, sizes: list[int], *windows: list[int]) -> Any:
    """The gradient as eager's pools add it up; NotImplemented where they do not."""
    n, full = len(sizes), (*grad.shape[: grad.ndim - len(sizes)], *sizes)
    three = [(*[one] * (3 - n), *w) for w, one in zip(windows, (1, 1, 0, 1))]
    return _native.pool_backward(grad, places, full, (n, *three, False, True, 1.0))


def _added_back(grad: Any, places: Any, sizes: list[int], *windows: list[int]) -> Any:
    found = _by_windows(grad, places, sizes, *windows)
    return part_maxima_backward(grad, places, sizes) if found is NotImplemented else found


window_maxima.kernel(by_definition(lambda *args: window_maxima.decompose_fn(*args)))
window_maxima_backward.kernel(by_definition(_added_back))


@window_maxima.vjp
def _(g, places, input_meta, kernel, stride, padding, dilation, outs):
    if g[0] is None:
        return None
    return window_maxima_backward(
        g[0], places, list(input_meta.sizes[len(input_meta.sizes) - len(outs) :]), kernel, stride, padding, dilation
    )


@window_maxima_backward.vjp
def _(g, places, sizes):
    return taken(g, places, sizes)


@op(
    f"window_sums(Tensor input, {_WINDOWS}, int[] after, int[] outs) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def window_sums(input: Meta, kernel: list[Any], stride: list[Any], padding: list[Any], after: list[Any], outs: list[Any]) -> Meta:
    """Sums of the windows of the last dims, which have so many zeros before and behind."""
    return input.like(sizes=(*input.sizes[: len(input.sizes) - len(outs)], *outs))


@window_sums.decompose
def _(input, kernel, stride, padding, after, outs):
    flat = _flat_windows(padded(input, padding, after), kernel, stride, [1] * len(outs), outs)
    return ops.sum(flat, [-1], dtype=input.dtype)


def sums_in_order(input: Any, kernel: list[int], stride: list[int], padding: list[int], after: list[int], outs: list[int]) -> Any:
    """Rows of a window added up one by one, then their elements, as eager's pools do: the same bits."""
    n, x = len(outs), ops.cast(input, dtypes.float32) if input.dtype.itemsize == 2 else input
    if not input.dtype.is_floating_point:
        return window_sums.decompose_fn(input, kernel, stride, padding, after, outs)
    x = padded(x, [*padding[:-1], 0], [*after[:-1], 0], -0.0)  # rows outside are left out: to -0 a number is added as it is
    x = padded(x, [0] * (n - 1) + padding[-1:], [0] * (n - 1) + after[-1:])
    seen = lambda x, d, tap: ops.slice(x, x.ndim - n + d, tap, tap + (outs[d] - 1) * stride[d] + 1, stride[d])
    taps = itertools.product(*[range(k) for k in kernel[:-1]])
    rows = functools.reduce(ops.add, (functools.reduce(lambda x, at: seen(x, *at), enumerate(tap), x) for tap in taps))
    return ops.cast(functools.reduce(ops.add, (seen(rows, n - 1, tap) for tap in range(kernel[-1]))), input.dtype)


window_sums.kernel(by_definition(sums_in_order))


@window_sums.vjp
def _(g, input_meta, kernel, stride, padding, after, outs):
    return window_sums_backward(g, list(input_meta.sizes[len(input_meta.sizes) - len(outs) :]), kernel, stride, padding, after)


@op(
    f"window_sums_backward(Tensor grad, int[] sizes, {_WINDOWS}, int[] after) -> Tensor",
    tags=["fused", "function_only", "hidden"],
    compute="float32",
)
def window_sums_backward(
    grad: Meta, sizes: list[Any], kernel: list[Any], stride: list[Any], padding: list[Any], after: list[Any]
) -> Meta:
    """The gradient of an input of `window_sums` whose last dims have these sizes."""
    return grad.like(sizes=(*grad.sizes[: len(grad.sizes) - len(sizes)], *sizes))


@window_sums_backward.decompose
def _(grad, sizes, kernel, stride, padding, after):
    """Dim by dim: along the others all elements of a window have the same gradient."""
    lead = grad.ndim - len(sizes)
    for d in reversed(range(len(sizes))):
        dim, spread = lead + d, ops.unsqueeze(grad, grad.ndim).expand([*grad.shape, kernel[d]])
        full = [*grad.shape[:dim], padding[d] + sizes[d] + after[d], *grad.shape[dim + 1 :]]
        grad = ops.narrow(ops.unfold_backward(spread, full, dim, kernel[d], stride[d]), dim, padding[d], sizes[d])
    return grad


def _spread_back(grad: Any, sizes: list[int], kernel: list[int], stride: list[int], padding: list[int], after: list[int]) -> Any:
    found = _by_windows(grad, None, sizes, kernel, stride, padding, [1] * len(sizes))
    return window_sums_backward.decompose_fn(grad, sizes, kernel, stride, padding, after) if found is NotImplemented else found


window_sums_backward.kernel(by_definition(_spread_back))
window_sums_backward.vjp(
    lambda g, kernel, stride, padding, after, grad_meta: window_sums(
        g, kernel, stride, padding, after, list(grad_meta.sizes[len(grad_meta.sizes) - len(kernel) :])
    )
)


def _image_positions(
    at: Any,
    sizes: list[int],
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    out: list[int],
) -> Any:
    """Tap numbers of windows as flat positions in the image: of a window of -inf alone that of its first tap within."""
    n, position = len(kernel), 0
    for d in range(n):
        tap = ops.floor_divide(at, product(kernel[d + 1 :])) % kernel[d]
        start = ops.arange(out[d]).reshape([-1] + [1] * (n - 1 - d)) * stride[d] - padding[d]
        place = start + tap * dilation[d]
        if is_int(padding[d]) and padding[d]:
            place = ops.where(place < 0, place % dilation[d], place)
        position = position * sizes[d] + place
    return position


def _avg_pool(n: int) -> None:
    @composite(
        f"avg_pool{n}d(Tensor input, Any kernel_size, Any stride=None, Any padding=0, bool ceil_mode=False, "
        "bool count_include_pad=True, Any divisor_override=None) -> Tensor",
        tags=["function_only"],
        native="pool",
        compute="float32",
    )
    def definition(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        """The mean of each window; padding counts as zeros if count_include_pad."""
        kernel, stride, padding, dilation, out, after = _prepare(
            f"avg_pool{n}d", input, n, kernel_size, stride, padding, 1, ceil_mode
        )
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        total = window_sums(_watched(input), kernel, stride, padding, after, out)
        if divisor_override is not None:
            return (
                total / divisor_override
                if input.dtype.is_floating_point
                else ops.div(total, divisor_override, rounding_mode="trunc")
            )
        sizes = list(input.shape[-n:])
        one = ops.ones(sizes, dtype=input.dtype)
        if count_include_pad:
            one = padded(one, padding, padding, 1.0 if input.dtype.is_floating_point else 1)
            extra = [max(a - p, 0) for a, p in zip(after, padding)]
            one = padded(one, [0] * n, extra)
        else:
            one = padded(one, padding, after)
        count = ops.sum(_flat_windows(one, kernel, stride, dilation, out), [-1], dtype=input.dtype)
        return total / count if input.dtype.is_floating_point else ops.div(total, count, rounding_mode="trunc")


def _output_size(name: str, input: Any, output_size: Any, n: int) -> list[int]:
    """The number of parts of each dim; None, which of one dim is refused, leaves a size as it is."""
    wanted = [output_size] * n if is_int(output_size) or output_size is None else list(output_size)
    if n == 1 and None in wanted:
        found = "not NoneType" if output_size is None else f"but found element of type NoneType at pos {wanted.index(None)}"
        raise TypeError(f"{name}(): argument 'output_size' (position 2) must be tuple of ints, {found}")
    if len(wanted) != n:
        count = "one int" if n == 1 else f"{n} ints"
        raise RuntimeError(f"{name}() argument 'output_size' should contain {count} (got {len(wanted)})")
    # (A number of parts that is a symbol is taken as its value: where parts begin would be too much to compute by it.)
    counts = [w if w is None else int(w) for w in wanted]
    if any(w is not None and w < 0 for w in counts):
        raise RuntimeError(f"elements of output_size must be greater than or equal to 0 but received {show(wanted)}")
    return [s if w is None else w for w, s in zip(counts, input.shape[-n:])]


def _check_sizes(input: Any, output_size: Any, n: int) -> None:
    if n > 1 and not is_int(output_size) and output_size is not None and input.ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")


def _check_rank(name: str, input: Any, n: int) -> None:
    """Raises RuntimeError unless the input is one sample or a batch of them."""
    if input.ndim in (n + 1, n + 2):
        return
    if n == 1:
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )
    raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {show(input.shape)}")


def along(x: Any, dim: int, matrix: Any) -> Any:
    """x with a dimension replaced by its products with the rows of a matrix."""
    return ops.movedim(ops.movedim(x, dim, -1) @ matrix.t().to(x.dtype), -1, dim)


def _adaptive_avg(n: int) -> None:
    @composite(f"adaptive_avg_pool{n}d(Tensor input, Any output_size) -> Tensor", tags=["function_only"], compute="float32")
    def definition(input, output_size):
        """Means of as many nearly equal parts as asked."""
        _check_sizes(input, output_size, n)
        _check_rank(f"adaptive_avg_pool{n}d", input, n)
        outs = _output_size(f"adaptive_avg_pool{n}d", input, output_size, n)
        if all(type(o) is int and o == 1 for o in outs):  # PyTorch's is a mean of all
            if category(input.dtype) < 2:
                raise RuntimeError(
                    "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
                    f"{TYPE_NAMES[input.dtype.name]}"
                )
        elif not input.dtype.is_floating_point:
            name = TYPE_NAMES[input.dtype.name]
            raise NotImplementedError(f"\"adaptive_avg_pool{n}d_cpu\" not implemented for '{name}'")
        if input.dtype.is_floating_point and _divide(input.shape[-n:], outs):
            return _means_of_parts(_watched(input), outs)
        return part_means(input, outs)


@op("part_means(Tensor input, int[] outs) -> Tensor", tags=["fused", "function_only", "hidden"])
def part_means(input: Meta, outs: list[Any]) -> Meta:
    """Means of as many nearly equal parts of the last dims as asked."""
    return input.like(sizes=(*input.sizes[: len(input.sizes) - len(outs)], *outs))


@op("part_means_backward(Tensor grad, int[] sizes) -> Tensor", tags=["fused", "function_only", "hidden"])
def part_means_backward(grad: Meta, sizes: list[Any]) -> Meta:
    """The gradient of an input of `part_means` whose last dims have these sizes."""
    return grad.like(sizes=(*grad.sizes[: len(grad.sizes) - len(sizes)], *sizes))


def _shares(x: Any, size: Any, out: Any) -> Any:
    """What each of `size` elements is multiplied by in each of `out` means."""
    starts, ends = _parts(size, out)
    place = ops.arange(size)
    inside = (place >= starts.unsqueeze(1)) & (place < ends.unsqueeze(1))
    return inside.to(x.dtype) / (ends - starts).unsqueeze(1)


@part_means.decompose
def _(input, outs):
    for d, out in enumerate(outs, input.ndim - len(outs)):
        input = along(input, d, _shares(input, input.shape[d], out))
    return input


@part_means_backward.decompose
def _(grad, sizes):
    for d, size in enumerate(sizes, grad.ndim - len(sizes)):
        grad = along(grad, d, ops.transpose(_shares(grad, size, grad.shape[d]), 0, 1))
    return grad


part_means.kernel(by_definition(lambda *args: part_means.decompose_fn(*args)))
part_means_backward.kernel(by_definition(lambda *args: part_means_backward.decompose_fn(*args)))
part_means.vjp(lambda g, input, outs: part_means_backward(g, list(input.shape[input.ndim - len(outs) :])))
part_means.whole = True
part_means_backward.vjp(lambda g, sizes, grad_meta: part_means(g, list(grad_meta.sizes[len(grad_meta.sizes) - len(sizes) :])))


def _divide(sizes: Any, outs: list[int]) -> bool:
    """Whether the parts are known to be equal."""
    whole = lambda size, out: type(size) is int and type(out) is int and size > 0 < out and size % out == 0
    return all(out == 1 or whole(size, out) for size, out in zip(sizes, outs))


def _means_of_parts(input: Any, outs: list[int]) -> Any:
    """Means over the second of each pair of dims into which the last ones are cut."""
    n = len(outs)
    lead = list(input.shape[: input.ndim - n])
    sizes = [s for size, out in zip(input.shape[-n:], outs) for s in (out, size // out)]
    return ops.mean(ops.reshape(input, [*lead, *sizes]), [2 * k + 1 - 2 * n for k in range(n)])


def _parts(size: int, out: int) -> tuple[Any, Any]:
    i = ops.arange(out)
    return ops.floor_divide(i * size, max(out, 1)), ops.floor_divide((i + 1) * size + out - 1, max(out, 1))


def _adaptive_max(n: int) -> None:
    @composite(
        f"adaptive_max_pool{n}d(Tensor input, Any output_size, bool return_indices=False) -> Any",
        tags=["function_only"],
    )
    def definition(input, output_size, return_indices):
        """Largest elements of as many nearly equal parts as asked."""
        _check_sizes(input, output_size, n)
        _check_rank(f"adaptive_max_pool{n}d", input, n)
        wanted, sizes = _output_size(f"adaptive_max_pool{n}d", input, output_size, n), list(input.shape[-n:])
        equal = [type(s) is int and 0 < w <= s and s % w == 0 for s, w in zip(sizes, wanted)]
        if input.dtype.is_floating_point and all(equal):  # windows side by side
            kernel = [s // w for s, w in zip(sizes, wanted)]
            return getattr(ops, f"max_pool{n}d")(input, kernel, return_indices=return_indices)
        x, lead = _watched(input), input.ndim - n
        empty = next((d for d in range(lead - 1, input.ndim) if is_empty(input.shape[d])), None)
        if empty is not None and (lead == 1 or empty != 0):
            raise RuntimeError(
                f"adaptive_max_pool{n}d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{show(input.shape)} with dimension {empty} being empty"
            )
        values, position = part_maxima(x, wanted)
        return (values, position) if return_indices else values


@op("part_maxima(Tensor input, int[] outs) -> (Tensor values, Tensor places)", tags=["fused", "function_only", "hidden"])
def part_maxima(input: Meta, outs: list[Any]) -> tuple[Meta, Meta]:
    """The largest elements of as many nearly equal parts of the last dims as asked, and their places in those dims taken as one."""
    values = input.like(sizes=(*input.sizes[: len(input.sizes) - len(outs)], *outs))
    return values, values.like(dtype=dtypes.int64)


@op("part_maxima_backward(Tensor grad, LongTensor places, int[] sizes) -> Tensor", tags=["fused", "function_only", "hidden"])
def part_maxima_backward(grad: Meta, places: Meta, sizes: list[Any]) -> Meta:
    """The gradient of an input of `part_maxima` whose last dims have these sizes."""
    return grad.like(sizes=(*grad.sizes[: len(grad.sizes) - len(sizes)], *sizes))


@part_maxima.decompose
def _(input, outs):
    places, n = [], len(outs)
    lead, sizes, x = input.ndim - n, list(input.shape[input.ndim - n :]), input
    for d, out in enumerate(outs):
        starts, ends = _parts(sizes[d], out)
        longest = (sizes[d] + out - 1) // out + (1 if sizes[d] % out else 0) if out else 1  # parts of a rest may be longer
        at = ops.minimum(starts.unsqueeze(1) + ops.arange(longest), ends.unsqueeze(1) - 1)
        places.append(at)
        dim = lead + d
        x = ops.index_select(x, dim, at.reshape([-1]))
        x = ops.movedim(x.reshape([*x.shape[:dim], out, longest, *x.shape[dim + 1 :]]), dim + 1, -1)
    values, tap = ops.max_dim(ops.flatten(x, lead + n), -1)
    lengths = [p.shape[1] for p in places]
    position = ops.zeros_like(tap)
    for d in range(n):
        k = ops.floor_divide(tap, product(lengths[d + 1 :])) % lengths[d]
        rows = ops.arange(outs[d]).reshape([-1] + [1] * (n - 1 - d)).expand(list(k.shape))
        position = position * sizes[d] + ops.index(places[d], [rows, k])
    return values, position


@part_maxima_backward.decompose
def _(grad, places, sizes):
    lead = list(grad.shape[: grad.ndim - len(sizes)])
    flat = lambda t: t.reshape([*lead, product(t.shape[t.ndim - len(sizes) :])])
    zeros = ops.zeros([*lead, product(sizes)], dtype=grad.dtype, device=grad.device)
    return ops.scatter_add(zeros, len(lead), flat(places), flat(grad)).reshape([*lead, *sizes])


part_maxima.kernel(by_definition(lambda *args: part_maxima.decompose_fn(*args)))
part_maxima_backward.kernel(by_definition(lambda *args: part_maxima_backward.decompose_fn(*args)))


@part_maxima.vjp
def _(g, places, input_meta, outs):
    return None if g[0] is None else part_maxima_backward(g[0], places, list(input_meta.sizes[len(input_meta.sizes) - len(outs) :]))


@part_maxima_backward.vjp
def _(g, places, sizes):
    return taken(g, places, sizes)


def taken(g: Any, places: Any, sizes: list[Any]) -> Any:
    """What stands at places in the last dims."""
    n = len(sizes)
    lead = list(places.shape[: places.ndim - n])
    flat = lambda t: t.reshape([*lead, product(t.shape[t.ndim - n :])])
    return ops.gather(flat(g), len(lead), flat(places)).reshape(list(places.shape))


for _n in (1, 2, 3):
    _max_pool(_n)
    _avg_pool(_n)
    _adaptive_avg(_n)
    _adaptive_max(_n)
    for _name in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"):
        keep_channels(registry[f"{_name}{_n}d"])


def _lp_pool(n: int) -> None:
    @composite(
        f"lp_pool{n}d(Tensor input, Scalar norm_type, Any kernel_size, Any stride=None, bool ceil_mode=False) -> Tensor",
        tags=["function_only"],
    )
    def definition(input, norm_type, kernel_size, stride, ceil_mode):
        """The p-norm of each window."""
        kernel = spread_over(kernel_size, n, "kernel_size")
        mean = getattr(ops, f"avg_pool{n}d")(input**norm_type, kernel, stride, 0, ceil_mode)
        return (ops.sign(mean) * ops.relu(mean.abs()) * product(kernel)) ** (1.0 / norm_type)


for _n in (1, 2, 3):
    _lp_pool(_n)
