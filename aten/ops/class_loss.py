"""Losses of scores of classes: nll_loss, cross_entropy and those with margins."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.by_definition import by_definition
from aten.ops.loss import check_reduction, old_reduction, reduce_loss
from aten.promotion import TYPE_NAMES, category
from aten.shapes import is_empty, product, show


@composite(
    "nll_loss(Tensor input, Tensor target, Tensor? weight=None, Any size_average=None, int ignore_index=-100, Any reduce=None, "
    "str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def nll_loss(input, target, weight, size_average, ignore_index, reduce, reduction):
    """-input at the target class (dim 1, or 0 without a batch), weighted by class; ignore_index counts as nothing."""
    _check_classes(input, target, weight)
    reduction = old_reduction(reduction, size_average, reduce)
    if weight is None and reduction in ("mean", "sum"):
        return _whole_class_loss(input, target, ignore_index, reduction)
    picked, kept, w = _picked(input, target, weight, ignore_index)
    return _class_reduction(ops.where(kept, -picked if w is None else -picked * w, 0), kept, w, reduction)


@op(
    "class_loss(Tensor input, LongTensor target, int ignore_index) -> (Tensor, Tensor)",
    tags=["fused", "function_only", "hidden", "raises"],
    compute="float32",
)
def class_loss(input: Meta, target: Meta, ignore_index: int) -> tuple[Meta, Meta]:
    """The sum of -input at the target class (dim 1, or 0 without a batch) where that is not `ignore_index`, and how many there are.

    Raises IndexError for a target that is no class. Nothing flows back from the count.
    """
    return input.like(sizes=()), input.like(sizes=())


@class_loss.decompose
def _(input, target, ignore_index):
    picked, kept, _ = _picked(input, target, None, ignore_index)
    return ops.sum(ops.where(kept, -picked, 0)), ops.sum(kept).to(input.dtype)


@class_loss.kernel
def _(out, x, target, ignore_index):
    dim = 1 if x.ndim > 1 else 0
    kept = target != ignore_index
    safe = np.where(kept, target, 0)
    picked = np.zeros(target.shape, x.dtype)
    ops.gather_class.kernel_fn(np.expand_dims(picked, dim), x, dim, np.expand_dims(safe, dim))
    out[0][...], out[1][...] = -np.where(kept, picked, 0).sum(dtype=np.float64), kept.sum()


class_loss.whole = True


@class_loss.vjp
def _(g, input, target, ignore_index):
    if g[0] is None:
        return None
    dim = 1 if input.ndim > 1 else 0
    kept = ops.ne(target, ignore_index)
    safe = ops.where(kept, target, 0).to(dtypes.int64).unsqueeze(dim)
    zeros = ops.full(list(input.shape), 0, dtype=g[0].dtype, device=input.device)
    return ops.scatter_add(zeros, dim, safe, ops.where(kept, -g[0], 0).unsqueeze(dim))


def _whole_class_loss(input: Any, target: Any, ignore_index: int, reduction: str) -> Any:
    total, count = class_loss(input, target, ignore_index)
    return total / count if reduction == "mean" else total


def _check_classes(input: Any, target: Any, weight: Any) -> None:
    if input.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    if target.dtype is not dtypes.int64 and target.dtype is not dtypes.uint8:
        raise RuntimeError(
            "expected scalar type Long but found " + {"int32": "Int", "float32": "Float"}.get(target.dtype.name, target.dtype.name)
        )
    expected = [*input.shape[:1], *input.shape[2:]] if input.ndim > 1 else []
    if len(target.shape) != len(expected):
        raise (
            RuntimeError(f"Expected target size {show(expected)}, got {show(target.shape)}")
            if input.ndim > 2
            else ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
            if input.ndim == 1 and target.ndim == 1
            else RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        )
    for a, b in zip(target.shape, expected):
        if not bool(a == b):
            if input.ndim > 2 and bool(target.shape[0] == input.shape[0]):
                raise RuntimeError(f"Expected target size {show(expected)}, got {show(target.shape)}")
            raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({target.shape[0]}).")
    classes = input.shape[1] if input.ndim > 1 else input.shape[0]
    if weight is not None and (weight.ndim != 1 or not bool(weight.shape[0] == classes)):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {show(weight.shape)}"
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {TYPE_NAMES[input.dtype.name]} but found {TYPE_NAMES[weight.dtype.name]}")


def _picked(input: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """The value at the target class, where the target counts, and the class's weight."""
    dim = 1 if input.ndim > 1 else 0
    kept = ops.ne(target, ignore_index)
    safe = ops.where(kept, target, 0).to(dtypes.int64)
    picked = ops.gather_class(input, dim, safe.unsqueeze(dim)).squeeze([dim])
    return picked, kept, None if weight is None else ops.embedding(weight.unsqueeze(1), safe).squeeze([-1])


