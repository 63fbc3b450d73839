"""Padding: by a constant (aten/ops/structure.py), or by elements of the tensor itself."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.laid_out import laid_out_as
from aten.meta import Meta, exceeds
from aten.op import composite, op, ops
from aten.ops.batching import to_front
from aten.ops.formats import in_format
from aten.ops.structure import constant_pad_nd
from aten.shapes import is_empty, show


@op("extended_pad(Tensor input, int[] pad, str mode) -> Tensor", tags=["fused", "function_only", "hidden"])
def extended_pad(input: Meta, pad: list[Any], mode: str) -> Meta:
    """Elements of `input` added around it: `pad` in the modes reflect, replicate and circular, for amounts that these allow."""
    sizes = list(input.sizes)
    for k in range(len(pad) // 2):
        sizes[input.ndim - 1 - k] += pad[2 * k] + pad[2 * k + 1]
    if any(exceeds(0, size) for size in sizes):
        raise RuntimeError(f"input of size {show(input.sizes)}, padded by {tuple(pad)}, would have a negative size: {show(sizes)}")
    return input.like(sizes=sizes, strides=in_format(sizes, input))


@op(
    "extended_pad_backward(Tensor grad, int[] sizes, int[] pad, str mode) -> Tensor",
    tags=["fused", "function_only", "hidden"],
    compute="float32",
)
def extended_pad_backward(grad: Meta, sizes: list[Any], pad: list[Any], mode: str) -> Meta:
    """Gradients of what `extended_pad` made, added up where its elements came from."""
    return grad.like(sizes=sizes)


extended_pad.vjp(lambda g, input, pad, mode: extended_pad_backward(g, list(input.shape), pad, mode))
extended_pad.whole = True
extended_pad.jvp(lambda tangents, input, pad, mode, out: extended_pad(tangents[0], pad, mode))
extended_pad_backward.vjp(lambda g, pad, mode: extended_pad(g, pad, mode))
extended_pad_backward.jvp(lambda tangents, grad, sizes, pad, mode, out: extended_pad_backward(tangents[0], sizes, pad, mode))
extended_pad.batch(lambda n, dims, x, pad, mode: (extended_pad(to_front(x, dims[0]), pad, mode), 0))
extended_pad_backward.batch(
    lambda n, dims, g, sizes, pad, mode: (extended_pad_backward(to_front(g, dims[0]), [n, *sizes], pad, mode), 0)
)


def _is_joined(n: Any, before: Any, after: Any, mode: str) -> bool:
    """Whether a dim of size n is extended by parts of it, each once, whose sizes are known."""
    if type(before) is not int or type(after) is not int:
        return False
    if min(before, after) < 0 and (type(n) is not int or n + min(before, 0) + min(after, 0) <= 0):
        return False
    return mode != "circular" or bool(max(before, after) <= n)


@extended_pad.decompose
def _(input, pad, mode):
    given = Meta.of(input)
    for k in range(len(pad) // 2):
        d, before, after = input.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        n = input.shape[d]
        if _is_joined(n, before, after, mode):
            input = _extended(input, d, before, after, mode)
        else:
            input = ops.index_select(input, d, _shown(input.shape[d], before, after, mode))
    return laid_out_as(input, in_format(input.shape, given))


@extended_pad_backward.decompose
def _(grad, sizes, pad, mode):
    for k in range(len(pad) // 2):
        d, before, after = grad.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        n = sizes[d]
        if min(before, after) < 0 or not _is_joined(n, before, after, mode):
            shape = [*grad.shape[:d], n, *grad.shape[d + 1 :]]
            grad = ops.index_add(grad.new_zeros(shape), d, _shown(n, before, after, mode), grad)
            continue
        total = ops.narrow(grad, d, before, n)
        for at, size, first in ((0, before, True), (before + n, after, False)):
            if not size:
                continue
            piece = ops.narrow(grad, d, at, size)
            if mode == "replicate":
                piece, size = ops.sum(piece, [d], True), 1
            elif mode == "reflect":
                piece = ops.flip(piece, [d])
            front = {
                "reflect": 1 if first else n - 1 - size,
                "replicate": 0 if first else n - 1,
                "circular": n - size if first else 0,
            }[mode]
            total = total + ops.constant_pad_nd(piece, [0, 0] * (grad.ndim - 1 - d) + [front, n - front - size], 0)
        grad = total
    return grad


@extended_pad.kernel
def _(out, x, pad, mode):
    for k in range(len(pad) // 2):
        d = x.ndim - 1 - k
        x = np.take(x, _shown_places(x.shape[d], pad[2 * k], pad[2 * k + 1], mode), d)
    out[...] = x


@extended_pad_backward.kernel
def _(out, g, sizes, pad, mode):
    for k in range(len(pad) // 2):
        d = g.ndim - 1 - k
        total = np.zeros((sizes[d], *np.moveaxis(g, d, 0).shape[1:]), g.dtype)
        np.add.at(total, _shown_places(sizes[d], pad[2 * k], pad[2 * k + 1], mode), np.moveaxis(g, d, 0))
        g = np.moveaxis(total, 0, d)
    out[...] = g


def _shown_places(n: int, before: int, after: int, mode: str) -> np.ndarray:
    i = np.arange(-before, n + after)
    if mode == "replicate":
        return i.clip(0, n - 1)
    return i % n if mode == "circular" else (n - 1) - np.abs((n - 1) - np.abs(i))


def _shown(n: Any, before: Any, after: Any, mode: str) -> Any:
    """Which elements of a dim of size n are shown after `extended_pad`."""
    i = ops.arange(-before, n + after)
    if mode == "replicate":
        return i.clamp(0, n - 1)
    return i % n if mode == "circular" else (n - 1) - ((n - 1) - i.abs()).abs()


def _extended(x: Any, d: int, before: int, after: int, mode: str) -> Any:
    """x between pieces of itself: what `pad` puts before and after the dim `d`. Of a negative amount some of x is left out."""
    n, flipped = x.shape[d], (lambda piece: ops.flip(piece, [d]))
    if mode == "circular":
        first, last = (lambda: ops.narrow(x, d, n - before, before)), (lambda: ops.narrow(x, d, 0, after))
    elif mode == "reflect":
        first, last = (lambda: flipped(ops.narrow(x, d, 1, before))), (lambda: flipped(ops.narrow(x, d, n - 1 - after, after)))
    else:
        repeated = lambda at, times: ops.expand(ops.narrow(x, d, at, 1), [times if k == d else -1 for k in range(x.ndim)])
        first, last = (lambda: repeated(0, before)), (lambda: repeated(n - 1, after))
    left_out = max(-before, 0), max(-after, 0)
    middle = lambda: ops.narrow(x, d, left_out[0], n - sum(left_out)) if sum(left_out) else x
    pieces = [piece() for piece, size in ((first, before), (middle, 1), (last, after)) if size > 0]
    return ops.cat(pieces, d) if len(pieces) > 1 else pieces[0]


_INTEGERS = {int, *(np.dtype(code).type for code in np.typecodes["AllInteger"])}


@composite("pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor", tags=["function_only"])
def pad(input, pad, mode, value):
    """Elements added around: constant, or by reflecting, repeating the border, or wrapping round."""
    if mode == "constant":
        value = 0 if value is None else value
        return constant_pad_nd(input, pad, float(value) if type(value) in _INTEGERS else value)  # a float, whatever the dtype
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    n = len(pad) // 2
    if mode != "circular" and any(is_empty(s) for s in input.shape[1 if input.ndim == n + 2 else 0 :]):
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {show(input.shape)}"
        )
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if not 1 <= n <= 3 or input.ndim - n not in (1, 2):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    if input.dtype is dtypes.bool and mode != "circular":
        name = "reflection" if mode == "reflect" else "replication"
        raise NotImplementedError(f"\"{name}_pad{n}d\" not implemented for 'Bool'")
    allowed = input.shape  # (what goes round may be longer than what is left, but not than the input)
    if mode == "circular" and any(p < 0 for p in pad):  # what is cut off does not come round
        input = constant_pad_nd(input, [min(p, 0) for p in pad], 0)
        pad = [max(p, 0) for p in pad]
    for k in range(len(pad) // 2):
        d, before, after = input.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        n = input.shape[d]
        if mode == "reflect" and (before >= n or after >= n):
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ("
                f"{before}, {after}) at dimension {d} of input {show(input.shape)}"
            )
        if mode == "circular" and (before > allowed[d] or after > allowed[d] or (is_empty(n) and (before or after))):
            raise RuntimeError("Padding value causes wrapping around more than once.")
    return extended_pad(input, list(pad), mode)
