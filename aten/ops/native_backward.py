"""Derivatives that PyTorch has as ops of their own, under torch.ops.aten: a row each, the op whose derivative it is.

`name_backward(grad_output, input, …)` is the gradient of the first argument of `name(input, …)`. Ops that do not change the
gradient's meaning by values of the input (resizing) take its sizes instead.
"""

from collections.abc import Callable
from typing import Any

from aten.op import composite, ops
from aten.scalar.unpatched import functools
from aten.shapes import is_int, product

_HIDDEN = ["hidden"]
REDUCTIONS = ("none", "mean", "sum")  # by PyTorch's numbers


def pulled_back(grad: Any, input: Any, forward: Callable[[Any], Any]) -> Any:
    """The gradient of the argument of `forward` at `input`."""
    from aten.transforms.reverse_mode import vjp

    return vjp(forward, input)[1](grad)[0]


def _of_windows(name: str, dims: tuple[int, ...], parameters: str) -> None:
    """Pools whose gradient depends on sizes alone."""

    def declare(n: int) -> None:
        full = name.format(n)
        forward = full.removeprefix("_")

        @composite(f"{full}_backward(Tensor grad_output, Tensor input{parameters}) -> Tensor", tags=_HIDDEN)
        def definition(grad_output, input, *rest):
            """The gradient of a pool's input."""
            return pulled_back(grad_output, input, lambda x: getattr(ops, forward)(x, *rest))

    for n in dims:
        declare(n)


_of_windows(
    "avg_pool{}d",
    (1, 2, 3),
    ", Any kernel_size, Any stride, Any padding, bool ceil_mode, bool count_include_pad, Any divisor_override",
)


def _of_adaptive_means(n: int) -> None:
    @composite(f"_adaptive_avg_pool{n}d_backward(Tensor grad_output, Tensor input) -> Tensor", tags=_HIDDEN)
    def definition(grad_output, input):
        """The gradient of adaptive_avg_pool's input."""
        sizes = list(grad_output.shape[-n:])
        return pulled_back(grad_output, input, lambda x: getattr(ops, f"adaptive_avg_pool{n}d")(x, sizes))


def _of_maxima(name: str, n: int, parameters: str) -> None:
    """Pools that say where the largest elements stand: the gradient goes there."""

    @composite(f"{name}(Tensor grad_output, Tensor input{parameters}, Tensor indices) -> Tensor", tags=_HIDDEN)
    def definition(grad_output, input, *rest):
        """The gradient of a pool's input, by the places in the flattened image."""
        at = ops.flatten(rest[-1], rest[-1].ndim - n)
        flat = input.new_zeros([*input.shape[: input.ndim - n], product(input.shape[input.ndim - n :])])
        return ops.scatter_add(flat, -1, at, ops.flatten(grad_output, grad_output.ndim - n)).reshape(list(input.shape))


for _n in (2, 3):
    _of_adaptive_means(_n)
    _of_maxima(
        f"max_pool{_n}d_with_indices_backward", _n, ", Any kernel_size, Any stride, Any padding, Any dilation, bool ceil_mode"
    )
    _of_maxima(f"adaptive_max_pool{_n}d_backward", _n, "")
    _of_maxima(f"fractional_max_pool{_n}d_backward", _n, ", Any kernel_size, Any output_size")


