"""Convolution as a core op, closed under its derivatives: the gradient of the input is a convolution again.

`convolution(x, w, bias, size, stride, before, dilation, holes, groups)` is the cross-correlation of x [N, C, *S], its elements
`holes` apart and `before` places of zeros in front (negative: so many are cut off), with w [O, C / groups, *K], at `size` positions
`stride` apart: position p and tap t meet place p * stride + t * dilation - before. A transposed convolution has holes.
"""

from typing import Any

import numpy as np

from aten import _native
from aten.meta import Meta
from aten.op import op, ops
from aten.ops.pointwise import conjugate
from aten.shapes import product


def windows(x: Any, kernel: list[int], stride: list[int], dilation: list[int]) -> Any:
    """All windows of the last len(kernel) dimensions: [..., *positions, *kernel], a view."""
    first = x.ndim - len(kernel)
    for d in range(len(kernel)):
        x = ops.unfold(x, first + d, (kernel[d] - 1) * dilation[d] + 1, stride[d])
        if dilation[d] != 1:
            x = ops.slice(x, x.ndim - 1, 0, x.shape[-1], dilation[d])
    return x


def padded(x: Any, before: list[int], after: list[int], value: float = 0.0) -> Any:
    """x with its last dimensions padded."""
    if all(type(p) is int and p == 0 for p in (*before, *after)):
        return x
    return ops.constant_pad_nd(x, [p for b, a in zip(reversed(before), reversed(after)) for p in (b, a)], value)


def turned(weight: Any, groups: int) -> Any:
    """[groups * made, per, *K] as weights of the transposed convolution: [groups * per, made, *K], taps in reverse."""
    kernel = list(weight.shape[2:])
    made, per = weight.shape[0] // groups, weight.shape[1]
    flipped = ops.flip(weight, list(range(2, weight.ndim))).reshape([groups, made, per, *kernel])
    return flipped.transpose(1, 2).reshape([groups * per, made, *kernel])


@op(
    "convolution(Tensor input, Tensor weight, Tensor? bias, int[] size, int[] stride, int[] before, int[] dilation, "
    "int[] holes, int groups) -> Tensor",
    tags=["fused", "hidden"],
    compute="float32",
)
def convolution(
    input: Meta, weight: Meta, bias: Any, size: Any, stride: Any, before: Any, dilation: Any, holes: Any, groups: int
) -> Meta:
    """The cross-correlation that the module describes: [N, O, *size]."""
    return input.like(sizes=(input.sizes[0], weight.sizes[0], *size))


