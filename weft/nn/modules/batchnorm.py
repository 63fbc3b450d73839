"""Normalisation over a batch, with running statistics."""

from __future__ import annotations

from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn.module import Module
from weft.nn.modules.lazy import LazyModuleMixin
from weft.nn.uninitialized import UninitializedBuffer, UninitializedParameter


class _NormBase(Module):
    """What batch and instance normalisation share: a weight and a bias a channel, running means and variances."""

    _version = 2
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        make = lambda wanted: Parameter(aten.empty(num_features, **place)) if wanted else None
        self.register_parameter("weight", make(affine))
        self.register_parameter("bias", make(affine and bias))
        keep = track_running_stats
        self.register_buffer("running_mean", aten.zeros(num_features, **place) if keep else None)
        self.register_buffer("running_var", aten.ones(num_features, **place) if keep else None)
        self.register_buffer("num_batches_tracked", aten.tensor(0, dtype=aten.int64, device=device) if keep else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing_keys: list, unexpected_keys: list,
        error_msgs: list, *rest: Any, **named: Any,
    ) -> None:  # fmt: skip
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked  # checkpoints of version 1 did not count batches
            state_dict[key] = own if own is not None and own.device.type != "meta" else aten.tensor(0, dtype=aten.int64)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs, *rest, **named
        )


class _BatchNorm(_NormBase):
    """(x - mean) / sqrt(var + eps) * weight + bias a channel (dim 1), over all other dims (Ioffe, Szegedy 2015). In training
    running statistics move by `momentum` (None: their plain average); without `track_running_stats` batches are always used."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None and self.running_mean is not None:
                return self._averaging(input)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        running = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if running else None,
            self.running_var if running else None,
            self.weight,
            self.bias,
            by_batch,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _averaging(self, input: Tensor) -> Tensor:
        """Of n batches each counts for 1 / n; n stays a tensor, which capture needs."""
        mean, var = aten.zeros_like(self.running_mean), aten.zeros_like(self.running_var)
        result = F.batch_norm(input, mean, var, self.weight, self.bias, True, 1.0, self.eps)
        with aten.no_grad():
            share = self.num_batches_tracked.to(mean.dtype).reciprocal()
            self.running_mean.add_((mean - self.running_mean) * share)
            self.running_var.add_((var - self.running_var) * share)
        return result


def _dims_are(self: Any, input: Tensor) -> None:
    """Raises ValueError unless the input has one of `self._input_dims`."""
    if input.dim() not in self._input_dims:
        raise ValueError(f"expected {' or '.join(f'{d}D' for d in self._input_dims)} input (got {input.dim()}D input)")


class BatchNorm1d(_BatchNorm):
    _input_dims = (2, 3)
    _check_input_dim = _dims_are


class BatchNorm2d(_BatchNorm):
    _input_dims = (4,)
    _check_input_dim = _dims_are


class BatchNorm3d(_BatchNorm):
    _input_dims = (5,)
    _check_input_dim = _dims_are


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes; there is one process, so it is that of its own batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def _check_non_zero_input_channels(self, input: Tensor) -> None:
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
        return super().forward(input)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """`module` with every BatchNorm*d in it replaced by a SyncBatchNorm of the same parameters and buffers."""
        result = module
        if isinstance(module, _BatchNorm):
            result = SyncBatchNorm(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                bias=module.bias is not None,
            )  # fmt: skip
            if module.affine:
                result.weight, result.bias = module.weight, module.bias
            result.running_mean, result.running_var = module.running_mean, module.running_var
            result.num_batches_tracked, result.training = module.num_batches_tracked, module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """A normalisation whose channels are those of the first input."""

    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine, self.track_running_stats = affine, track_running_stats
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**place)
            if bias:
                self.bias = UninitializedParameter(**place)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**place)
            self.running_var = UninitializedBuffer(**place)
            self.num_batches_tracked = aten.tensor(0, dtype=aten.int64, device=device)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for value in (self.weight, self.bias, self.running_mean, self.running_var):
                if value is not None:
                    value.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    cls_to_become = BatchNorm1d
    _input_dims = (2, 3)
    _check_input_dim = _dims_are


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    cls_to_become = BatchNorm2d
    _input_dims = (4,)
    _check_input_dim = _dims_are


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    cls_to_become = BatchNorm3d
    _input_dims = (5,)
    _check_input_dim = _dims_are
