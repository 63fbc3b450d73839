"""Losses as modules. `size_average` and `reduce` are the flags that came before `reduction`, which they override."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

from aten import Tensor
from weft.nn import functional as F
from weft.nn._reduction import legacy_get_string
from weft.nn.layer import layer
from weft.nn.linear_cross_entropy import LinearCrossEntropyOptions
from weft.nn.module import Module
from weft.nn.modules.distance import PairwiseDistance
from weft.nn.modules.linear import Linear

_OLD = "size_average: bool | None = None, reduce: bool | None = None"
_REDUCTION = "reduction: str = 'mean'"
_WEIGHT = "weight: Tensor | None = None"
_loss = functools.partial(layer, inputs="input, target", by_name=True, shown="")


class _Loss(Module):
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.size_average, self.reduce, self.reduction = size_average, reduce, reduction
        self.__post_init__()

    def __post_init__(self) -> None:
        own = self.__dict__
        old = own.pop("size_average", None), own.pop("reduce", None)
        if old != (None, None):
            self.reduction = legacy_get_string(*old)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


@_loss("l1_loss", f"{_OLD}, {_REDUCTION}", passed="reduction")
class L1Loss(_Loss):
    """|input - target|."""


@_loss("nll_loss", f"{_WEIGHT}, size_average=None, ignore_index: int = -100, reduce=None, {_REDUCTION}",
       passed="weight ignore_index reduction", buffers="weight")  # fmt: skip
class NLLLoss(_WeightedLoss):
    """input: log-probabilities (N, C, *) or (C); target: classes (N, *)."""


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss of images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


@_loss("poisson_nll_loss",
       f"log_input: bool = True, full: bool = False, size_average=None, eps: float = 1e-8, reduce=None, {_REDUCTION}")  # fmt: skip
class PoissonNLLLoss(_Loss):
    """The negative log likelihood of a Poisson distribution whose rate, or its logarithm, is the input."""

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


@_loss("gaussian_nll_loss", f"*, full: bool = False, eps: float = 1e-6, {_REDUCTION}", inputs="input, target, var")
class GaussianNLLLoss(_Loss):
    """The negative log likelihood of normal distributions of means `input` and variances `var`."""


@_loss("kl_div", f"{_OLD}, {_REDUCTION}, log_target: bool = False", passed="reduction log_target")
class KLDivLoss(_Loss):
    """target * (log(target) - input): the divergence of what the input's log-probabilities say from the target."""


@_loss("mse_loss", f"{_OLD}, {_REDUCTION}", passed="reduction")
class MSELoss(_Loss):
    """(input - target)²."""


@_loss("binary_cross_entropy", f"{_WEIGHT}, {_OLD}, {_REDUCTION}", passed="weight reduction", buffers="weight")
class BCELoss(_WeightedLoss):
    """-(target * log(input) + (1 - target) * log(1 - input)), logs not below -100."""


@_loss("binary_cross_entropy_with_logits", f"{_WEIGHT}, {_OLD}, {_REDUCTION}, pos_weight: Tensor | None = None",
       passed="weight pos_weight reduction", buffers="weight pos_weight")  # fmt: skip
class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of sigmoid(input), without overflow."""


@_loss("hinge_embedding_loss", f"margin: float = 1.0, {_OLD}, {_REDUCTION}", passed="margin reduction")
class HingeEmbeddingLoss(_Loss):
    """input where the target is 1, max(0, margin - input) where it is -1."""


@_loss("multilabel_margin_loss", f"{_OLD}, {_REDUCTION}", passed="reduction")
class MultiLabelMarginLoss(_Loss):
    """Over pairs of a target class (those before the first -1) and another: max(0, 1 - input[target] + input[other])."""


@_loss("smooth_l1_loss", f"{_OLD}, {_REDUCTION}, beta: float = 1.0", passed="reduction beta")
class SmoothL1Loss(_Loss):
    """Squared below beta, linear above (Girshick 2015)."""


@_loss("huber_loss", f"{_REDUCTION}, delta: float = 1.0")
class HuberLoss(_Loss):
    """Squared below delta, linear above."""


@_loss("soft_margin_loss", f"{_OLD}, {_REDUCTION}", passed="reduction")
class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input))."""


@_loss("cross_entropy",
       f"{_WEIGHT}, size_average=None, ignore_index: int = -100, reduce=None, {_REDUCTION}, label_smoothing: float = 0.0",
       passed="weight ignore_index reduction label_smoothing", buffers="weight")  # fmt: skip
class CrossEntropyLoss(_WeightedLoss):
    """input: logits (N, C, *) or (C); target: classes (N, *) or probabilities of the input's sizes."""


@_loss("multilabel_soft_margin_loss", f"{_WEIGHT}, {_OLD}, {_REDUCTION}", passed="weight reduction", buffers="weight")
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of binary cross entropies of logits (N, C) and targets 0 or 1."""


@_loss("cosine_embedding_loss", f"margin: float = 0.0, {_OLD}, {_REDUCTION}", inputs="input1, input2, target",
       passed="margin reduction")  # fmt: skip
class CosineEmbeddingLoss(_Loss):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""


@_loss("margin_ranking_loss", f"margin: float = 0.0, {_OLD}, {_REDUCTION}", inputs="input1, input2, target",
       passed="margin reduction")  # fmt: skip
class MarginRankingLoss(_Loss):
    """max(0, -target * (input1 - input2) + margin)."""


@_loss("multi_margin_loss", f"p: int = 1, margin: float = 1.0, {_WEIGHT}, {_OLD}, {_REDUCTION}",
       passed="p margin weight reduction", buffers="weight")  # fmt: skip
class MultiMarginLoss(_WeightedLoss):
    """The mean over classes of max(0, margin - input[target] + input[class])**p. Raises ValueError for p beyond 1 and 2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise AssertionError(f"weight must be 1-dimensional, but got {self.weight.dim()} dimensions")


@_loss("triplet_margin_loss", f"margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, {_OLD}, {_REDUCTION}",
       inputs="anchor, positive, negative", passed="margin p eps swap reduction")  # fmt: skip
class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin). Raises ValueError for margin <= 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive(self.margin)


def _positive(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own. Raises ValueError for margin <= 0."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _positive(margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


@_loss("ctc_loss", f"blank: int = 0, {_REDUCTION}, zero_infinity: bool = False",
       inputs="log_probs, targets, input_lengths, target_lengths")  # fmt: skip
class CTCLoss(_Loss):
    """Minus the log of the summed probability of all alignments of a target (Graves et al. 2006)."""


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of a Linear of the input; with options in pieces of rows, so that never all logits exist."""

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, num_classes * math.prod(self.out_features), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        sizes, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*sizes, -1),
            target,
            linear_bias=None if bias is None else bias.reshape(sizes),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
