"""The cross entropy of a linear layer, whole or in pieces of rows that keep the logits of only one piece at a time."""

from typing import Any

import numpy as np

from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.class_loss import cross_entropy
from aten.ops.loss import reduce_loss
from aten.shapes import is_symbolic, product, show


def _pieces(n: Any, rows: int) -> list[tuple[Any, Any]]:
    """[start, end) of the pieces; one if the number of rows is a symbol."""
    if is_symbolic(n):
        return [(0, n)]
    return [(start, min(start + rows, n)) for start in range(0, n, rows)]


@op(
    "linear_class_nll(Tensor input, Tensor weight, LongTensor target, Tensor? bias, int rows) -> Tensor",
    tags=["fused", "function_only"],
    compute="float32",
)
def linear_class_nll(input: Meta, weight: Meta, target: Meta, bias: Any, rows: int) -> Meta:
    """-log_softmax(input @ weight^T + bias) at the target of each row, `rows` rows at a time.

    input: (N, in), weight: (classes, in), target: (N) in [0, classes), else IndexError. Neither this nor its gradient keeps
    logits: the gradient computes them again.
    """
    return input.like(sizes=input.sizes[:1])


@linear_class_nll.kernel
def _(out, x, weight, target, bias, rows):
    classes = weight.shape[0]
    outside = (target < 0) | (target >= classes)
    if outside.any():
        raise IndexError(f"Target {target[outside][0]} is out of bounds.")
    for start, end in _pieces(len(x), rows):
        logits = x[start:end] @ weight.T
        if bias is not None:
            logits += bias
        top = logits.max(1, keepdims=True)
        picked = logits[np.arange(end - start), target[start:end]]
        out[start:end] = np.log(np.exp(logits - top).sum(1)) + top[:, 0] - picked


def _logits(x: Any, weight: Any, bias: Any) -> Any:
    product = x @ ops.t(weight)
    return product if bias is None else product + bias


@linear_class_nll.decompose
def _(input, weight, target, bias, rows):
    found = []
    for start, end in _pieces(input.shape[0], rows):
        logs = ops.log_softmax(_logits(ops.slice(input, 0, start, end), weight, bias), 1)
        at = ops.slice(target, 0, start, end).unsqueeze(1)
        found.append(-ops.gather_class(logs, 1, at).squeeze([1]))
    return ops.cat(found, 0) if found else input.new_zeros([0])


@linear_class_nll.vjp
def _(g, needs, input, weight, target, bias, rows):
    gx: list[Any] = []
    gw = gb = None
    for start, end in _pieces(input.shape[0], rows):
        x, scale = ops.slice(input, 0, start, end), ops.slice(g, 0, start, end).unsqueeze(1)
        probabilities = ops.softmax(_logits(x, weight, bias), 1)
        at = ops.slice(target, 0, start, end).unsqueeze(1)
        g_logits = ops.scatter_add(probabilities * scale, 1, at, -scale)
        if needs[0]:
            gx.append(g_logits @ weight)
        if needs[1]:
            part = ops.t(g_logits) @ x
            gw = part if gw is None else gw + part
        if needs[3]:
            part = ops.sum(g_logits, [0])
            gb = part if gb is None else gb + part
    if not gx and needs[0]:
        gx.append(ops.zeros_like(input))
    return (
        ops.cat(gx, 0) if needs[0] else None,
        ops.zeros_like(weight) if gw is None and needs[1] else gw,
        ops.zeros_like(bias) if gb is None and needs[3] else gb,
    )


def _check(input: Any, linear_weight: Any, linear_bias: Any) -> None:
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != tuple(linear_weight.shape[:-1]):
        raise RuntimeError(f"expected linear_bias shape {show(linear_weight.shape[:-1])}, got {show(linear_bias.shape)}")
    if linear_weight.ndim > 2 and input.ndim < 2:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {show(linear_weight.shape)} requires batched input, (N, "
            f"{input.shape[-1]}), got unbatched input with shape {show(input.shape)}"
        )


@composite(
    "linear_cross_entropy(Tensor input, Tensor linear_weight, Tensor target, *, Tensor? linear_bias=None, "
    "Tensor? weight=None, str reduction='mean', int? ignore_index=None, float label_smoothing=0.0, int? rows=None) -> Tensor",
    tags=["function_only"],
)
def linear_cross_entropy(input, linear_weight, target, linear_bias, weight, reduction, ignore_index, label_smoothing, rows):
    """`cross_entropy` of a linear layer: weights [classes, in], or [classes, *places, in] for a target of places.

    With `rows` (for targets that are classes, without places and smoothing) that many rows of logits exist at a time.
    """
    _check(input, linear_weight, linear_bias)
    sizes = [*input.shape[:-1], *linear_weight.shape[:-1]]
    if ignore_index is not None and list(target.shape) == sizes:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if rows is not None:
        return _in_pieces(input, linear_weight, target, linear_bias, weight, reduction, ignored, rows)
    flat = linear_weight.reshape([product(linear_weight.shape[:-1]), linear_weight.shape[-1]])
    logits = ops.linear(input, flat, None if linear_bias is None else linear_bias.reshape([-1]))
    return cross_entropy(
        logits.reshape(sizes),
        target,
        weight,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _in_pieces(
    input: Any, linear_weight: Any, target: Any, linear_bias: Any, weight: Any, reduction: str, ignored: int, rows: int
) -> Any:
    batched = input.ndim == 2
    x, y = (input, target) if batched else (input.unsqueeze(0), target.unsqueeze(0))
    kept = ops.ne(y, ignored)
    safe = ops.where(kept, y, 0)
    loss = linear_class_nll(x, linear_weight, safe, linear_bias, rows)
    scale = None if weight is None else ops.index_select(weight, 0, safe)
    loss = ops.where(kept, loss if scale is None else loss * scale, 0)
    if reduction != "mean":
        result = reduce_loss(loss, reduction)
        return result if batched or reduction == "sum" else result.squeeze([0])
    count = ops.sum(kept) if scale is None else ops.sum(ops.where(kept, scale, 0))
    return ops.sum(loss) / count.to(loss.dtype)
