"""Activations as modules."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn.layer import layer
from weft.nn.module import Module
from weft.nn.modules.attention import MultiheadAttention

_INPLACE = "inplace: bool = False"


@layer("threshold", f"threshold: float, value: float, {_INPLACE}")
class Threshold(Module):
    """x above the threshold, else value."""


@layer("relu", _INPLACE)
class ReLU(Module):
    """max(x, 0)."""


@layer("rrelu", f"lower: float = 1.0 / 8, upper: float = 1.0 / 3, {_INPLACE}", passed="lower upper training inplace")
class RReLU(Module):
    """x, times a slope below 0 that is random while training, else the middle of [lower, upper]."""


@layer(
    "hardtanh",
    f"min_val: float = -1.0, max_val: float = 1.0, {_INPLACE}, min_value: float | None = None, max_value: float | None = None",
    passed="min_val max_val inplace",
    shown="min_val max_val inplace",
)
class Hardtanh(Module):
    """x limited to [min_val, max_val]."""

    def __post_init__(self) -> None:
        for old, name in (("min_value", "min_val"), ("max_value", "max_val")):
            value = self.__dict__.pop(old)
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and rename to `{name}`", FutureWarning, stacklevel=3
                )
                setattr(self, name, value)
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val must be larger than min_val, but got min_val={self.min_val} and max_val={self.max_val}")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


@layer("sigmoid")
class Sigmoid(Module):
    """1 / (1 + exp(-x))."""


@layer("hardsigmoid", _INPLACE)
class Hardsigmoid(Module):
    """min(max(x / 6 + 1 / 2, 0), 1)."""


@layer("tanh")
class Tanh(Module):
    """The hyperbolic tangent."""


@layer("silu", _INPLACE)
class SiLU(Module):
    """x * sigmoid(x)."""


@layer("mish", _INPLACE)
class Mish(Module):
    """x * tanh(softplus(x)) (Misra 2019)."""


@layer("hardswish", _INPLACE)
class Hardswish(Module):
    """x * hardsigmoid(x) (Howard et al. 2019)."""


@layer("elu", f"alpha: float = 1.0, {_INPLACE}")
class ELU(Module):
    """x, or alpha * (exp(x) - 1) below 0 (Clevert et al. 2015)."""


@layer("celu", f"alpha: float = 1.0, {_INPLACE}")
class CELU(Module):
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)) (Barron 2017)."""


@layer("selu", _INPLACE)
class SELU(Module):
    """ELU scaled so that mean 0 and variance 1 stay (Klambauer et al. 2017)."""


@layer("glu", "dim: int = -1")
class GLU(Module):
    """The first half along `dim` times the sigmoid of the second (Dauphin et al. 2016)."""


@layer("gelu", "approximate: str = 'none'", by_name=True)
class GELU(Module):
    """x * P(X <= x) for a standard normal X (Hendrycks, Gimpel 2016)."""


@layer("hardshrink", "lambd: float = 0.5")
class Hardshrink(Module):
    """0 within lambd of 0, else x."""

    def extra_repr(self) -> str:
        return f"{self.lambd}"


@layer("leaky_relu", f"negative_slope: float = 1e-2, {_INPLACE}")
class LeakyReLU(Module):
    """x, times negative_slope below 0."""


@layer("logsigmoid")
class LogSigmoid(Module):
    """log(sigmoid(x))."""


@layer("softplus", "beta: float = 1.0, threshold: float = 20.0")
class Softplus(Module):
    """log(1 + exp(beta * x)) / beta, x above the threshold."""


@layer("softshrink", "lambd: float = 0.5")
class Softshrink(Module):
    """x shrunk towards 0 by lambd."""

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(Module):
    """max(0, x) + weight * min(0, x) with a learned weight, one or one a channel (dim 1) (He et al. 2015)."""

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(aten.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


@layer("softsign")
class Softsign(Module):
    """x / (1 + |x|)."""


@layer("tanhshrink")
class Tanhshrink(Module):
    """x - tanh(x)."""


class _Softmax(Module):
    """Without a `dim` the old choice is made, with a warning: 0 for 0, 1 and 3 dims, else 1."""

    __constants__ = ["dim"]
    dim: int | None
    _function: Any

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_Softmax):
    """exp(-x) / sum(exp(-x)) along `dim`."""

    _function = staticmethod(F.softmin)


class Softmax(_Softmax):
    """exp(x) / sum(exp(x)) along `dim`."""

    _function = staticmethod(F.softmax)


class LogSoftmax(_Softmax):
    """x - log(sum(exp(x))) along `dim`."""

    _function = staticmethod(F.log_softmax)


class Softmax2d(Module):
    """softmax over the channels of ([N,] C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


__all__ = ["MultiheadAttention"]
