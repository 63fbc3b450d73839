"""Which ops the core graphs of inductor are made of: those of `aot`, but that some ops stay whole where they are large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import settings
from aten.aot.decompositions import Decompositions, decomposition_of
from aten.op import Op, ops
from aten.scalar.unpatched import functools
from inductor import choices, complex_pairs


def decompositions() -> Decompositions:
    """{op: its decomposition}; one that returns NotImplemented leaves the op as it is."""
    return Decompositions(_exact if settings.exact else _decomposition_of)


def _exact(op: Op) -> Callable[..., Any] | None:
    """What eager runs as one kernel stays whole."""
    return decomposition_of(op) if op.kernel_fn is None else None


def _decomposition_of(op: Op) -> Callable[..., Any] | None:
    found = decomposition_of(op)
    if op.name in _LIMITED:
        found = _LIMITED[op.name](found)
    return complex_pairs.decomposition_of(op, found)


MOST_PLACED = 16  # elements of a window that are a term each of one sum


def windows_added(grad: Any, input_sizes: Any, dim: int, size: int, step: int) -> Any:
    """`unfold_backward` in loops: an element is the sum of what lies over it, in the order of the CPU's kernel. Long windows are
    added to places."""
    sizes = list(input_sizes)
    if not sizes:
        return ops.reshape(grad, [])
    made = ops.zeros(sizes, dtype=grad.dtype, device=grad.device)
    count = grad.shape[dim]
    if size > MOST_PLACED:
        starts = ops.reshape(ops.arange(count, device=grad.device) * step, [count, 1])
        places = ops.reshape(starts + ops.arange(size, device=grad.device), [count * size])
        flat = [*sizes[:dim], count * size, *sizes[dim + 1 :]]
        return ops.index_add(made, dim, places, ops.reshape(ops.movedim(grad, -1, dim + 1), flat))
    for i in reversed(range(size)):
        part = ops.select(grad, grad.ndim - 1, i)
        made = made + ops.slice_scatter(ops.zeros_like(made), part, dim, i, i + (count - 1) * step + 1, step)
    return made


def _in_turn(decompose: Callable[..., Any]) -> Callable[..., Any]:
    """Sums of large windows: those of columns first, which vectors run across, then of these in a row (5x5 by steps of two: 10
    loads an element instead of 25)."""

    def decomposed(input: Any, kernel: Any, *rest: Any) -> Any:
        if not (input.dtype.is_floating_point and choices.sums_in_turn(kernel) and on_cpu(input)):
            return decompose(input, kernel, *rest)
        from aten.ops.pool import sums_in_order  # whose ops are declared on demand

        return sums_in_order(input, kernel, *rest)

    return decomposed


def _maxima_in_turn(decompose: Callable[..., Any]) -> Callable[..., Any]:
    """Maxima of large windows whose places nobody asks for: those of rows, so that of equal ones it is the first of all, then those
    of these down a column (5x5 of [8,16,64,64]: 207 us instead of 1005)."""

    def decomposed(input: Any, kernel: Any, stride: Any, padding: Any, after: Any, dilation: Any, outs: Any, alone: bool) -> Any:
        values, places = decompose(input, kernel, stride, padding, after, dilation, outs, alone)
        if not (alone and choices.sums_in_turn(kernel) and on_cpu(input)):
            return values, places
        from aten.ops.pool import within_lowest

        x = within_lowest(input, padding, after)
        for d in reversed(range(len(kernel))):
            dim, reach = x.ndim - len(kernel) + d, (outs[d] - 1) * stride[d] + 1
            starts = [tap * dilation[d] for tap in range(kernel[d])]
            x = functools.reduce(ops.maximum, [ops.slice(x, dim, at, at + reach, stride[d]) for at in starts])
        return x, places

    return decomposed


def on_cpu(x: Any) -> bool:
    """Whether x lies where an op that stays whole has a kernel: on a device all are made of loops and products."""
    return x.device.type == "cpu"


def _unless_on_cpu(decompose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: NotImplemented if on_cpu(args[0]) else decompose(*args)


def _seen(input: Any, weight: Any, bias: Any, size: Any, *rest: Any) -> tuple[Any, Any, Any]:
    return input.shape[1], weight.shape[0], size


def _seen_of_gradient(grad: Any, input: Any, *rest: Any) -> tuple[Any, Any, Any]:
    return input.shape[1], grad.shape[1], grad.shape[2:]


def _if_depthwise(
    decompose: Callable[..., Any], seen: Callable[..., tuple[Any, Any, Any]], of_weight: bool = False
) -> Callable[..., Any]:
    """`seen(*args)`: how many channels a convolution sees, how many it makes and of which size; its last argument is the number of
    groups. `of_weight`: it is the gradient of a weight."""

    def decomposed(*args: Any) -> Any:
        channels, results, places = seen(*args)
        fused = choices.fuses_convolution(channels, results, args[-1], list(places), args[0].dtype.name, of_weight)
        whole = on_cpu(args[0]) and not fused
        return NotImplemented if whole else decompose(*args)

    return decomposed


def tiled(query: Any, key: Any, value: Any) -> bool:
    """Whether attention on a device is one kernel that stores no scores. It is for one depth and width: symbols become numbers."""
    if query.dtype.name not in ("float32", "bfloat16", "float16") or settings.exact:
        return False
    if any(type(n) is int and n == 0 for x in (query, key, value) for n in x.shape):
        return False
    return 0 < int(query.shape[-1]) <= choices.WIDEST_ATTENTION and 0 < int(value.shape[-1]) <= choices.WIDEST_ATTENTION


def _unless_large(decompose: Callable[..., Any], first: int) -> Callable[..., Any]:
    def decomposed(*args: Any) -> Any:
        query, key, value = args[first : first + 3]
        if not on_cpu(query) and tiled(query, key, value):
            return NotImplemented
        if on_cpu(query) and choices.keeps_attention(query.shape[:-2], query.shape[-2], key.shape[-2]):
            return NotImplemented
        return decompose(*args)

    return decomposed


def _if_dense(decompose: Callable[..., Any]) -> Callable[..., Any]:
    def decomposed(*args: Any) -> Any:
        return NotImplemented if on_cpu(args[0]) and not choices.adds_columns(args[-1]) else decompose(*args)

    return decomposed


_BAGS = ("embedding_sums", "embedding_sums_backward", "embedding_dots", "embedding_maxima")
_DISTANCES = ("row_distances", "row_distances_backward", "row_distances_within", "row_distances_within_backward")
_LIMITED: dict[str, Callable[[Any], Any]] = {  # what is decomposed in some cases alone
    "scaled_dot_product_attention": lambda fn: _unless_large(fn, 0),
    "dropout_attention": lambda fn: _unless_large(fn, 0),
    "scaled_dot_product_attention_backward": lambda fn: _unless_large(fn, 1),
    "dropout_attention_backward": lambda fn: _unless_large(fn, 1),
    "convolution": lambda fn: _if_depthwise(fn, _seen),
    "convolution_weight": lambda fn: _if_depthwise(fn, _seen_of_gradient, True),
    **dict.fromkeys(("kthvalue", "median_dim", "nanmedian_dim", "mode"), _unless_on_cpu),  # (one of a row takes no sort there)
    # Decomposed these are products with mostly zeros, or sums of what is gathered.
    **dict.fromkeys(("part_means", "part_means_backward", "resample", "resample_backward", "resample_bytes"), _unless_on_cpu),
    **dict.fromkeys(("ctc_alignments", "ctc_alignments_backward"), _unless_on_cpu),  # (decomposed each frame is some nodes)
    # Decomposed these keep what they sum over.
    **dict.fromkeys(("part_maxima", "part_maxima_backward", "drawn_maxima"), _unless_on_cpu),
    **dict.fromkeys(("label_margins", "label_margins_backward"), _unless_on_cpu),
    **dict.fromkeys(("window_maxima_backward", "window_sums_backward"), _unless_on_cpu),
    **dict.fromkeys(("nearest", "nearest_backward", *_BAGS, *_DISTANCES), _unless_on_cpu),
    **dict.fromkeys(("recurrent_layer", "recurrent_layer_backward"), _unless_on_cpu),  # (decomposed each step is some nodes)
    **dict.fromkeys(("product_of_reflections", "reflected"), _unless_on_cpu),  # (decomposed each reflection is some nodes)
    "direction": _unless_on_cpu,  # (of complex numbers, which no loop here reads: decomposed it is five steps)
    "cumprod_backward": _unless_on_cpu,  # (decomposed it is four scans, whole it is one where there is no zero)
    "truncated_quotient": lambda fn: lambda *args: NotImplemented,  # (decomposed it is two divisions)
    "image_of_columns": _if_dense,
    "window_sums": _in_turn,
    "window_maxima": _maxima_in_turn,
    "unfold_backward": lambda fn: _unless_on_cpu(windows_added),
}
