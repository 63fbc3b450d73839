"""Normalisations. layer_norm and rms_norm are whole ops; batch, group and instance norm are composites."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta, same_size
from aten.op import composite, op, ops, widened
from aten.ops.batching import materialize, to_front
from aten.ops.formats import keep_channels
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import math
from aten.shapes import is_empty, product, show
from aten.symbolic.unknown import decided


def _check_shape(name: str, input: Meta, normalized_shape: list[Any], weight: Any, bias: Any) -> int:
    """The number of leading dimensions."""
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for label, w in (("weight", weight), ("bias", bias)):
        if w is not None and (len(w.sizes) != len(normalized_shape) or not all(map(same_size, w.sizes, normalized_shape))):
            raise RuntimeError(
                f"Expected {label} to be of same shape as normalized_shape, but got {label} of shape "
                f"{show(w.sizes)} and "
                f"normalized_shape = {show(normalized_shape)}"
            )
    lead = input.ndim - len(normalized_shape)
    if lead < 0 or not all(map(same_size, input.sizes[lead:], normalized_shape)):
        raise RuntimeError(
            f"Given normalized_shape={show(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size{show(input.sizes)}"
        )
    if category(input.dtype) < 2:
        raise NotImplementedError(f"\"{name}KernelImpl\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
    return lead


def check_parameters(input: Any, *parameters: Any) -> None:
    """Raises RuntimeError for weights and statistics of another dtype than the input, but for float32 ones beside halves.

    As in PyTorch the first that is there says whether dtypes are mixed, which the message depends on.
    """
    found = [p.dtype for p in parameters if p is not None]
    if not found or all(dtype is input.dtype for dtype in found):
        return
    if found[0] is input.dtype:
        other = next(dtype for dtype in found if dtype is not input.dtype)
        names = TYPE_NAMES[input.dtype.name], TYPE_NAMES[other.name]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    if any(dtype is not dtypes.float32 for dtype in found):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype not in (dtypes.float16, dtypes.bfloat16):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def _last(x: Any, normalized_shape: list[Any]) -> list[int]:
    return list(range(x.ndim - len(normalized_shape), x.ndim))


def _first(x: Any, normalized_shape: list[Any]) -> list[int]:
    return list(range(x.ndim - len(normalized_shape)))


@op(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    tags=["reduction", "fused", "function_only"],
    compute="float32",
    native="rows",
)
def layer_norm(input: Meta, normalized_shape: list[Any], weight: Any, bias: Any, eps: float) -> Meta:
    """(input - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba et al. 2016)."""
    _check_shape("LayerNorm", input, normalized_shape, weight, bias)
    check_parameters(input, weight, bias)
    return input.like(sizes=input.sizes)


def _statistics(x: np.ndarray, axes: tuple[int, ...], eps: float, centre: bool) -> tuple[np.ndarray, np.ndarray]:
    n = np.array(product(x.shape[a] for a in axes), x.dtype)
    centred = x - x.sum(axes, keepdims=True, dtype=x.dtype) / n if centre else x
    return centred, 1 / np.sqrt((centred * centred).sum(axes, keepdims=True, dtype=x.dtype) / n + np.array(eps, x.dtype))


@layer_norm.kernel
def _(out, x, normalized_shape, weight, bias, eps):
    centred, scale = _statistics(x, tuple(_last(x, normalized_shape)), eps, True)
    y = centred * scale
    if weight is not None:
        y = y * weight
    out[...] = y if bias is None else y + bias


def _moments(x: Any, dims: list[int], keepdim: bool = False) -> Any:
    """(variance, mean). Of nothing both are NaN, without the warning of var_mean: the caller asked for no variance."""
    if any(type(x.shape[d]) is int and x.shape[d] == 0 for d in dims):
        mean = ops.mean(x, dims, keepdim)
        return mean, mean
    return ops.var_mean(x, dims, 0, keepdim)


@layer_norm.decompose
@widened
def _(x, normalized_shape, weight, bias, eps):
    variance, mean = _moments(x, _last(x, normalized_shape), True)
    y = (x - mean) * (variance + eps).rsqrt()
    if weight is not None:
        y = y * weight
    return _like(y if bias is None else y + bias, x)


def _like(y: Any, x: Any) -> Any:
    """`y` in the dtype of `x`: a weight may be wider than what it weighs, as under autocast."""
    return y if y.dtype is x.dtype else ops.cast(y, x.dtype)


@layer_norm.vjp
def _(g, needs, input, normalized_shape, weight, bias_meta, eps):
    """With y = (x - mean) * rstd and h = g * weight: gx = rstd * (h - mean(h) - y * mean(h * y))."""
    last, first = _last(input, normalized_shape), _first(input, normalized_shape)
    gx = gw = None
    kinds = [input if kind is None else kind for kind in (input, weight, bias_meta)]
    g, input, weight = [x if x is None else _wide(x) for x in (g, input, weight)]
    if needs[0] or needs[2]:
        variance, mean = _moments(input, last, True)
        rstd = (variance + eps).rsqrt()
        y = (input - mean) * rstd
    if needs[0]:
        h = g if weight is None else g * weight
        gx = rstd * (h - ops.mean(h, last, True) - y * ops.mean(h * y, last, True))
    if needs[2]:
        gw = ops.sum(g * y, first) if first else g * y
    gb = (ops.sum(g, first) if first else g) if needs[3] else None
    return tuple(made if made is None else _like(made, kind) for made, kind in zip((gx, gw, gb), kinds))


@op(
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    tags=["reduction", "fused", "function_only"],
    compute="float32",
    native="rows",
)
def rms_norm(input: Meta, normalized_shape: list[Any], weight: Any, eps: float) -> Meta:
    """input / sqrt(mean(input**2) + eps) * weight over the last dimensions (Zhang & Sennrich 2019)."""
    _check_shape("rms_norm", input, normalized_shape, weight, None)
    return input.like(sizes=input.sizes)


# Where none is given: that of the dtype in which the norm is computed, float32 for half types as well.
_EPS = {"float64": 2.220446049250313e-16, "complex128": 2.220446049250313e-16}
rms_norm.normal(
    lambda input, normalized_shape, weight, eps: (
        input,
        normalized_shape,
        weight,
        _EPS.get(input.dtype.name, 1.1920928955078125e-07) if eps is None else eps,
    )
)


@rms_norm.kernel
def _(out, x, normalized_shape, weight, eps):
    centred, scale = _statistics(x, tuple(_last(x, normalized_shape)), eps, False)
    y = centred * scale
    out[...] = y if weight is None else y * weight


@rms_norm.decompose
@widened
def _(x, normalized_shape, weight, eps):
    y = x * (ops.mean(x * x, _last(x, normalized_shape), True) + eps).rsqrt()
    return y if weight is None else _like(y * weight, x)


@rms_norm.vjp
def _(g, needs, input, normalized_shape, weight, eps):
    """With y = x * r and h = g * weight: gx = r * (h - y * mean(h * y))."""
    last, first = _last(input, normalized_shape), _first(input, normalized_shape)
    kinds = [input if kind is None else kind for kind in (input, weight)]
    g, input, weight = [x if x is None else _wide(x) for x in (g, input, weight)]
    r = (ops.mean(input * input, last, True) + eps).rsqrt().conj()
    y = input.conj() * r
    gx = gw = None
    if needs[0]:
        h = g if weight is None else g * weight.conj()
        gx = r * (h - y * ops.mean(h * y, last, True))
    if needs[2]:
        gw = ops.sum(g * y, first) if first else g * y
    return tuple(made if made is None else _like(made, kind) for made, kind in zip((gx, gw), kinds))


def _batch_affine(made: Any) -> Any:
    """Without a batch of their own, weight and bias stay inside; else they are applied outside."""

    def rule(n, dims, x, normalized_shape, *rest):
        x = materialize(x, dims[0], n) if dims[0] is None else to_front(x, dims[0])
        tensors, eps = rest[:-1], rest[-1]
        if all(d is None for d in dims[2:]):
            return made(x, normalized_shape, *rest), 0
        y = made(x, normalized_shape, *([None] * len(tensors)), eps)
        between = [1] * (x.ndim - 1 - len(normalized_shape))
        for k, w in enumerate(tensors):
            if w is not None:
                d = dims[2 + k]
                w = w if d is None else to_front(w, d).reshape([n, *between, *normalized_shape])
                y = y * w if k == 0 else y + w
        return y, 0

    return rule


layer_norm.batch_fn = _batch_affine(layer_norm)
rms_norm.batch_fn = _batch_affine(rms_norm)


# ------------------------------------------------------------------------------------------------------ composites
def _per_channel(w: Any, ndim: int) -> Any:
    return w.reshape([1, -1, *([1] * (ndim - 2))])


def _wide(x: Any) -> Any:
    """Halves as float32: one rounding at the end."""
    return ops.cast(x, dtypes.float32) if x.dtype.is_floating_point and x.dtype.itemsize <= 2 else x


def _affine(y: Any, weight: Any, bias: Any) -> Any:
    """y * weight + bias by channel, where given."""
    if weight is not None:
        y = y * _per_channel(weight, y.ndim)
    return y if bias is None else y + _per_channel(bias, y.ndim)


# ------------------------------------------------------------------------------------------- statistics of channels
_GROUPS = "int groups, bool over_samples, float eps"


@op(
    f"channel_norm(Tensor input, Tensor? weight, Tensor? bias, {_GROUPS}) -> (Tensor, Tensor, Tensor)",
    tags=["fused", "function_only", "hidden"],
    compute="float32", native="rows",
)
def channel_norm(input: Meta, weight: Any, bias: Any, groups: Any, over_samples: bool, eps: float) -> tuple[Meta, Meta, Meta]:
    """Elements [N, C, *] normalised by the mean and variance of their group, then times weight plus bias of their channel.

    `over_samples`: a group is a channel of all samples, and there are C of them; else it is C / groups neighbouring channels of
    one sample. The mean and variance are [C] or [N, groups]; nothing flows back from them.
    """
    sizes = (groups,) if over_samples else (input.sizes[0], groups)
    statistics = Meta.contiguous(sizes, input.dtype, input.device)
    return input.like(sizes=input.sizes), statistics, statistics


@op(
    f"channel_norm_backward(Tensor grad, Tensor input, Tensor? weight, {_GROUPS}) -> (Tensor, Tensor, Tensor)",
    tags=["fused", "function_only", "hidden"],
    compute="float32",
)
def channel_norm_backward(
    grad: Meta, input: Meta, weight: Any, groups: Any, over_samples: bool, eps: float
) -> tuple[Meta, Meta, Meta]:
    """The gradients of input, weight and bias of `channel_norm`."""
    of_channels = Meta.contiguous((input.sizes[1],), input.dtype, input.device)
    return input.like(sizes=input.sizes), of_channels, of_channels


@channel_norm.vjp
def _(g, needs, input, weight, bias_meta, groups, over_samples, eps):
    if g[0] is None:
        return None, None, None
    found = channel_norm_backward(g[0], input, weight, groups, over_samples, eps)
    return tuple(x if need else None for x, need in zip(found, needs[:3]))


def _spread(t: Any, input: Any, groups: Any, over_samples: bool) -> Any:
    """What each group has, for the elements. It is spread over channels, elements stay where they are: sizes may be symbols,
    by which dividing is dear.
    """
    n, channels, ones = input.shape[0], input.shape[1], [1] * (input.ndim - 2)
    if over_samples or (type(groups) is type(channels) is int and groups == channels):
        return t.reshape([1 if over_samples else n, channels, *ones])
    return t.unsqueeze(-1).expand([n, groups, channels // groups]).reshape([n, channels, *ones])


def _of_groups(reduce: Any, x: Any, groups: Any, over_samples: bool) -> Any:
    """`reduce(tensor, dims)` of each group."""
    if over_samples:
        return reduce(x, [d for d in range(x.ndim) if d != 1])
    if type(groups) is type(x.shape[1]) is int and groups == x.shape[1] and x.ndim > 2:  # (no dims would mean all)
        return reduce(x, list(range(2, x.ndim)))
    return reduce(x.reshape([x.shape[0], groups, x.shape[1] // groups * product(x.shape[2:])]), [2])


@channel_norm.decompose
@widened
def _(input, weight, bias, groups, over_samples, eps):
    variance, mean = _of_groups(_moments, input, groups, over_samples)
    y = (input - _spread(mean, input, groups, over_samples)) * _spread((variance + eps).rsqrt(), input, groups, over_samples)
    return _like(_affine(y, weight, bias), input), mean, variance


@channel_norm_backward.decompose
@widened
def _(grad, input, weight, groups, over_samples, eps):
    """As layer_norm's: gx = rstd * (h - mean(h) - y * mean(h * y)) with h = g * weight."""
    variance, mean = _of_groups(_moments, input, groups, over_samples)
    spread = lambda t: _spread(t, input, groups, over_samples)
    average = lambda x: spread(_of_groups(ops.mean, x, groups, over_samples))
    rstd = spread((variance + eps).rsqrt())
    y = (input - spread(mean)) * rstd
    h = grad if weight is None else grad * _per_channel(weight, input.ndim)
    others = [d for d in range(input.ndim) if d != 1]
    return rstd * (h - average(h) - y * average(h * y)), ops.sum(grad * y, others), ops.sum(grad, others)


