"""Functions of PyTorch's top level that take other arguments than those of the same names in `nn.functional`, which are made of
them there: weights before what is looked up, statistics behind weights, reductions as numbers (0 none, 1 mean, 2 sum).

Their order and defaults are those of PyTorch's native_functions.yaml; a loss here is not reduced unless it is asked for.
"""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")
_MODES = ("sum", "mean", "max")


def _reduction(name: str, number: Any) -> str:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name}(): argument 'reduction' must be int, not {type(number).__name__}")
    if not 0 <= number < len(_REDUCTIONS):
        raise ValueError(f"{name}(): {number} is not a valid value for reduction: 0 (none), 1 (mean) or 2 (sum)")
    return _REDUCTIONS[number]


# ------------------------------------------------------------------------------------------------------------ normalisation
def _is_one(input: Tensor, first: int) -> bool:
    """Whether dims from `first` on, but for channels, have one value, which the functions of networks refuse."""
    sizes = input.shape
    return all(sizes[d] == 1 for d in range(first, len(sizes)) if d != 1)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.batch_norm`."""
    call = aten.batch_norm_of_one if _is_one(input, 0) else F.batch_norm
    return call(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.instance_norm`."""
    call = aten.instance_norm_of_one if _is_one(input, 2) else F.instance_norm
    return call(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """`nn.functional.layer_norm`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """`nn.functional.group_norm`."""
    call = aten.group_norm_of_one if num_groups < 1 or _is_one(input, 2) else F.group_norm
    return call(input, num_groups, weight, bias, eps)


# ----------------------------------------------------------------------------------------------------- tables and convolution
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """weight[indices]; the row `padding_idx` gets no gradient, -1 is none."""
    return F.embedding(indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0, scale_grad_by_freq, sparse)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (mode 0), means (1) or maxima (2) of the rows of bags, which begin at `offsets`.

    Returns (the bags, the bag of each index, the number of rows in each bag, which indices were the largest: (bags, columns)).
    The last three are what PyTorch keeps for its gradients: those of sums are empty or zeros, the last of means are the
    numbers of rows again.
    """
    if mode not in (0, 1, 2):
        raise ValueError(f"embedding_bag(): mode is 0 (sum), 1 (mean) or 2 (max), got {mode}")
    bags = F.embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, _MODES[mode], sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )  # fmt: skip
    if mode == 0:
        zeros = offsets.new_zeros(offsets.shape)
        return bags, indices.new_empty([0]), zeros, zeros.clone()
    begins = offsets[:-1] if include_last_offset else offsets
    ends = begins.new_tensor([indices.numel()])
    bag_of = (begins.unsqueeze(0) <= ends.new_ones(indices.shape).cumsum(0).sub(1).unsqueeze(1)).sum(1) - 1
    counted = indices.new_ones(indices.shape) if padding_idx is None else (indices != padding_idx).to(indices.dtype)
    sizes = begins.new_zeros(begins.shape).index_add(0, bag_of, counted)
    if mode == 1:
        return bags, bag_of, sizes, sizes.clone()
    return bags, bag_of, sizes, _largest(weight.detach(), bags.detach(), indices, bag_of, counted)


def _largest(weight: Tensor, bags: Tensor, indices: Tensor, bag_of: Tensor, counted: Tensor) -> Tensor:
    """Which index of each bag has the largest value of each column, the first of equal ones; 0 of empty bags."""
    n = indices.numel()
    place = indices.new_ones([n]).cumsum(0).sub(1).unsqueeze(1).expand(n, bags.shape[1])
    is_largest = (weight[indices] == bags[bag_of]) & (counted != 0).unsqueeze(1)
    first = indices.new_full(list(bags.shape), n).scatter_reduce(
        0, bag_of.unsqueeze(1).expand_as(place), place.where(is_largest, n), "amin"
    )
    padded = indices.new_zeros([n + 1])
    padded[:n] = indices
    return padded[first]


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Tensor:
    """`nn.functional.conv1d` to `conv3d`, or their transposes, of batches (N, C, …)."""
    dims = weight.ndim - 2
    if dims not in (1, 2, 3):
        raise RuntimeError(f"convolution(): weights of 3 to 5 dimensions are expected, got {weight.ndim}")
    if input.ndim != weight.ndim:
        raise RuntimeError(f"convolution(): an input of {weight.ndim} dimensions is expected for such weights, got {input.ndim}")
    if transposed:
        return getattr(F, f"conv_transpose{dims}d")(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{dims}d")(input, weight, bias, stride, padding, dilation, groups)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """`nn.functional.adaptive_max_pool1d` with the positions of the maxima."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


# -------------------------------------------------------------------------------------------------------------------- losses
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`."""
    how = _reduction("binary_cross_entropy_with_logits", reduction)
    return F.binary_cross_entropy_with_logits(input, target, weight, reduction=how, pos_weight=pos_weight)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """`nn.functional.cosine_embedding_loss`."""
    how = _reduction("cosine_embedding_loss", reduction)
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`."""
    how = _reduction("ctc_loss", reduction)
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """`nn.functional.hinge_embedding_loss`."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction("hinge_embedding_loss", reduction))


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`, whose mean is over all elements."""
    how = _reduction("kl_div", reduction)
    loss = F.kl_div(input, target, reduction="none", log_target=log_target)
    return loss if how == "none" else loss.mean() if how == "mean" else loss.sum()


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0) -> Tensor:
    """`nn.functional.margin_ranking_loss`."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction("margin_ranking_loss", reduction))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss`."""
    how = _reduction("poisson_nll_loss", reduction)
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`."""
    how = _reduction("triplet_margin_loss", reduction)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)
