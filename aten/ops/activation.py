"""Activations of neural networks, as composites of core ops."""

import functools
from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import Op, composite, op, ops, registry, widened
from aten.ops.by_definition import by_definition
from aten.ops.closed import closed, in_float32
from aten.ops.pointwise import binary, finish_pointwise, float_only, pointwise_meta
from aten.promotion import TYPE_NAMES, category, element
from aten.scalar import numerics
from aten.scalar.unpatched import math
from aten.shapes import wrap_dim


def _where(condition: Any, x: Any, y: Any) -> Any:
    return ops.where(condition, x, y)


_BOUNDS = {"hardtanh": (0, 1), "threshold": (1,), "hardshrink": (0,), "softshrink": (0,)}  # numbers by place


def _fitting(name: str, definition: Any) -> Any:
    """The definition for numbers that the dtype holds which is computed in: of halves float32, but for bounds."""

    @functools.wraps(definition)
    def checked(input, *rest):
        if input.dtype.is_floating_point:
            for place, number in enumerate(rest):
                if type(number) in (int, float):
                    bound = place in _BOUNDS.get(name, ())
                    element(number, input.dtype if bound or input.dtype.itemsize != 2 else dtypes.float32)
        return definition(input, *rest)

    return checked


def _activation(
    name: str,
    parameters: str,
    definition: Any,
    doc: str,
    *,
    method: bool = False,
    inplace: bool = True,
    native: str | None = "chain",
) -> Op:
    """An op of one tensor; with `inplace` also `name_` and a flag `inplace=` as in torch.nn.functional."""
    definition = _fitting(name, widened(definition)) if parameters else widened(definition)
    extra = ", " + parameters if parameters else ""
    flag = ", bool inplace=False" if inplace and not method else ""

    if flag:

        def function(input, *rest):
            return getattr(ops, f"{name}_")(input, *rest[:-1]) if rest[-1] else definition(input, *rest[:-1])
    else:
        function = definition
    tags = [] if method else ["function_only"]
    made = composite(f"{name}(Tensor input{extra}{flag}) -> Tensor", tags=tags, inplace=inplace, native=native)(function)
    made.__doc__ = doc
    return made