def _class_reduction(loss: Any, kept: Any, weight: Any, reduction: str) -> Any:
    if reduction != "mean":
        return reduce_loss(loss, reduction)
    total = ops.sum(kept) if weight is None else ops.sum(ops.where(kept, weight, 0))
    return ops.sum(loss) / total.to(loss.dtype)


@composite(
    "cross_entropy(Tensor input, Tensor target, Tensor? weight=None, Any size_average=None, int ignore_index=-100, "
    "Any reduce=None, str reduction='mean', float label_smoothing=0.0) -> Tensor",
    tags=["function_only"],
)
def cross_entropy(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing):
    """-log_softmax(input) at the target: classes (int64), or probabilities of the input's sizes.

    Classes stand in dim 1 (dim 0 without a batch). label_smoothing mixes the target with the uniform distribution.
    """
    reduction = old_reduction(reduction, size_average, reduce)
    if input.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 1 if input.ndim > 1 else 0
    logs = ops.log_softmax(input, dim)
    if category(target.dtype) >= 2 and (target.ndim == input.ndim or label_smoothing):
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, dim)
    _check_classes(input, target, weight)
    if weight is None and label_smoothing == 0 and reduction in ("mean", "sum"):
        return _whole_class_loss(logs, target, ignore_index, reduction)
    picked, kept, w = _picked(logs, target, weight, ignore_index)
    hard = ops.where(kept, -picked if w is None else -picked * w, 0)
    if label_smoothing == 0:
        return _class_reduction(hard, kept, w, reduction)
    classes = input.shape[dim]
    weighted = logs if weight is None else logs * weight.reshape([-1, *([1] * (input.ndim - 1 - dim))])
    smooth = ops.where(kept, -ops.sum(weighted, [dim]), 0) / classes
    both = (1 - label_smoothing) * hard + label_smoothing * smooth
    return _class_reduction(both, kept, w, reduction)


def _soft_cross_entropy(logs: Any, target: Any, weight: Any, reduction: str, label_smoothing: float, dim: int) -> Any:
    if tuple(logs.shape) != tuple(target.shape):
        raise RuntimeError(
            f"Expected floating point target with class probabilities to have the same shape as input: "
            f"{show(logs.shape)} "
            f"!= {show(target.shape)}"
        )
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / logs.shape[dim]
    weighted = logs * target
    if weight is not None:
        weighted = weighted * weight.reshape([-1, *([1] * (logs.ndim - 1 - dim))])
    if reduction == "mean":
        return -ops.sum(weighted) / product(s for d, s in enumerate(logs.shape) if d != dim)
    return reduce_loss(-ops.sum(weighted, [dim]), reduction)


def _check_scores(input: Any) -> None:
    if input.ndim > 2 or any(is_empty(s) for s in input.shape[-1:]):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {show(input.shape)}")