def _with_indices(n: int) -> None:
    """The pools of which torch.ops.aten always gives the places too."""

    @composite(
        f"max_pool{n}d_with_indices(Tensor input, Any kernel_size, Any stride=None, Any padding=0, Any dilation=1, "
        "bool ceil_mode=False) -> Tensor[]",
        tags=_HIDDEN,
    )
    def largest(input, kernel_size, stride, padding, dilation, ceil_mode):
        """(max_pool, the places in the flattened image)."""
        return getattr(ops, f"max_pool{n}d")(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    @composite(f"adaptive_max_pool{n}d_with_indices(Tensor input, Any output_size) -> Tensor[]", tags=_HIDDEN)
    def adaptive(input, output_size):
        """(adaptive_max_pool, the places in the flattened image)."""
        return getattr(ops, f"adaptive_max_pool{n}d")(input, output_size, True)

    @composite(
        f"native_fractional_max_pool{n}d(Tensor input, Any kernel_size, Any output_size, Tensor random_samples) -> Tensor[]",
        tags=_HIDDEN,
    )
    def fractional(input, kernel_size, output_size, random_samples):
        """(fractional_max_pool, the places in the flattened image)."""
        return getattr(ops, f"fractional_max_pool{n}d")(input, kernel_size, output_size, None, True, random_samples)


for _n in (2, 3):
    _with_indices(_n)


def _of_padding(name: str, mode: str, n: int) -> None:
    @composite(f"{name}_pad{n}d(Tensor input, Any padding) -> Tensor", tags=_HIDDEN)
    def definition(input, padding):
        """`pad` of the last dims."""
        if len(padding) != 2 * n:
            raise RuntimeError(f"padding size is expected to be {2 * n}, but got: {len(padding)}")
        return ops.pad(input, list(padding), mode)

    @composite(f"{name}_pad{n}d_backward(Tensor grad_output, Tensor input, Any padding) -> Tensor", tags=_HIDDEN)
    def backward(grad_output, input, padding):
        """The gradient of the padded tensor."""
        return pulled_back(grad_output, input, lambda x: ops.pad(x, list(padding), mode))


for _name, _mode in (("reflection", "reflect"), ("replication", "replicate")):
    for _n in (1, 2, 3):
        _of_padding(_name, _mode, _n)


def _classes(suffix: str) -> None:
    """nll_loss with the number of its reduction, and the sum of weights beside it."""

    @composite(
        f"{suffix}_forward(Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index) -> Tensor[]",
        tags=_HIDDEN,
    )
    def forward(input, target, weight, reduction, ignore_index):
        """(the loss, the weights of the targets that count, added: 0 without a reduction)."""
        loss = ops.nll_loss(input, target, weight, None, ignore_index, None, REDUCTIONS[reduction])
        kept = ops.ne(target, ignore_index)
        if reduction == 0:
            return loss, input.new_zeros([])
        if weight is None:
            return loss, ops.sum(kept).to(input.dtype)
        return loss, ops.sum(ops.where(kept, ops.embedding(weight.unsqueeze(1), ops.where(kept, target, 0)).squeeze([-1]), 0))

    @composite(
        f"{suffix}_backward(Tensor grad_output, Tensor input, Tensor target, Tensor? weight, int reduction, int ignore_index, "
        "Tensor total_weight) -> Tensor",
        tags=_HIDDEN,
    )
    def backward(grad_output, input, target, weight, reduction, ignore_index, total_weight):
        """The gradient of the scores, by the sum of weights that the forward gave."""
        total = lambda x: ops.nll_loss(x, target, weight, None, ignore_index, None, "sum" if reduction else "none")
        return pulled_back(grad_output / total_weight if reduction == 1 else grad_output, input, total)


_classes("nll_loss")
_classes("nll_loss2d")


@composite(
    "native_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, "
    "int[] output_padding, int groups) -> Tensor",
    tags=_HIDDEN,
)
def native_convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A convolution of any number of dims, or its transpose."""
    n = weight.ndim - 2
    spread = lambda values: list(values) * (n if len(values) == 1 else 1)
    stride, padding, dilation = spread(stride), spread(padding), spread(dilation)
    if transposed:
        extra = spread(output_padding)
        return getattr(ops, f"conv_transpose{n}d")(input, weight, bias, stride, padding, extra, groups, dilation)
    return getattr(ops, f"conv{n}d")(input, weight, bias, stride, padding, dilation, groups)


@composite(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, Any bias_sizes, int[] stride, int[] padding, "
    "int[] dilation, bool transposed, int[] output_padding, int groups, Any output_mask) -> Any",
    tags=_HIDDEN,
)
def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """The gradients of (input, weight, bias), None where `output_mask` is false."""
    rest = (None, stride, padding, dilation, transposed, output_padding, groups)
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        of_input = pulled_back(grad_output, input, lambda x: native_convolution(x, weight, *rest))
    if output_mask[1]:
        of_weight = pulled_back(grad_output, weight, lambda w: native_convolution(input, w, *rest))
    if output_mask[2]:
        of_bias = ops.sum(grad_output, [0, *range(2, grad_output.ndim)])
    return of_input, of_weight, of_bias


def _slow(name: str, n: int) -> None:
    @composite(
        f"{name}(Tensor input, Tensor weight, Any kernel_size, Tensor? bias=None, Any stride=1, Any padding=0) -> Tensor",
        tags=_HIDDEN,
    )
    def definition(input, weight, kernel_size, bias, stride, padding):
        """`conv` of n dims; the size of the kernel is the weight's."""
        for what, given in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)):
            if not is_int(given) and len(given) != n:
                raise RuntimeError(f"{n}D {what} expected")
        return getattr(ops, f"conv{n}d")(input, weight, bias, stride, padding)