closed(
    "elu_core(Tensor input, float alpha, float scale, float input_scale) -> Tensor",
    lambda x, alpha, scale, input_scale: _where(
        x > 0,
        x * scale if scale != 1.0 else x,
        (alpha * scale) * (x if input_scale == 1.0 else x * input_scale).expm1(),
    ),
    lambda t, x, alpha, scale, input_scale: _where(
        x <= 0, t * ((alpha * scale * input_scale) * (_where(x < 0, x, 0.0) * input_scale).exp()), t * scale
    ),
    "x * scale, or alpha * scale * (exp(x * input_scale) - 1) below 0.",
)
closed(
    "softplus_core(Tensor input, Scalar beta, Scalar threshold) -> Tensor",
    lambda x, beta, threshold: _softplus(x, beta, threshold),
    lambda t, x, beta, threshold: _where(x * beta > threshold, t, t * (x * beta).sigmoid()),
    "log(1 + exp(beta * x)) / beta, x above the threshold.",
)
closed(
    "hardtanh_core(Tensor input, float low, float high) -> Tensor",
    lambda x, low, high: x.clamp(low, high),
    lambda t, x, low, high: _where((x <= low) | (x >= high), 0.0, t),
    "x limited to [low, high].",
    whole=True,
)
closed(
    "hardsigmoid_core(Tensor input) -> Tensor",
    lambda x: (x + 3).clamp(0, 6) / 6,
    lambda t, x: _where((x > -3) & (x < 3), t / 6, 0.0),
    "Piecewise linear sigmoid.",
    whole=True,
)
closed(
    "leaky_relu_core(Tensor input, float slope) -> Tensor",
    lambda x, slope: _where(x > 0, x, x * slope),
    lambda t, x, slope: _where(x > 0, t, t * slope),
    "x, times slope below 0.",
    whole=True,
)
closed(
    "hardshrink_core(Tensor input, float lambd) -> Tensor",
    lambda x, l: _where((x >= -l) & (x <= l), 0, x),
    lambda t, x, y: _where((x >= -y) & (x <= y), 0, t),
    "0 within lambd of 0, else x.",
    whole=True,
)
closed(
    "softshrink_core(Tensor input, float lambd) -> Tensor",
    lambda x, l: _where(x > l, x - l, _where(x < -l, x + l, x * 0)),
    lambda t, x, y: _where((x >= -y) & (x <= y), 0, t),
    "x shrunk towards 0 by lambd.",
    whole=True,
)
closed(
    "threshold_core(Tensor input, float threshold, float value) -> Tensor",
    lambda x, t, v: _where(x <= t, v, x),
    lambda t, x, y: _where(x <= y, 0, t),
    "x above the threshold, else value.",
    whole=True,
)
closed(
    "hardswish_core(Tensor input) -> Tensor",
    lambda x: x * (x + 3).clamp(0, 6) / 6,
    lambda t, x: _where(x <= -3, 0.0, _where(x < 3, t * (x / 3 + 0.5), t)),
    "x * hardsigmoid(x).",
)
closed(
    "logsigmoid_core(Tensor input) -> Tensor",
    lambda x: x.clamp(max=0) - (-x.abs()).exp().log1p(),
    lambda t, x: t * (-x).sigmoid(),
    "log(sigmoid(x)).",
)
closed(
    "mish_core(Tensor input) -> Tensor",
    lambda x: x * _tanh_of_softplus(x.clamp(max=20).exp()),
    lambda t, x: t * _mish_slope(x.clamp(max=20)),
    "x * tanh(softplus(x)).",
)


def _tanh_of_softplus(e):
    """Of a logarithm, by one division: (1 + e)^2 - 1 over (1 + e)^2 + 1."""
    n = e * (e + 2)
    return n / (n + 2)


def _mish_slope(x):
    e = x.exp()
    n = e * (e + 2)
    return n / (n + 2) + x * (4 * e * (e + 1)) / ((n + 2) * (n + 2))


def _softplus(x, beta, threshold):
    scaled = x if beta == 1 else x * beta
    return _where(scaled > threshold, x, _where(scaled > threshold, 0.0, scaled).exp().log1p() / beta)


def _hardtanh(x, low, high):
    if low > high:
        raise ValueError("min_val cannot be greater than max_val")
    return ops.hardtanh_core(x, low, high) if category(x.dtype) >= 2 else x.clamp(int(low), int(high))


def _glu(x, dim):
    if x.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, x.ndim)
    if x.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {x.shape[dim]}")
    return glu_core(x, dim) if x.dtype.is_floating_point else _gated(x, dim)


def _gated(x, dim):
    a, b = ops.chunk(x, 2, dim)
    return a * b.sigmoid()


