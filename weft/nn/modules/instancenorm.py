"""Normalisation of each channel of each sample."""

from __future__ import annotations

import warnings
from typing import Any

from aten import Tensor
from weft.nn import functional as F
from weft.nn.modules.batchnorm import _LazyNormBase, _NormBase


class _InstanceNorm(_NormBase):
    """(x - mean) / sqrt(var + eps) over the spatial dims of each sample's channels (Ulyanov et al. 2017); ([N,] C, *S)."""

    _spatial = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._spatial + 1

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._spatial
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        by_sample = self.training or not self.track_running_stats
        momentum = self.momentum if self.momentum is not None else 0.0
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, by_sample, momentum, self.eps
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        feature_dim = input.dim() - self._get_no_batch_dim()
        if input.size(feature_dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={feature_dim} to match num_features ({self.num_features}), "
                    f"but got: {input.size(feature_dim)}."
                )
            warnings.warn(
                f"input's size at dim={feature_dim} does not match num_features. You can silence this warning by not passing "
                "in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        if feature_dim == 0:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)

    def _load_from_state_dict(
        self, state_dict: dict, prefix: str, local_metadata: dict, strict: bool, missing_keys: list, unexpected_keys: list,
        error_msgs: list, *rest: Any, **named: Any,
    ) -> None:  # fmt: skip
        if local_metadata.get("version") is None and not self.track_running_stats:
            old = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if old:
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {' and '.join(f'{key!r}' for key in old)} for {type(self).__name__} with "
                    "track_running_stats=False. If the state_dict is a checkpoint saved before 0.4.0, this may be expected because "
                    f"{type(self).__name__} does not track running stats by default since 0.4.0. Remove these keys from it, "
                    "or construct the module with track_running_stats=True."
                )
                for key in old:
                    state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs, *rest, **named
        )


class InstanceNorm1d(_InstanceNorm):
    _spatial = 1


class InstanceNorm2d(_InstanceNorm):
    _spatial = 2


class InstanceNorm3d(_InstanceNorm):
    _spatial = 3


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    cls_to_become = InstanceNorm1d
    _spatial = 1


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    cls_to_become = InstanceNorm2d
    _spatial = 2


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    cls_to_become = InstanceNorm3d
    _spatial = 3