def _in_groups(x: np.ndarray, groups: int, over_samples: bool) -> tuple[np.ndarray, tuple[int, ...]]:
    """The array with groups apart, and the axes of one."""
    if over_samples:
        return x, tuple(d for d in range(x.ndim) if d != 1)
    return x.reshape(x.shape[0], groups, x.shape[1] // max(groups, 1) * math.prod(x.shape[2:])), (2,)


def _mean(x: np.ndarray, axes: tuple[int, ...], keepdims: bool = False) -> np.ndarray:
    """NaN of nothing, without NumPy's warning."""
    return x.sum(axes, keepdims=keepdims, dtype=x.dtype) / np.array(math.prod(x.shape[a] for a in axes), x.dtype)


@channel_norm.kernel
def _(out, x, weight, bias, groups, over_samples, eps):
    rows, axes = _in_groups(x, groups, over_samples)
    centred, scale = _statistics(rows, axes, eps, True)
    y = (centred * scale).reshape(x.shape)
    for factor, apply in ((weight, np.multiply), (bias, np.add)):
        y = y if factor is None else apply(y, factor.reshape(1, -1, *[1] * (x.ndim - 2)))
    out[0][...] = y
    out[1][...] = _mean(rows, axes)
    out[2][...] = _mean(centred * centred, axes)


@channel_norm_backward.kernel
def _(out, g, x, weight, groups, over_samples, eps):
    rows, axes = _in_groups(x, groups, over_samples)
    centred, scale = _statistics(rows, axes, eps, True)
    y = centred * scale
    h = _in_groups(g if weight is None else g * weight.reshape(1, -1, *[1] * (x.ndim - 2)), groups, over_samples)[0]
    gx = scale * (h - _mean(h, axes, True) - y * _mean(h * y, axes, True))
    others = tuple(d for d in range(x.ndim) if d != 1)
    out[0][...], out[1][...], out[2][...] = gx.reshape(x.shape), (g * y.reshape(x.shape)).sum(others), g.sum(others)


def _batch_normed(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> Any:
    """`batch_norm`, which may have but one value per channel: its variance is 0, that of all batches NaN."""
    channels = input.shape[1] if input.ndim > 1 else 0
    if any(is_empty(size) for size in input.shape):
        y = input * 1
        y = y if weight is None else y * weight[:1].sum().to(y.dtype)
        return y if bias is None else y + bias[:1].sum().to(y.dtype)
    if training and (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    for name, value in (("running_mean", running_mean), ("running_var", running_var)):
        if value is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.numel()}")
    if input.ndim < 2:
        error = IndexError if input.ndim else RuntimeError
        raise error(f"batch_norm(): expected at least 2 dimensions, got {input.ndim}")
    if category(input.dtype) < 2:
        raise NotImplementedError(f"\"batch_norm\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
    check_parameters(input, weight, bias, running_mean, running_var)
    x = _wide(input)
    if training:
        n = product(input.shape[d] for d in range(input.ndim) if d != 1)
        y, mean, variance = channel_norm(x, weight, bias, channels, True, eps)
        if running_mean is not None:
            _follow(running_mean, mean, momentum)
            _follow(running_var, _of_all(variance, n), momentum)
        return _like(y, input)
    y = (x - _per_channel(running_mean, input.ndim)) * (_per_channel(running_var, input.ndim) + eps).rsqrt()
    return _like(_affine(y, weight, bias), input)


def _of_all(variance: Any, n: Any) -> Any:
    """The variance of what the n values were drawn from; of one value it is NaN, and 0 / 0 is said of its number."""
    return variance * math.nan if decided(n > 1) is False else variance * (n / (n - 1))


@composite(
    "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, Tensor? bias=None, bool "
    "training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
    tags=["function_only"],
    native="rows",
)
def batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps):
    """Each channel (dim 1) normalised by its mean and variance over the batch, or by running ones."""
    if training:
        _check_values(input.shape, f"torch.Size({show(input.shape)})")
    return _batch_normed(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _check_values(sizes: Any, shown: str) -> None:
    """What the functions of networks ask for, not the ops that they are made of."""
    n = product([sizes[0], *sizes[2:]])
    if decided(n != 1) is False:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shown}")


keep_channels(batch_norm, dense=True)


def _follow(running: Any, value: Any, momentum: float) -> None:
    """running += momentum * (value - running), without history, in the value's dtype."""
    value = value.detach()
    ops.write_statistics(running, running.detach().to(value.dtype) * (1 - momentum) + value * momentum)


def _instance_normed(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, use_input_stats: bool, momentum: float, eps: float
) -> Any:
    """`instance_norm`, which may have but one value per channel. Running statistics are used in the input's dtype."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    if input.ndim < 2:
        raise IndexError(f"instance_norm(): expected at least 2 dimensions, got {input.ndim}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    samples, channels = input.shape[:2]
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {samples * channels} elements not {samples * value.numel()}")
    used_mean, used_var = [value if value is None else value.to(input.dtype) for value in (running_mean, running_var)]
    if not use_input_stats:
        return _batch_normed(input, used_mean, used_var, weight, bias, False, momentum, eps)
    if category(input.dtype) < 2:
        raise NotImplementedError(f"\"batch_norm\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
    check_parameters(input, weight, bias, used_mean, used_var)
    y, mean, variance = channel_norm(_wide(input), weight, bias, channels, False, eps)
    n = product(input.shape[2:])
    if running_mean is not None and not is_empty(n):
        _follow(running_mean, ops.mean(mean, [0]), momentum)
        _follow(running_var, _of_all(ops.mean(variance, [0]), n), momentum)
    return _like(y, input)


@composite(
    "instance_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? bias=None, "
    "bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
    tags=["function_only"],
)
def instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
    """Each channel of each sample normalised by itself."""
    if use_input_stats and decided(product(input.shape[2:]) != 1) is False:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size torch.Size({show(input.shape)})")
    return _instance_normed(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _group_normed(input: Any, num_groups: int, weight: Any, bias: Any, eps: float) -> Any:
    """`group_norm`, which may have but one value per group."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    channels = input.shape[1]
    if bool(channels % num_groups != 0):
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{show(input.shape)} and num_groups={num_groups}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and (value.ndim != 1 or bool(value.shape[0] != channels)):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{show(value.shape)} and input of shape {show(input.shape)}"
            )
    check_parameters(input, weight, bias)
    return _like(channel_norm(_wide(input), weight, bias, num_groups, False, eps)[0], input)


@composite(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
    tags=["function_only"],
    native="rows",
)
def group_norm(input, num_groups, weight, bias, eps):
    """Groups of channels of each sample normalised (Wu & He 2018)."""
    num_groups = int(num_groups)  # (one that is a symbol is taken as its value)
    if input.ndim > 1:
        apart = [input.shape[0] * input.shape[1] // num_groups, num_groups, *input.shape[2:]]
        _check_values(apart, show(apart))
    return _group_normed(input, num_groups, weight, bias, eps)


keep_channels(group_norm)


# What `weft.batch_norm` and its like are where there is one value of each channel, which those above refuse.
_ONE = ("function_only", "hidden")
batch_norm_of_one = composite(
    "batch_norm_of_one(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight, Tensor? bias, bool training, "
    "float momentum, float eps) -> Tensor",
    tags=_ONE,
)(_batch_normed)
composite(
    "instance_norm_of_one(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight, Tensor? bias, "
    "bool use_input_stats, float momentum, float eps) -> Tensor",
    tags=_ONE,
)(_instance_normed)
group_norm_of_one = composite(
    "group_norm_of_one(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps) -> Tensor", tags=_ONE
)(_group_normed)
keep_channels(batch_norm_of_one, dense=True)
keep_channels(group_norm_of_one)


@composite(
    "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor",
    tags=["function_only"],
)
def local_response_norm(input, size, alpha, beta, k):
    """input / (k + alpha * mean of squares over neighbouring channels) ** beta."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)")
    if category(input.dtype) < 2 and input.dtype is not dtypes.int64:
        raise NotImplementedError(f"\"avg_pool2d\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"avg_pool3d_out_frame\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
    if 0 in input.shape:
        return input
    if size < 1:
        raise RuntimeError("kernel size should be greater than zero")
    squares = (input * input).movedim(1, -1)
    padded = ops.constant_pad_nd(squares, [size // 2, (size - 1) // 2], 0).unfold(-1, size, 1)
    if input.dtype is dtypes.int64:
        mean = ops.div(ops.sum(padded, [-1]), size, rounding_mode="trunc")
    else:
        mean = ops.mean(padded, [-1])
    return input / (mean.movedim(-1, 1) * alpha + k) ** beta


@composite("normalize(Tensor input, float p=2.0, Any dim=1, float eps=1e-12) -> Tensor", tags=["function_only"])
def normalize(input, p, dim, eps):
    """input / max(norm along dim, eps)."""
    return input / ops.norm(input, p, dim, True).clamp(min=eps).expand(list(input.shape))


@composite(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    tags=["function_only"],
)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm`, the means and the reciprocal deviations."""
    last = _last(input, normalized_shape)
    return layer_norm(input, normalized_shape, weight, bias, eps), *_saved(input.detach(), last, eps, True, weight, bias)


def _saved(parts: Any, dims: list[int], eps: float, keepdim: bool, *parameters: Any) -> tuple[Any, Any]:
    """The means and reciprocal deviations that PyTorch keeps for gradients: beside parameters of float32 they are of float32, and
    of nothing means are 0.
    """
    dtype = next((p.dtype for p in parameters if p is not None), parts.dtype)
    variance, mean = _moments(_wide(parts), dims, keepdim)
    if any(is_empty(parts.shape[d]) for d in dims):
        mean = ops.zeros_like(mean)
    return ops.cast(mean, dtype), ops.cast((variance + eps).rsqrt(), dtype)


@composite(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> "
    "(Tensor, Tensor, Tensor)",
    tags=["function_only"],
)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm`, the means and the reciprocal deviations of the groups."""
    y = group_norm_of_one(input, group, weight, bias, eps)
    return y, *_saved(input.reshape([N, group, C // group * HxW]), [2], eps, False, weight, bias)


@composite(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    tags=["function_only"],
)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm`, and while training the means and reciprocal deviations of the channels."""
    y = batch_norm_of_one(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return y, input.new_zeros([0]), input.new_zeros([0])
    others = [d for d in range(input.ndim) if d != 1]
    return y, *_saved(input.detach(), others, eps, False, weight, bias, running_mean, running_var)