@op("glu_core(Tensor input, int dim) -> Tensor", tags=["fused", "function_only", "hidden"])
def glu_core(input: Meta, dim: int) -> Meta:
    """The first half along a dim times the sigmoid of the second."""
    half = (*input.sizes[:dim], input.sizes[dim] // 2, *input.sizes[dim + 1 :])
    return pointwise_meta(Meta(input.dtype, input.device, half, input.strides))


@op("glu_core_backward(Tensor grad, Tensor input, int dim) -> Tensor", tags=["fused", "function_only", "hidden"])
def glu_core_backward(grad: Meta, input: Meta, dim: int) -> Meta:
    """The gradient of an input of `glu_core`."""
    return input.like(sizes=input.sizes)


@glu_core_backward.decompose
def _(grad, input, dim):
    a, b = ops.chunk(input, 2, dim)
    share = b.sigmoid()
    return ops.cat([grad * share, (grad * a) * ((1 - share) * share)], dim)


glu_core.decompose(_gated)
glu_core.kernel(by_definition(_gated))
glu_core_backward.kernel(by_definition(lambda *args: glu_core_backward.decompose_fn(*args)))
glu_core.vjp(lambda g, input, dim: glu_core_backward(g, input, dim))


def _prelu(x, weight):
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    found = [TYPE_NAMES[t.dtype.name] for t in (x, weight)]
    if found[0] != found[1]:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {found[0]} and {found[1]}")
    if not x.dtype.is_floating_point:
        raise NotImplementedError(f"\"prelu_cpu\" not implemented for '{found[0]}'")
    if weight.numel() != 1:
        if x.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if bool(weight.numel() != channels):
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.numel()} and channel size = {channels}."
            )
        sizes = [1] * x.ndim
        if x.ndim > 1:
            sizes[1] = weight.numel()
        elif x.ndim == 1:
            sizes[0] = weight.numel()
        weight = weight.reshape(sizes)
    elif weight.ndim:
        weight = weight.reshape([1] * x.ndim)
    return ops._prelu_kernel(x, weight)


def _softshrink(x, lambd):
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return ops.softshrink_core(x, lambd)


_activation("relu6", "", lambda x: _hardtanh(x, 0.0, 6.0), "min(max(x, 0), 6).")
_activation(
    "leaky_relu",
    "float negative_slope=0.01",
    lambda x, slope: ops.leaky_relu_core(x, slope),
    "x, times negative_slope below 0.",
)
_activation("elu", "float alpha=1.0", lambda x, alpha: ops.elu_core(x, alpha, 1.0, 1.0), "x, or alpha * (exp(x) - 1) below 0.")
_activation(
    "selu",
    "",
    lambda x: ops.elu_core(x, 1.6732632423543772, 1.0507009873554805, 1.0),
    "Scaled elu (Klambauer et al. 2017).",
    method=True,
)


def _celu(x: Any, alpha: float) -> Any:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return ops.elu_core(x, alpha, 1.0, 1.0 / alpha)


_activation(
    "celu",
    "float alpha=1.0",
    _celu,
    "max(x, 0) + min(0, alpha * (exp(x / alpha) - 1)).",
    method=True,
)
_activation("hardtanh", "float min_val=-1.0, float max_val=1.0", _hardtanh, "x limited to [min_val, max_val].")
_activation(
    "softplus",
    "Scalar beta=1, Scalar threshold=20",
    lambda x, beta, threshold: ops.softplus_core(x, beta, threshold),
    "log(1 + exp(beta * x)) / beta, x above the threshold.",
    inplace=False,
)
_activation("mish", "", lambda x: ops.mish_core(x), "x * tanh(softplus(x)).")
_activation("hardsigmoid", "", lambda x: ops.hardsigmoid_core(x), "Piecewise linear sigmoid.")
_activation("hardswish", "", lambda x: ops.hardswish_core(x), "x * hardsigmoid(x).")
_activation("softsign", "", lambda x: x / (1 + x.abs()), "x / (1 + |x|).", inplace=False)
_activation("tanhshrink", "", lambda x: x - x.tanh(), "x - tanh(x).", inplace=False)
_activation(
    "softshrink",
    "float lambd=0.5",
    _softshrink,
    "x shrunk towards 0 by lambd.",
    inplace=False,
)
_activation(
    "hardshrink",
    "float lambd=0.5",
    lambda x, lambd: ops.hardshrink_core(x, lambd),
    "0 within lambd of 0, else x.",
    method=True,
    inplace=False,
)
_activation(
    "threshold",
    "float threshold, float value",
    lambda x, t, v: ops.threshold_core(x, t, v) if category(x.dtype) >= 2 else _where(x <= int(t), int(v), x),
    "x above the threshold, else value.",
)
registry["threshold_"].tags |= {"fill"}  # done twice it gives the same: an element may be shown more than once
_activation("logsigmoid", "", lambda x: ops.logsigmoid_core(x), "log(sigmoid(x)).", inplace=False)
_activation("glu", "int dim=-1", _glu, "First half times sigmoid of the second half along dim.", inplace=False, native=None)
_prelu_kernel = binary(
    "_prelu_kernel",
    lambda x, weight, out: np.copyto(out, np.where(x > 0, x, weight * x)),
    numbers=False,
    inplace=False,
    derivative=(lambda t, x, y: _where(x > 0, t, t * y), lambda t, x: _where(x > 0, 0.0, t * x)),
    doc="x, times the weight, which broadcasts, where it is not above 0.",
)
_prelu_kernel.decompose(in_float32(lambda x, weight: _where(x > 0, x, weight * x)))