@composite(
    "multi_margin_loss(Tensor input, Tensor target, int p=1, float margin=1.0, Tensor? weight=None, Any size_average=None, Any "
    "reduce=None, str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def multi_margin_loss(input, target, p, margin, weight, size_average, reduce, reduction):
    """The mean over classes of max(0, margin - input[target] + input[class])**p."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    check_reduction(reduction)
    _check_scores(input)
    x, y = (input, target) if input.ndim == 2 else (input.reshape([1, -1]), target.reshape([-1]))
    if y.ndim != 1 or bool(y.shape[0] != x.shape[0]):
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected "
            f"target size [{x.shape[0]}], but got {show(target.shape)}. Input has shape {show(input.shape)}."
        )
    if weight is not None and bool(weight.shape[0] != x.shape[1]):
        raise RuntimeError(f"inconsistent weight size, expected {x.shape[1]} but got {show(weight.shape)}")
    picked = ops.gather(x, 1, y.unsqueeze(1))
    z = (margin - picked + x).relu()
    z = z if p == 1 else z * z
    if weight is not None:
        z = z * ops.index_select(weight, 0, y).unsqueeze(1)
    others = ops.ne(ops.arange(x.shape[1]).unsqueeze(0), y.unsqueeze(1))
    loss = ops.sum(ops.where(others, z, 0), [1]) / x.shape[1]
    return reduce_loss(loss if target.ndim else loss.reshape([]), old_reduction(reduction, size_average, reduce))


@composite(
    "multilabel_soft_margin_loss(Tensor input, Tensor target, Tensor? weight=None, Any size_average=None, Any reduce=None, str "
    "reduction='mean') -> Tensor",
    tags=["function_only"],
)
def multilabel_soft_margin_loss(input, target, weight, size_average, reduce, reduction):
    """The mean over classes of the binary cross entropies."""
    loss = -(target * ops.logsigmoid(input) + (1 - target) * ops.logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduce_loss(ops.mean(loss, [-1]), old_reduction(reduction, size_average, reduce))


@composite(
    "multilabel_margin_loss(Tensor input, Tensor target, Any size_average=None, Any reduce=None, str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def multilabel_margin_loss(input, target, size_average, reduce, reduction):
    """Over pairs of a target class (those before the first -1) and another: max(0, 1 - input[target] +
    input[other]).
    """
    check_reduction(reduction)
    _check_scores(input)
    if input.ndim != target.ndim or any(bool(a != b) for a, b in zip(input.shape, target.shape)):
        raise RuntimeError(f"inconsistent target size: {show(target.shape)} for input of size: {show(input.shape)}")
    x, y = (input, target) if input.ndim == 2 else (input.reshape([1, -1]), target.reshape([1, -1]))
    loss = label_margins(x, y)
    return reduce_loss(loss if input.ndim == 2 else loss.reshape([]), old_reduction(reduction, size_average, reduce))


@op("label_margins(Tensor input, LongTensor target) -> Tensor", tags=["fused", "function_only", "hidden", "raises"])
def label_margins(input: Meta, target: Meta) -> Meta:
    """`multilabel_margin_loss` of each row of a matrix. Raises RuntimeError for a target that is no class."""
    return Meta.contiguous(input.sizes[:1], input.dtype, input.device)


@op(
    "label_margins_backward(Tensor grad, Tensor input, LongTensor target) -> Tensor",
    tags=["fused", "function_only", "hidden", "raises"],
)
def label_margins_backward(grad: Meta, input: Meta, target: Meta) -> Meta:
    """The gradient of the matrix."""
    return Meta.contiguous(input.sizes, input.dtype, input.device)


def _pairwise_margins(x: Any, y: Any) -> Any:
    n = x.shape[1]
    valid = ops.eq(ops.cumsum(ops.lt(y, 0), 1), 0)
    safe = ops.where(valid, y, 0)
    chosen = ops.scatter_add(ops.zeros_like(x), 1, safe, valid.to(x.dtype)) > 0
    z = 1 - ops.gather(x, 1, safe).unsqueeze(2) + x.unsqueeze(1)
    z = ops.where(valid.unsqueeze(2) & ops.logical_not(chosen).unsqueeze(1) & (z > 0), z, 0)  # (a NaN counts as nothing)
    return ops.sum(z, [1, 2]) / n


def _pairwise_slopes(grad: Any, x: Any, y: Any) -> Any:
    from aten.transforms.reverse_mode import vjp  # which is made of ops

    return vjp(lambda x: _pairwise_margins(x, y), x)[1](grad)[0]


label_margins.decompose(_pairwise_margins)
label_margins_backward.decompose(_pairwise_slopes)
label_margins.kernel(by_definition(_pairwise_margins))
label_margins_backward.kernel(by_definition(_pairwise_slopes))
label_margins.vjp(lambda g, input, target: label_margins_backward(g, input, target))
