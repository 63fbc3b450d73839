"""Initial values of parameters. Every function fills its tensor in place, without gradient, and returns it."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import aten
import weft as torch  # noqa: F401  (programs reach the package through the files that import it)
from aten import Tensor

_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid",
)  # fmt: skip
_GAINS = {**dict.fromkeys(_LINEAR, 1.0), "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance of activations through `nonlinearity`; `param` is leaky_relu's slope.

    Raises ValueError for others, and for a slope that is no number.
    """
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """(inputs, outputs) of a weight (out, in, *receptive field)."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def _fill(tensor: Tensor, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Tensor:
    with aten.no_grad():
        method(tensor, *args, **kwargs)
    return tensor


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    return _fill(tensor, Tensor.uniform_, a, b, generator=generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    return _fill(tensor, Tensor.normal_, mean, std, generator=generator)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return _fill(tensor, Tensor.fill_, val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return _fill(tensor, Tensor.zero_)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """U(a, b)."""
    return _no_grad_uniform_(tensor, a, b, generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """N(mean, std²)."""
    return _no_grad_normal_(tensor, mean, std, generator)


def _no_grad_trunc_normal_(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None) -> Tensor:
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=3,
        )
        return _tail_of_normal_(tensor, mean, std, a, b, generator)
    low, high = (math.erf((x - mean) / std / math.sqrt(2)) for x in (a, b))
    with aten.no_grad():
        tensor.uniform_(low, high, generator=generator).erfinv_().mul_(std * math.sqrt(2)).add_(mean).clamp_(min=a, max=b)
    return tensor


def _tail_of_normal_(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Values of [a, b], which lies to one side of the mean: by what lies beyond them, which is small where the cumulative
    distribution is 0 or 1 but for what rounding loses."""
    side = 1.0 if mean < a else -1.0
    near, far = sorted(side * (x - mean) / std for x in (a, b))
    beyond_far, beyond_near = (math.erfc(x / math.sqrt(2)) / 2 for x in (far, near))
    with aten.no_grad():
        drawn = aten.empty(tensor.shape, dtype=aten.float64, device=tensor.device)
        if beyond_near:
            drawn.uniform_(beyond_far, beyond_near, generator=generator)
            drawn = -aten.special_ndtri(drawn).clamp_(-far, -near)
        else:  # so far out that nearly all of it is at the edge
            drawn.fill_(near)
        return tensor.copy_(mean + side * std * drawn).clamp_(min=a, max=b)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Normal values between a and b, by inverting the cumulative distribution at uniform points."""
    return _no_grad_trunc_normal_(tensor, mean, std, a, b, generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """`val` everywhere."""
    return _fill(tensor, Tensor.fill_, val)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity, of a matrix. Raises ValueError for other dims."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, Tensor.copy_, aten.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight (out, in / groups, *kernel) that hands its channels on: 1 in the middle of kernel (i, i) a group.

    Raises ValueError unless there are 1 to 3 kernel dims and the groups divide `out`.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, channels, *kernel = tensor.shape
    if out % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = out // groups
    middle = tuple(k // 2 for k in kernel)
    with aten.no_grad():
        tensor.zero_()
        for group in range(groups):
            for i in range(min(per_group, channels)):
                tensor[(group * per_group + i, i, *middle)] = 1
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """U(-b, b) with b = gain * sqrt(6 / (inputs + outputs)) (Glorot & Bengio 2010)."""
    bound = gain * math.sqrt(6 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """N(0, gain² 2 / (inputs + outputs)) (Glorot & Bengio 2010)."""
    std = gain * math.sqrt(2 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return normal_(tensor, 0.0, std, generator)


def _is_empty(tensor: Tensor) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """U(-b, b) with b = gain * sqrt(3 / fan) (He et al. 2015)."""
    if _is_empty(tensor):
        return tensor
    bound = calculate_gain(nonlinearity, a) * math.sqrt(3 / _calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """N(0, gain² / fan) (He et al. 2015)."""
    if _is_empty(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Rows (or columns, the fewer) of (n, all else) that are orthonormal times gain: Q of a normal matrix (Saxe et al. 2013).

    Raises ValueError for fewer than 2 dims.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with aten.no_grad():
        flat = aten.empty(rows, columns, dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
        if rows < columns:
            flat = flat.t()
        q, r = aten.linalg_qr(flat)
        q = q * aten.diagonal(r).sign()  # so that Q is uniform among the orthogonal matrices
        if rows < columns:
            q = q.t()
        tensor.copy_(q.reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """N(0, std²) with the fraction `sparsity` of each column zero (Martens 2010). Raises ValueError unless a matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with aten.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[aten.randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _old(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function under its name before it had an underscore."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    deprecated.__doc__ = f"{old}(...) is deprecated: see {new}."
    deprecated.__name__ = old
    return deprecated


uniform, normal, constant, eye, dirac = map(_old, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_old, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_old, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old, (orthogonal_, sparse_))