_activation("prelu", "Tensor weight", _prelu, "x, times weight below 0 (one a channel).", method=True, inplace=False, native=None)


@composite(
    "rrelu(Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False) -> Tensor",
    tags=["function_only"],
)
def rrelu(input, lower, upper, training, inplace):
    """x, times a slope below 0 that is random while training, else the middle of [lower, upper]."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if training:
        result = _where(input <= 0, input * (ops.rand_like(input) * (upper - lower) + lower), input)
    else:
        return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, (lower + upper) / 2)
    return input.copy_(result) if inplace else result


@composite("logit(Tensor input, float? eps=None) -> Tensor", inplace=True, native="chain")
def logit(input, eps):
    """log(x / (1 - x)), x first limited to [eps, 1 - eps] if given."""
    x = input if category(input.dtype) >= 2 else input.to(ops.scalar_tensor(0.0).dtype)
    if eps is not None:
        x = x.clamp(eps, 1 - eps)
    return ops.logit_core(x)


closed(
    "logit_core(Tensor input) -> Tensor",
    lambda x: (x / (1 - x)).log(),
    lambda t, x: t / (x * (1 - x)) if x.dtype.is_complex else _where((x < 0) | (x > 1), math.nan, t / (x * (1 - x))),
    "log(x / (1 - x)).",
)


@op(
    "gelu(Tensor input, *, str approximate='none') -> Tensor",
    tags=("pointwise", "function_only"),
    compute="float32",
    native="pointwise",
)
def gelu(input: Meta, approximate: str) -> Meta:
    """x * P(X <= x) for a standard normal X; approximate='tanh' uses tanh (Hendrycks & Gimpel 2016)."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    float_only("GeluKernelImpl", input)
    return pointwise_meta(input)


@gelu.kernel
def _(out, x, approximate):
    if approximate == "tanh":
        out[...] = 0.5 * x * (1 + np.tanh(GELU_SCALE * (x + 0.044715 * x * x * x)))
    else:
        out[...] = 0.5 * x * (1 + numerics.erf(x * ROOT_HALF))


GELU_SCALE, ROOT_HALF = math.sqrt(2 / math.pi), math.sqrt(0.5)
ONE_BY_ROOT_TWO_PI = 1 / math.sqrt(2 * math.pi)


def _gelu_vjp(g, x, approximate):
    if approximate == "tanh":
        t = (GELU_SCALE * (x + 0.044715 * (x * x * x))).tanh()
        slope = GELU_SCALE * (1 + 0.134145 * (x * x))
        return g * (0.5 * (1 + t) + 0.5 * x * ((1 - t * t) * slope))
    return g * (0.5 * (1 + (x * ROOT_HALF).erf()) + x * (ONE_BY_ROOT_TWO_PI * (-0.5 * (x * x)).exp()))


finish_pointwise(gelu, _gelu_vjp, False)


@gelu.decompose
def _(x, approximate):
    if approximate == "tanh":
        return 0.5 * x * (1 + (GELU_SCALE * (x + 0.044715 * (x * x * x))).tanh())
    return 0.5 * x * (1 + (x * ROOT_HALF).erf())
