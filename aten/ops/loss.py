"""Losses, as composites; `reduction` is "mean", "sum" or "none"."""

from typing import Any

from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.closed import closed
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import math
from aten.shapes import show


def old_reduction(reduction: str, size_average: Any, reduce: Any) -> str:
    """The two flags that came before `reduction`."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        reduction = "none"
    else:
        reduction = "mean" if size_average is None or size_average else "sum"
    warn_caller(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    return reduction


def _check_sizes(x: Any, y: Any) -> None:
    """Sizes that differ are broadcast, which is rarely meant."""
    if len(x.shape) != len(y.shape) or any(bool(a != b) for a, b in zip(x.shape, y.shape)):
        warn_caller(
            f"Using a target size (torch.Size({show(y.shape)})) that is different to the input size (torch.Size({show(x.shape)})). "
            "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )


def reduce_loss(x: Any, reduction: str) -> Any:
    """The mean, the sum, or each element's loss."""
    if reduction == "mean":
        return ops.mean(x)
    if reduction == "sum":
        return ops.sum(x)
    if reduction == "none":
        return x
    return check_reduction(reduction)


def check_reduction(reduction: str) -> None:
    """ValueError for what is no way to reduce losses."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _elementwise(name: str, parameters: str, compute: Any, doc: str) -> None:
    """A loss of input and target of broadcastable sizes."""
    last = ", " + parameters if parameters else ""

    @composite(
        f"{name}(Tensor input, Tensor target, Any size_average=None, Any reduce=None, str reduction='mean'{last}) -> Tensor",
        tags=["function_only"],
    )
    def definition(input, target, size_average, reduce, reduction, *extra):
        _check_sizes(input, target)
        reduction = old_reduction(reduction, size_average, reduce)
        return reduce_loss(compute(input, target, *extra), reduction)


def _weighted(name: str, compute: Any, doc: str) -> None:
    """Such a loss whose elements may have weights, of which the mean is then taken."""

    @composite(
        f"{name}(Tensor input, Tensor target, Any size_average=None, Any reduce=None, str reduction='mean', "
        "Tensor? weight=None) -> Tensor",
        tags=["function_only"],
    )
    def definition(input, target, size_average, reduce, reduction, weight):
        _check_sizes(input, target)
        reduction = old_reduction(reduction, size_average, reduce)
        loss = compute(input, target)
        if weight is None:
            return reduce_loss(loss, reduction)
        if len(weight.shape) != len(input.shape) or any(bool(a != b) for a, b in zip(weight.shape, input.shape)):
            raise ValueError("Weights and input must have the same size.")
        loss = loss * weight
        return ops.sum(loss) / ops.sum(weight) if reduction == "mean" else reduce_loss(loss, reduction)

    definition.__doc__ = doc

    definition.__doc__ = doc


def _huber(x, y, delta):
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return huber_values(x, y, delta)


def _smooth_l1(x, y, beta):
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return smooth_l1_values(x, y, beta)


@composite("huber_values(Tensor input, Tensor target, float delta) -> Tensor", tags=["function_only", "hidden"], native="chain")
def huber_values(x, y, delta):
    """0.5 d^2 where |d| < delta, delta (|d| - delta / 2) elsewhere, of the difference d."""
    return ops.huber_core(*_of_one_real_dtype(x, y, "huber"), delta)


def _huber_slope(d, delta):
    return ops.where(d.abs() >= delta, delta * d.sign(), d)


def _huber_core(x, y, delta):
    d = x - y
    size = d.abs()
    return ops.where(size < delta, 0.5 * (d * d), delta * (size - 0.5 * delta))


closed(
    "huber_core(Tensor input, Tensor target, float delta) -> Tensor",
    _huber_core,
    (lambda t, x, y, delta: t * _huber_slope(x - y, delta), lambda t, x, y, delta: -(t * _huber_slope(x - y, delta))),
    "0.5 d^2 where |d| < delta, delta (|d| - delta / 2) elsewhere.",
)


@composite("smooth_l1_values(Tensor input, Tensor target, float beta) -> Tensor", tags=["function_only", "hidden"], native="chain")
def smooth_l1_values(x, y, beta):
    """0.5 d^2 / beta where |d| < beta, |d| - beta / 2 elsewhere, of the difference d."""
    return (x - y).abs() if beta == 0 else ops.smooth_l1_core(*_of_one_real_dtype(x, y, "smooth_l1"), beta)


def _smooth_l1_core(x, y, beta):
    d = x - y
    size = d.abs()
    return ops.where(size < beta, 0.5 * (d * d) / beta, size - 0.5 * beta)


closed(
    "smooth_l1_core(Tensor input, Tensor target, float beta) -> Tensor",
    _smooth_l1_core,
    (lambda t, x, y, beta: t * ((x - y) / beta).clamp(-1, 1), lambda t, x, y, beta: -(t * ((x - y) / beta).clamp(-1, 1))),
    "0.5 d^2 / beta where |d| < beta, |d| - beta / 2 elsewhere.",
)


def _of_one_real_dtype(x, y, name):
    dtype = ops.result_type(x, y)
    if dtype.is_complex:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{TYPE_NAMES[dtype.name]}'")
    return x.to(dtype), y.to(dtype)


@composite("mse_values(Tensor input, Tensor target) -> Tensor", tags=["function_only", "hidden"], native="chain")
def mse_values(x, y):
    """The square of the difference."""
    d = x - y
    if not (d.dtype.is_floating_point or d.dtype.is_complex):
        raise NotImplementedError(f"\"mse_cpu\" not implemented for '{TYPE_NAMES[d.dtype.name]}'")
    return d * d


@composite("l1_values(Tensor input, Tensor target) -> Tensor", tags=["function_only", "hidden"], native="chain")
def l1_values(x, y):
    """The size of the difference."""
    return (x - y).abs()


_weighted("mse_loss", mse_values, "(input - target)**2.")
_weighted("l1_loss", l1_values, "|input - target|.")
_elementwise("smooth_l1_loss", "float beta=1.0", _smooth_l1, "Squared below beta, linear above.")
_elementwise("soft_margin_loss", "", lambda x, y: (-y * x).exp().log1p(), "log(1 + exp(-target * input)).")


@composite(
    "huber_loss(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor",
    tags=["function_only"],
)
def huber_loss(input, target, reduction, delta, weight):
    """Squared below delta, linear above."""
    _check_sizes(input, target)
    loss = _huber(input, target, delta)
    return reduce_loss(loss if weight is None else loss * weight, reduction)


@composite(
    "hinge_embedding_loss(Tensor input, Tensor target, float margin=1.0, Any size_average=None, Any reduce=None, "
    "str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def hinge_embedding_loss(input, target, margin, size_average, reduce, reduction):
    """input where target is 1, max(0, margin - input) where it is -1."""
    loss = ops.where(target != 1, (margin - input).clamp(min=0), 0) + ops.where(target != -1, input, 0)
    return reduce_loss(loss, old_reduction(reduction, size_average, reduce))


@composite(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, Any size_average=None, Any reduce=None, "
    "str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def margin_ranking_loss(input1, input2, target, margin, size_average, reduce, reduction):
    """max(0, -target * (input1 - input2) + margin)."""
    if input1.ndim != input2.ndim or input1.ndim != target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{show(input1.shape)}, "
            f"input2: {show(input2.shape)}, target: {show(target.shape)} "
        )
    return reduce_loss((-target * (input1 - input2) + float(margin)).clamp(min=0), old_reduction(reduction, size_average, reduce))


@composite("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", tags=["function_only"])
def cosine_similarity(x1, x2, dim, eps):
    """The dot product over the product of norms, each at least eps."""
    dtype = ops.result_type(x1, x2)
    if category(dtype) < 2:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {TYPE_NAMES[dtype.name]}")
    x1, x2 = ops.broadcast_tensors(x1.to(dtype), x2.to(dtype))
    a = x1 / ops.norm(x1, 2, dim, True).clamp(min=eps)
    b = x2 / ops.norm(x2, 2, dim, True).clamp(min=eps)
    return ops.sum(a * b, [dim])


@composite(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0, Any size_average=None, Any "
    "reduce=None, str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def cosine_embedding_loss(input1, input2, target, margin, size_average, reduce, reduction):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    dim = target.ndim
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.ndim != dim + 1 or input2.ndim != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes {show(input1.shape)} and "
            f"{show(input2.shape)}."
        )
    eps = 1e-12
    dot = ops.sum(input1 * input2, [dim])
    square1, square2 = ops.sum(input1 * input1, [dim]) + eps, ops.sum(input2 * input2, [dim]) + eps
    cos = dot / (square1 * square2).sqrt()
    loss = ops.where(target == 1, 1 - cos, 0) + ops.where(target == -1, (cos - margin).clamp(min=0), 0)
    return reduce_loss(loss, old_reduction(reduction, size_average, reduce))


@composite(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
    tags=["function_only"],
)
def pairwise_distance(x1, x2, p, eps, keepdim):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return ops.norm(x1 - x2 + eps, p, -1, keepdim)


@composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool "
    "swap=False, Any size_average=None, Any reduce=None, str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_loss((margin + near - far).clamp(min=0), old_reduction(reduction, size_average, reduce))


# ------------------------------------------------------------------------------------------------ probabilities
closed(
    "bce_core(Tensor input, Tensor target) -> Tensor",
    lambda x, y: (y - 1) * (1 - x).log().clamp(min=-100) - y * x.log().clamp(min=-100),
    (
        lambda t, x, y: t * (x - y) / ((1 - x) * x).clamp(min=1e-12),
        lambda t, x: t * ((1 - x).log().clamp(min=-100) - x.log().clamp(min=-100)),
    ),
    "-(target * log(input) + (1 - target) * log(1 - input)), logs not below -100.",
)


@composite("bce_values(Tensor input, Tensor target) -> Tensor", tags=["function_only", "hidden"], native="chain")
def bce_values(input, target):
    """`bce_core`, and its gradients, in one pass."""
    return ops.bce_core(input, target)


@composite("bce_logits_values(Tensor input, Tensor target) -> Tensor", tags=["function_only", "hidden"], native="chain")
def bce_logits_values(input, target):
    """(1 - target) * input - log(sigmoid(input)), and its gradients, in one pass."""
    return (1 - target) * input - ops.logsigmoid_core(input)


@composite(
    "binary_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, Any size_average=None, Any reduce=None, "
    "str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def binary_cross_entropy(input, target, weight, size_average, reduce, reduction):
    """-(target * log(input) + (1 - target) * log(1 - input)), logs not below -100."""
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
            f"deprecated. Please "
            "ensure they have the same size."
        )
    if category(target.dtype) < 2:
        found, expected = TYPE_NAMES[target.dtype.name], TYPE_NAMES[input.dtype.name]
        raise RuntimeError(f"Found dtype {found} but expected {expected}")
    loss = bce_values(input, target)
    return reduce_loss(loss if weight is None else loss * weight, old_reduction(reduction, size_average, reduce))


@composite(
    "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight=None, Any size_average=None, Any "
    "reduce=None, str reduction='mean', Tensor? pos_weight=None) -> Tensor",
    tags=["function_only"],
)
def binary_cross_entropy_with_logits(input, target, weight, size_average, reduce, reduction, pos_weight):
    """`binary_cross_entropy` of sigmoid(input), without overflow."""
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if category(target.dtype) < 2:
        found, expected = TYPE_NAMES[target.dtype.name], TYPE_NAMES[input.dtype.name]
        raise RuntimeError(f"result type {expected} can't be cast to the desired output type {found}")
    if pos_weight is None:
        loss = bce_logits_values(input, target)
    else:
        loss = (1 - target) * input - (1 + (pos_weight - 1) * target) * ops.logsigmoid_core(input)
    return reduce_loss(loss if weight is None else loss * weight, old_reduction(reduction, size_average, reduce))


@composite(
    "kl_div(Tensor input, Tensor target, Any size_average=None, Any reduce=None, str reduction='mean', bool "
    "log_target=False) -> Tensor",
    tags=["function_only"],
)
def kl_div(input, target, size_average, reduce, reduction, log_target):
    """target * (log(target) - input); input holds log-probabilities."""
    reduction = old_reduction(reduction, size_average, reduce)
    if reduction == "mean":
        warn_caller(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the "
            "batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in "
            "the next major release."
        )
    return ops.kl_div_said(input, target, reduction, log_target)


@composite("kl_div_said(Tensor input, Tensor target, str reduction, bool log_target) -> Tensor", tags=["function_only", "hidden"])
def kl_div_said(input, target, reduction, log_target):
    """kl_div without its warning, for which calls are not replayed."""
    loss = target.exp() * (target - input) if log_target else ops.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return ops.sum(loss) / input.shape[0] if input.ndim else ops.sum(loss)
    return reduce_loss(loss, reduction)


@composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, bool full=False, Any size_average=None, float "
    "eps=1e-08, Any reduce=None, str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def poisson_nll_loss(input, target, log_input, full, size_average, eps, reduce, reduction):
    """exp(input) - target * input (or input - target * log(input)), with Stirling's terms if full."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + ops.where(target > 1, stirling, 0)
    return reduce_loss(loss, old_reduction(reduction, size_average, reduce))


@op("check_variances(Tensor var) -> Tensor", tags=["function_only", "hidden", "raises"])
def check_variances(var: Meta) -> Meta:
    """Raises ValueError where an element is negative. An op, so that graphs do not end where it looks at values; gives False."""
    return var.like(sizes=(), dtype=dtypes.bool)


@check_variances.anywhere
def _(var):
    found = ops.any(var < 0)
    if bool(found):
        raise ValueError("var has negative entry/entries")
    return found


check_variances.batch(lambda n, dims, var: (check_variances(var).expand(n), 0))


@composite(
    "gaussian_nll_loss(Tensor input, Tensor target, Any var, bool full=False, float eps=1e-06, str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def gaussian_nll_loss(input, target, var, full, eps, reduction):
    """0.5 * (log(var) + (input - target)**2 / var), var at least eps."""
    if not hasattr(var, "dtype"):
        var = ops.full_like(input, var)
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif tuple(input.shape[:-1]) != tuple(var.shape[:-1]) or var.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    check_variances(var.detach())
    limited = var + (var.detach().clamp(min=eps) - var.detach())
    loss = 0.5 * (limited.log() + mse_values(input, target) / limited)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


__all__ = ["old_reduction", "reduce_loss"]