_slow("thnn_conv2d", 2)
_slow("slow_conv3d", 3)


@composite(
    "_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor input, int[] stride, "
    "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, Any output_mask) -> Any",
    tags=_HIDDEN,
)
def convolution_double_backward(
    ggI, ggW, ggb, gO, weight, input, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    """The gradients of (grad_output, input, weight) from those of convolution_backward's results."""
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    parts = []
    if ggI is not None:
        parts.append(native_convolution(ggI, weight, None, *rest))
    if ggW is not None:
        parts.append(native_convolution(input, ggW, None, *rest))
    if ggb is not None:
        parts.append(ggb.reshape([1, -1, *[1] * (gO.ndim - 2)]).expand(list(gO.shape)))
    of_output = functools.reduce(ops.add, parts) if parts and output_mask[0] else None
    of_input = of_weight = None
    if ggW is not None and output_mask[1]:
        of_input = convolution_backward(gO, input, ggW, None, *rest, (True, False, False))[0]
    if ggI is not None and output_mask[2]:
        of_weight = convolution_backward(gO, ggI, weight, None, *rest, (False, True, False))[1]
    return of_output, of_input, of_weight


def _resized(name: str, n: int, mode: str, antialias: bool = False) -> None:
    corners = mode not in ("nearest", "nearest-exact")
    scales = ", ".join(f"Any scales_{d}=None" for d in range(n))
    named = ", bool align_corners" if corners else ""

    def run(input: Any, output_size: Any, align: tuple[Any, ...], factors: tuple[Any, ...]) -> Any:
        given = list(factors[0]) if factors and isinstance(factors[0], (list, tuple)) else list(factors)
        by_factor = output_size is None or (len(given) == n and None not in given and _agree(input, given, output_size))
        size, factor = (None, given) if by_factor else (list(output_size), None)
        return ops.interpolate(input, size, factor, mode, align[0] if corners else None, None, antialias)

    @composite(f"{name}(Tensor input, Any output_size{named}, {scales}) -> Tensor", tags=_HIDDEN)
    def definition(input, output_size, *rest):
        """`interpolate` of one mode. The scales may come as a list in the place of the first (overload `vec`)."""
        return run(input, output_size, rest[:corners], rest[corners:])

    @composite(f"{name}_backward(Tensor grad_output, Any output_size, Any input_size{named}, {scales}) -> Tensor", tags=_HIDDEN)
    def backward(grad_output, output_size, input_size, *rest):
        """The gradient of what was resized, which is linear: it takes its sizes alone."""
        zeros = grad_output.new_zeros(list(input_size))
        return pulled_back(grad_output, zeros, lambda x: run(x, output_size, rest[:corners], rest[corners:]))


def _agree(input: Any, factors: list[Any], output_size: Any) -> bool:
    """Whether the sizes are those that the factors give."""
    return all(int(s * f) == o for s, f, o in zip(input.shape[2:], factors, output_size))


for _n in (1, 2, 3):
    _resized(f"upsample_nearest{_n}d", _n, "nearest")
    _resized(f"_upsample_nearest_exact{_n}d", _n, "nearest-exact")
_resized("upsample_linear1d", 1, "linear")
_resized("upsample_bilinear2d", 2, "bilinear")
_resized("upsample_bicubic2d", 2, "bicubic")
_resized("upsample_trilinear3d", 3, "trilinear")
_resized("_upsample_bilinear2d_aa", 2, "bilinear", antialias=True)
_resized("_upsample_bicubic2d_aa", 2, "bicubic", antialias=True)
