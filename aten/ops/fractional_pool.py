"""Fractional max pooling (Graham 2014): windows of one size at pseudo-random, nearly even places."""

from typing import Any

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.by_definition import by_definition
from aten.ops.pool import part_maxima_backward
from aten.promotion import TYPE_NAMES, category
from aten.shapes import product, show

_AXES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _spread(name: str, what: str, value: Any, n: int) -> list[Any]:
    values = [value] * n if isinstance(value, (int, float)) else list(value)
    if len(values) != n:
        if what == "output_ratio":
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
    return values


def _sizes(name: str, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, n: int) -> tuple[list[Any], list[Any]]:
    """The window and the output sizes. Raises what PyTorch raises for sizes that do not fit."""
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if isinstance(output_ratio, (int, float)):
            raise TypeError(f"object of type '{type(output_ratio).__name__}' has no len()")
        output_size = [int(s * r) for s, r in zip(input.shape[-n:], _spread(name, "output_ratio", output_ratio, n))]
    kernel, out = _spread(name, "kernel_size", kernel_size, n), _spread(name, "output_size", output_size, n)
    if input.ndim not in (n + 1, n + 2):
        raise IndexError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {show(input.shape)}")
    for d in range(input.ndim - n - 1, input.ndim):
        if input.shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got{show(input.shape)} with "
                f"dimension {d} being empty."
            )
    if category(input.dtype) < 2:
        raise NotImplementedError(f'"{name}" not implemented for \'{TYPE_NAMES[input.dtype.name]}\'')
    for axis, size, k, o in zip(_AXES[n], input.shape[-n:], kernel, out):
        if k <= 0 or o < 0 or o + k - 1 > size - (n == 3):  # (PyTorch's keeps an element more of volumes)
            raise RuntimeError(f"{name}(): pool {axis} {k} too large relative to input {axis} {size}")
    return kernel, out


def _starts(sample: Any, size: Any, kernel: int, out: int) -> Any:
    """Where the windows begin along a dimension, [N, C, out]: steps of (size - kernel) / (out - 1), shifted by the sample
    before they are cut to whole places; the last window ends with the input."""
    i = ops.arange(out)
    if out == 1:
        return (i + (size - kernel)).expand([*sample.shape, 1])
    step, shift = (size - kernel) / (out - 1), sample.unsqueeze(-1)
    at = ops.trunc((i.to(sample.dtype) + shift) * step) - ops.trunc(shift * step)
    return ops.where(i < out - 1, at.to(dtypes.int64), size - kernel)


@op(
    "drawn_maxima(Tensor input, Tensor samples, int[] kernel, int[] outs) -> (Tensor values, Tensor places)",
    tags=["fused", "function_only", "hidden"],
)
def drawn_maxima(input: Meta, samples: Meta, kernel: list[Any], outs: list[Any]) -> tuple[Meta, Meta]:
    """The largest elements of windows of [N, C, *sizes] whose places follow from samples [N, C, number of sizes], and where they
    stand in the flattened image."""
    values = input.like(sizes=(*input.sizes[:2], *outs))
    return values, values.like(dtype=dtypes.int64)


@drawn_maxima.decompose
def _(input: Any, samples: Any, kernel: list[int], out: list[int]) -> tuple[Any, Any]:
    n = len(kernel)
    lead, sizes = list(input.shape[:-n]), list(input.shape[-n:])
    order = [1, 0] if n == 2 else [0, 1, 2]  # which sample belongs to which dimension: (width, height), (time, height, width)
    position: Any = 0
    for d in range(n):
        starts = _starts(ops.select(samples, -1, order[d]), sizes[d], kernel[d], out[d])
        places = starts.unsqueeze(-1) + ops.arange(kernel[d])
        shape = [1] * (2 * n)
        shape[d], shape[n + d] = out[d], kernel[d]
        position = position * sizes[d] + places.reshape([*starts.shape[:2], *shape])
    windows = position.reshape([*lead, product(out), product(kernel)])
    flat = input.reshape([*lead, 1, product(sizes)]).expand([*lead, product(out), product(sizes)])
    values, tap = ops.max_dim(ops.gather(flat, -1, windows), -1)
    indices = ops.gather(windows, -1, tap.unsqueeze(-1)).squeeze([-1])
    return values.reshape([*lead, *out]), indices.reshape([*lead, *out])


drawn_maxima.kernel(by_definition(lambda *args: drawn_maxima.decompose_fn(*args)))


@drawn_maxima.vjp
def _(g, places, input_meta, samples_meta, kernel, outs):
    return None if g[0] is None else part_maxima_backward(g[0], places, list(input_meta.sizes[2:])), None


def _fractional(n: int) -> None:
    name = f"fractional_max_pool{n}d"
    parameters = "Tensor input, Any kernel_size, Any output_size=None, Any output_ratio=None, bool return_indices=False, "

    def pooled(input: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any) -> tuple[Any, Any]:
        kernel, out = _sizes(name, input, kernel_size, output_size, output_ratio, n)
        batch, channels = (1, input.shape[0]) if input.ndim == n + 1 else (input.shape[0], input.shape[1])
        if samples is None:
            samples = ops.rand([batch, channels, n], dtype=input.dtype, device=input.device)
        elif samples.dtype is not input.dtype:
            raise RuntimeError("Expect _random_samples to have the same dtype as input")
        elif samples.ndim != 3:
            raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
        elif samples.shape[0] < batch or samples.shape[1] != channels or samples.shape[2] != n:
            raise RuntimeError(f"Expect _random_samples to have sizes {[batch, channels, n]}, got {show(samples.shape)}")
        batched = input if input.ndim == n + 2 else input.unsqueeze(0)
        values, indices = drawn_maxima(batched, ops.narrow(samples, 0, 0, batch), kernel, out)
        return (values, indices) if input.ndim == n + 2 else (values.squeeze([0]), indices.squeeze([0]))

    @composite(f"{name}_with_indices({parameters}Tensor? _random_samples=None) -> Tensor[]", tags=["function_only"])
    def with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples):
        """The largest elements, and their places in the flattened image."""
        return pooled(input, kernel_size, output_size, output_ratio, _random_samples)

    @composite(f"{name}({parameters}Tensor? _random_samples=None) -> Any", tags=["function_only"])
    def definition(input, kernel_size, output_size, output_ratio, return_indices, _random_samples):
        """The largest element of each of `output_size` (or input size * `output_ratio`) windows a channel.

        input: ([N,] C, *sizes), floating; _random_samples: (N, C, number of sizes) in [0, 1), drawn if not given. With
        return_indices also the places in the flattened image. Raises ValueError without sizes, RuntimeError if they do not fit.
        """
        values, indices = pooled(input, kernel_size, output_size, output_ratio, _random_samples)
        return (values, indices) if return_indices else values


for _n in (2, 3):
    _fractional(_n)