@op(
    "convolution_weight(Tensor grad, Tensor input, int[] kernel, int[] stride, int[] before, int[] dilation, int[] holes, "
    "int groups) -> Tensor",
    tags=["fused", "hidden"],
    compute="float32",
)
def convolution_weight(
    grad: Meta, input: Meta, kernel: Any, stride: Any, before: Any, dilation: Any, holes: Any, groups: int
) -> Meta:
    """The derivative of a convolution by its weights, for the gradient of its results: [O, C / groups, *kernel]."""
    return grad.like(sizes=(grad.sizes[1], input.sizes[1] // groups, *kernel))


def _transposed(g, weight, sizes, stride, before, dilation, holes, groups):
    """The derivative by the input: a convolution whose stride and holes have changed places."""
    reach = [d * (k - 1) - b for d, k, b in zip(dilation, weight.shape[2:], before)]
    return convolution(g, turned(weight, groups), None, list(sizes[2:]), holes, reach, dilation, stride, groups)


convolution.vjp(
    (
        lambda g, weight, input_meta, stride, before, dilation, holes, groups: _transposed(
            g, conjugate(weight), input_meta.sizes, stride, before, dilation, holes, groups
        ),
        lambda g, input, weight_meta, stride, before, dilation, holes, groups: convolution_weight(
            g, conjugate(input), list(weight_meta.sizes[2:]), stride, before, dilation, holes, groups
        ),
        lambda g: ops.sum(g, [0, *range(2, g.ndim)]),
    )
)
convolution_weight.vjp(
    (
        lambda g, input, grad_meta, stride, before, dilation, holes, groups: convolution(
            conjugate(input), g, None, list(grad_meta.sizes[2:]), stride, before, dilation, holes, groups
        ),
        lambda g, grad, input_meta, stride, before, dilation, holes, groups: _transposed(
            conjugate(grad), g, input_meta.sizes, stride, before, dilation, holes, groups
        ),
    )
)


@convolution.jvp
def _(tangents, input, weight, bias, size, stride, before, dilation, holes, groups, out):
    of_input, of_weight, of_bias = tangents[:3]
    total = None
    for x, w in ((of_input, weight), (input, of_weight)):
        if x is not None and w is not None:
            part = convolution(x, w, None, size, stride, before, dilation, holes, groups)
            total = part if total is None else total + part
    if of_bias is None:
        return total
    added = of_bias.reshape([-1] + [1] * len(size)).expand(list(out.shape))
    return added if total is None else total + added


@convolution_weight.jvp
def _(tangents, grad, input, kernel, stride, before, dilation, holes, groups, out):
    parts = [
        convolution_weight(g, x, kernel, stride, before, dilation, holes, groups)
        for g, x in ((tangents[0], input), (grad, tangents[1]))
        if g is not None and x is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


# ------------------------------------------------------------------------------------------------ in smaller ops
def _with_holes(x: Any, holes: list[int]) -> Any:
    """x with holes - 1 zeros between neighbours of its last dimensions."""
    n = len(holes)
    for d, s in enumerate(holes):
        if s > 1:
            dim = x.ndim - n + d
            size = x.shape[dim]
            wide = ops.unsqueeze(x, dim + 1)
            wide = ops.constant_pad_nd(wide, [0, 0] * (wide.ndim - dim - 2) + [0, s - 1], 0)
            x = ops.narrow(ops.flatten(wide, dim, dim + 1), dim, 0, (size - 1) * s + 1)
    return x


def _rows(x, kernel, size, stride, before, dilation, holes, groups):
    """The matrix of windows: [N * places, C * taps], or with groups [groups, N * places, C / groups * taps]."""
    wide = _with_holes(x, holes)
    reach = [(p - 1) * s + (k - 1) * d + 1 for p, s, k, d in zip(size, stride, kernel, dilation)]
    shown = windows(padded(wide, before, [r - b - w for r, b, w in zip(reach, before, wide.shape[2:])]), kernel, stride, dilation)
    n, spatial, places, taps = x.shape[0], len(kernel), product(size), product(kernel)
    per = x.shape[1] // groups
    positions, inside = range(2, 2 + spatial), range(2 + spatial, 2 + 2 * spatial)
    if groups == 1:
        return ops.permute(shown, [0, *positions, 1, *inside]).reshape([n * places, per * taps])
    split = shown.reshape([n, groups, per, *shown.shape[2:]])
    order = [1, 0, *(p + 1 for p in positions), 2, *(p + 1 for p in inside)]
    return ops.permute(split, order).reshape([groups, n * places, per * taps])


@convolution.decompose
def _(input, weight, bias, size, stride, before, dilation, holes, groups):
    kernel = list(weight.shape[2:])
    rows = _rows(input, kernel, size, stride, before, dilation, holes, groups)
    n, made, width = input.shape[0], weight.shape[0] // groups, weight.shape[1] * product(kernel)
    if groups == 1:
        result = ops.movedim((rows @ weight.reshape([made, width]).t()).reshape([n, *size, made]), -1, 1)
    else:
        result = ops.bmm(rows, weight.reshape([groups, made, width]).transpose(1, 2)).reshape([groups, n, *size, made])
        result = ops.movedim(result, [1, 0, -1], [0, 1, 2]).reshape([n, groups * made, *size])
    return (result if bias is None else result + bias.reshape([-1] + [1] * len(kernel))).contiguous()


@convolution_weight.decompose
def _(grad, input, kernel, stride, before, dilation, holes, groups):
    size, n, made = list(grad.shape[2:]), grad.shape[0], grad.shape[1] // groups
    rows = _rows(input, kernel, size, stride, before, dilation, holes, groups)
    per = input.shape[1] // groups
    flat = grad.reshape([n, groups, made, product(size)])
    if groups == 1:
        left = ops.permute(flat.squeeze([1]), [1, 0, 2]).reshape([made, n * product(size)])
        return (left @ rows).reshape([made, per, *kernel])
    left = ops.permute(flat, [1, 2, 0, 3]).reshape([groups, made, n * product(size)])
    return ops.bmm(left, rows).reshape([groups * made, per, *kernel])


# ------------------------------------------------------------------------------------------------------ kernels
def _native_form(*arrays: Any) -> list[Any]:
    return [None if a is None else _native.from_numpy(np.ascontiguousarray(a)) for a in arrays]


def _windows_of(x, kernel, size, stride, before, dilation, holes, groups):
    """The windows of an array: [N, groups, C / groups, *size, *kernel]."""
    n = len(kernel)
    reach = [(p - 1) * s + (k - 1) * d + 1 for p, s, k, d in zip(size, stride, kernel, dilation)]
    canvas = np.zeros((*x.shape[:2], *reach), x.dtype)
    to, of = [], []
    for length, r, b, h in zip(x.shape[2:], reach, before, holes):
        first = max(0, -(b // h))
        last = min(length, -(-(r - b) // h))
        of.append(slice(first, max(first, last)))
        to.append(slice(first * h + b, max(first, last) * h + b if last > first else first * h + b, h))
    canvas[(slice(None), slice(None), *to)] = x[(slice(None), slice(None), *of)]
    shown = np.lib.stride_tricks.sliding_window_view(
        canvas, [(k - 1) * d + 1 for k, d in zip(kernel, dilation)], axis=tuple(range(2, 2 + n))
    )
    shown = shown[(..., *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]
    return shown.reshape(x.shape[0], groups, x.shape[1] // groups, *shown.shape[2:])


def _by_doubles(out, x, weight, bias, size, *numbers):
    """Convolves integers as float64 where that holds every sum, by loops far faster than those over integers. Whether it did."""
    sides = [None if a is None else a.astype(np.float64) for a in (x, weight, bias)]
    if 0 in (out.size, x.size, weight.size):
        return False
    most = [0.0 if a is None else float(np.abs(a).max(initial=0)) for a in sides]
    if most[0] * most[1] * (weight.size // weight.shape[0]) + most[2] >= 2.0**53:
        return False
    sums = np.empty(out.shape)
    if convolution.native_fn(_native.from_numpy(sums), *_native_form(*sides), list(size), *numbers) is not None:
        return False
    out[...] = sums.astype(np.int64)  # (which wraps around in smaller types)
    return True


@convolution.kernel
def _(out, x, weight, bias, size, stride, before, dilation, holes, groups):
    numbers = [list(map(int, v)) for v in (stride, before, dilation, holes)]
    if out.dtype.kind in "iu" and _by_doubles(out, x, weight, bias, size, *numbers, groups):
        return
    if convolution.native_fn(_native.from_numpy(out), *_native_form(x, weight, bias), list(size), *numbers, groups) is None:
        return  # of half types, which come here as float32
    shown = _windows_of(x, weight.shape[2:], size, *numbers, groups)
    made = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    n = len(size)
    p, k = "xyz"[:n], "uvw"[:n]
    out[...] = np.einsum(f"ngc{p}{k},goc{k}->ngo{p}", shown, made).reshape(out.shape)
    if bias is not None:
        out += bias.reshape(-1, *[1] * n)


@convolution_weight.kernel
def _(out, grad, x, kernel, stride, before, dilation, holes, groups):
    numbers = [list(map(int, v)) for v in (stride, before, dilation, holes)]
    if convolution_weight.native_fn(_native.from_numpy(out), *_native_form(grad, x), list(kernel), *numbers, groups) is None:
        return
    size, n = grad.shape[2:], len(kernel)
    shown = _windows_of(x, kernel, size, *numbers, groups)
    split = grad.reshape(grad.shape[0], groups, grad.shape[1] // groups, *size)
    p, k = "xyz"[:n], "uvw"[:n]
    out[...] = np.einsum(f"ngo{p},ngc{p}{k}->goc{k}", split, shown).reshape(out.shape)


__all__ = ["convolution", "convolution_weight", "padded", "turned", "windows"]
