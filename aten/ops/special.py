"""Further scalar functions, as composites of core ops, and the few that need kernels of their own."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.info import finfo
from aten.meta import Meta, shows_twice
from aten.op import alias_of, composite, op, ops, registry
from aten.ops.closed import closed, floating_of
from aten.ops.conversion import result_type
from aten.ops.pointwise import binary, float_only, pointwise_meta, unary
from aten.promotion import FINITE, TYPE_NAMES, category, element, number_dtype
from aten.scalar import numerics
from aten.scalar.numerics import via
from aten.scalar.unpatched import math
from aten.shapes import wrap_dim


def _floating_pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two tensors, of which one is floating: integers beside a half are promoted to the half."""
    return (x, y) if category(x.dtype) >= 2 or category(y.dtype) >= 2 else (floating_of(x), floating_of(y))


# -------------------------------------------------------------------------------------------------- pairs of tensors
@composite("rsub(Tensor input, Any other, *, Scalar alpha=1) -> Tensor", native="chain")
def rsub(input, other, alpha):
    """other - alpha * input."""
    return ops.sub(other, input, alpha=alpha)


@composite("square(Tensor input) -> Tensor", inplace=True, native="chain")
def square(input):
    """input * input."""
    return ops.pow(input, 2) if input.dtype is dtypes.bool else input * input


@composite("sgn(Tensor input) -> Tensor", inplace=True)
def sgn(input):
    """The sign; of complex numbers the direction."""
    if not input.dtype.is_complex:
        return ops.sign(input)
    return ops.direction(input)


@composite("true_divide(Tensor input, Any other) -> Tensor", tags=["scalars"], inplace=True)
def true_divide(input, other):
    """input / other."""
    return ops.div(input, other)


def _factor(value: Any, x: Any, y: Any) -> Any:
    """A factor, which must fit the dtype that is computed in, and is whole where that is of integers."""
    if type(value) is int and value == 1:
        return value
    dtype = result_type(x, y)
    fitting = element(value, dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype)
    return fitting if category(number_dtype(value)) == 2 and category(dtype) == 1 else value


@composite(
    "addcmul(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    inplace=True,
    compute="float32",
    native="chain",
)
def addcmul(input, tensor1, tensor2, value):
    """input + value * tensor1 * tensor2."""
    product = tensor1 * tensor2
    value = _factor(value, input, product)
    return input + (product if type(value) is int and value == 1 else product * value)


@composite(
    "addcdiv(Tensor input, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    inplace=True,
    compute="float32",
    native="chain",
)
def addcdiv(input, tensor1, tensor2, value):
    """input + value * tensor1 / tensor2."""
    if category(tensor1.dtype) < 2 and category(tensor2.dtype) < 2:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2."
        )
    quotient = tensor1 / tensor2
    value = _factor(value, input, quotient)
    return input + (quotient if type(value) is int and value == 1 else quotient * value)


@composite(
    "lerp(Tensor input, Tensor end, Any weight) -> Tensor",
    inplace=True,
    compute="float32",
    native="chain",
)
def lerp(input, end, weight):
    """input + weight * (end - input), counted from the nearer end."""
    if input.dtype is not end.dtype:
        raise RuntimeError(f"expected dtype {input.dtype.name} for `end` but got dtype {end.dtype.name}")
    float_only("lerp_kernel_scalar", input)
    step = end - input
    if not isinstance(weight, _native.Tensor):
        element(weight, dtypes.float32 if input.dtype.itemsize == 2 else input.dtype)
        return input + weight * step if abs(weight) < 0.5 else end - step * (1 - weight)
    return ops.where(weight.abs() < 0.5, input + weight * step, end - step * (1 - weight))


@composite("clamp_min(Tensor input, NumberOrTensor min) -> Tensor", inplace=True, native="chain")
def clamp_min(input, min):
    """`clamp` from below."""
    return ops.clamp(input, min, None)


@composite("clamp_max(Tensor input, NumberOrTensor max) -> Tensor", inplace=True, native="chain")
def clamp_max(input, max):
    """`clamp` from above."""
    return ops.clamp(input, None, max)


alias_of("clip", registry["clamp"])


@composite(
    "masked_fill(Tensor input, BoolTensor mask, Any value) -> Tensor",
    tags=["number", "into_expanded"],
    inplace=True,
    native="masked",
)
def masked_fill(input, mask, value):
    """input with `value` (a number or 0-d tensor) where the mask holds."""
    return ops.contiguous(ops.where(mask, _filling(input, mask, value), input))


@masked_fill.in_place
def _(input, mask, value):
    if input.is_contiguous() or not shows_twice(Meta.of(input)):
        return NotImplemented
    value = ops.fill(input.new_zeros([]), _filling(input, mask, value))
    return input.index_put_([mask.expand(list(input.shape))], value)  # one element may be shown where the mask holds and where not


def _filling(input: Any, mask: Any, value: Any) -> Any:
    """The value in the dtype of the input. Raises RuntimeError for masks and values that masked_fill does not take."""
    if mask.dtype is not dtypes.bool:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype.name}")
    if not hasattr(value, "dtype"):
        return element(value, input.dtype)
    if value.ndim:
        text = f"but got tensor with {value.ndim} dimension(s)"
        raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, {text}.")
    if value.dtype is input.dtype or value.is_meta:
        return value.to(input.dtype)
    if not _native.is_tracer(value):
        element(value.item(), input.dtype)
    elif value.dtype.is_complex and not input.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name} without overflow")
    return value.to(input.dtype)


@composite("heaviside(Tensor input, Tensor values) -> Tensor", inplace=True, native="chain")
def heaviside(input, values):
    """0 below 0, 1 above, `values` at 0."""
    if input.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return ops.heaviside_core(input, values)


closed(
    "heaviside_core(Tensor input, Tensor values) -> Tensor",
    lambda x, values: ops.where(ops.eq(x, 0), values, ops.cast(x > 0, x.dtype)),
    None,
    "0 below 0, 1 above, `values` at 0; without a derivative.",
)


@composite("xlogy(Tensor input, Tensor other) -> Tensor", tags=["scalars"], inplace=True, native="chain")
def xlogy(input, other):
    """input * log(other); 0 where input is 0, NaN where other is."""
    _no_numbers_alone("xlogy", input, other)
    y = other if hasattr(other, "dtype") else ops.full([], other, dtype=floating_of(input).dtype)
    x = input if hasattr(input, "dtype") else ops.full([], input, dtype=floating_of(y).dtype)
    return ops.xlogy_core(*_floating_pair(x, y))


def _no_numbers_alone(name: str, input: Any, other: Any) -> None:
    if not hasattr(input, "dtype") and not hasattr(other, "dtype"):
        given = f"{type(input).__name__}, {type(other).__name__}"
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({given}), but expected a Tensor among them")


def _times_log(x, y, log, one):
    zero = ops.eq(x, 0) & ops.logical_not(ops.isnan(y))
    return ops.where(zero, 0.0, x * log(ops.where(zero, one, y)))


closed(
    "xlogy_core(Tensor input, Tensor other) -> Tensor",
    lambda x, y: _times_log(x, y, ops.log, 1.0),
    (lambda t, x, y: ops.where(ops.eq(x, 0) & (y <= 0), 0.0, ops.xlogy(t, y)), lambda t, x, y: t * (x / y)),
    "input * log(other); 0 where input is 0.",
)
closed(
    "xlog1py_core(Tensor input, Tensor other) -> Tensor",
    lambda x, y: _times_log(x, y, ops.log1p, 0.0),
    (lambda t, x, y: ops.where(ops.eq(x, 0) & (y <= -1), 0.0, ops.special_xlog1py(t, y)), lambda t, x, y: t * (x / (y + 1))),
    "input * log1p(other); 0 where input is 0.",
)


@composite("special_xlog1py(Any input, Any other) -> Tensor", tags=["function_only"], native="chain")
def special_xlog1py(input, other):
    """input * log1p(other); 0 where input is 0, NaN where other is."""
    _no_numbers_alone("special_xlog1py", input, other)
    y = other if hasattr(other, "dtype") else ops.full([], other, dtype=floating_of(input).dtype)
    x = input if hasattr(input, "dtype") else ops.full([], input, dtype=floating_of(y).dtype)
    return ops.xlog1py_core(*_floating_pair(x, y))


def _logaddexp(x, y, exp, log1p):
    if x.dtype.is_complex or y.dtype.is_complex:  # by the real part
        above = ops.real(x) >= ops.real(y)
        top, low = ops.where(above, x, y), ops.where(above, y, x)
    else:
        top, low = ops.maximum(x, y), ops.minimum(x, y)
    same = ops.eq(x, y) & ops.isinf(x)
    return ops.where(same, x, top + log1p(exp(ops.where(same, 0.0, low - top))))


closed(
    "logaddexp_core(Tensor input, Tensor other) -> Tensor",
    lambda x, y: _logaddexp(x, y, ops.exp, ops.log1p),
    (lambda t, x, y: t / (1 + (y - x).exp()), lambda t, x, y: t / (1 + (x - y).exp())),
    "log(exp(input) + exp(other)).",
)
closed(
    "logaddexp2_core(Tensor input, Tensor other) -> Tensor",
    lambda x, y: _logaddexp(x, y, ops.exp2, lambda z: z.log1p() * (1 / math.log(2))),
    (lambda t, x, y: t / (1 + (y - x).exp2()), lambda t, x, y: t / (1 + (x - y).exp2())),
    "log2(2**input + 2**other).",
)


@composite("logaddexp(Tensor input, Tensor other) -> Tensor", native="chain")
def logaddexp(input, other):
    """log(exp(input) + exp(other)), without overflow."""
    return ops.logaddexp_core(*_floating_pair(input, other))


@composite("logaddexp2(Tensor input, Tensor other) -> Tensor", native="chain")
def logaddexp2(input, other):
    """log2(2**input + 2**other), without overflow."""
    return ops.logaddexp2_core(*_floating_pair(input, other))


@composite("float_power(Tensor input, Tensor exponent) -> Tensor", tags=["scalars"], inplace=True, native="chain")
def float_power(input, exponent):
    """`pow` in float64."""
    if not hasattr(input, "dtype") and not hasattr(exponent, "dtype"):
        raise TypeError(f"float_power(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    wide = lambda v: v.to(dtypes.complex128 if v.dtype.is_complex else dtypes.float64) if hasattr(v, "dtype") else v
    return ops.pow(wide(input), wide(exponent))


def _takes_doubles(args: Any) -> None:
    """RuntimeError where the result, which is of float64 or complex128, is not of the dtype of the tensor it is written into."""
    input, exponent = args[:2]
    inexact = any(v.dtype.is_complex if hasattr(v, "dtype") else isinstance(v, complex) for v in (input, exponent))
    needed = dtypes.complex128 if inexact else dtypes.float64
    if input.dtype is not needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {TYPE_NAMES[input.dtype.name]} but the operation's result requires dtype "
            f"{TYPE_NAMES[needed.name]}"
        )


registry["float_power_"].refuses = _takes_doubles


@composite("ldexp(Tensor input, Tensor other) -> Tensor", inplace=True, native="chain")
def ldexp(input, other):
    """input * 2**other; halves beside integers stay halves, and are rounded once."""
    found = input * ops.pow(2.0, other)
    dtype = result_type(input, other)
    return ops.cast(found, dtype) if category(dtype) >= 2 else found


binary("gcd", np.gcd, compute=None, numbers=False, doc="The greatest common divisor.")
binary("lcm", via(lambda x, y: np.abs(np.lcm(x, y))), compute=None, numbers=False, doc="The least common multiple.")


# ----------------------------------------------------------------------------------------------------- one tensor
@composite(
    "nan_to_num(Tensor input, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", inplace=True, native="chain"
)
def nan_to_num(input, nan, posinf, neginf):
    """NaN and infinities replaced (by default by 0 and the extreme finite values)."""
    if category(input.dtype) < 2:
        return ops.clone(input)
    if input.dtype.is_complex:
        return ops.complex(*[nan_to_num(part(input), nan, posinf, neginf) for part in (ops.real, ops.imag)])
    limit = FINITE.get(input.dtype.name, 1.7976931348623157e308)
    fitting = lambda number: math.copysign(math.inf, number) if limit < abs(number) < math.inf else number
    x = ops.where(ops.isnan(input), 0.0 if nan is None else fitting(nan), input)
    x = ops.where(ops.eq(input, math.inf), limit if posinf is None else fitting(posinf), x)
    return ops.where(ops.eq(input, -math.inf), -limit if neginf is None else fitting(neginf), x)


@composite("deg2rad(Tensor input) -> Tensor", inplace=True, native="chain")
def deg2rad(input):
    """Degrees as radians."""
    return input * (math.pi / 180)


@composite("rad2deg(Tensor input) -> Tensor", inplace=True, native="chain")
def rad2deg(input):
    """Radians as degrees."""
    return input * (180 / math.pi)


@composite("sinc(Tensor input) -> Tensor", inplace=True, compute="float32", native="chain")
def sinc(input):
    """sin(pi x) / (pi x); 1 at 0."""
    return ops.sinc_core(floating_of(input))


def _sinc(x):
    x = x * math.pi
    zero = ops.eq(x, 0)
    return ops.where(zero, 1.0, x.sin() / ops.where(zero, 1.0, x))


def _sinc_slope(t, x):
    """Its power series near 0: there cos(pi x) and sinc(x) are one."""
    y = x * math.pi
    near = y.abs() < 1
    small, far = ops.where(near, y, 0.0), ops.where(near, 1.0, x)
    square, series = small * small, 0.0
    for k in range(9, 0, -1):
        series = series * square + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    return t * ops.where(near, series * small * math.pi, ((far * math.pi).cos() - _sinc(far)) / far)


closed("sinc_core(Tensor input) -> Tensor", _sinc, _sinc_slope, "sin(pi x) / (pi x).")


@composite("cross(Tensor input, Tensor other, int? dim=None) -> Tensor")
def cross(input, other, dim):
    """The vector product along a dimension of size 3 (by default the first of that size)."""
    if dim is None:
        dim = next((d for d, s in enumerate(input.shape) if s == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)


@composite("linalg_cross(Tensor input, Tensor other, *, int dim=-1) -> Tensor", tags=["function_only"])
def linalg_cross(input, other, dim):
    """The vector product along a dimension of size 3."""
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    a, b = (x.contiguous() for x in ops.broadcast_tensors(input, other))  # (each is read four times)
    turn = lambda x, k: ops.roll(x, [-k], [dim])
    return turn(a, 1) * turn(b, 2) - turn(a, 2) * turn(b, 1)


@composite("renorm(Tensor input, Scalar p, int dim, Scalar maxnorm) -> Tensor", inplace=True)
def renorm(input, p, dim, maxnorm):
    """Slices along dim scaled down so that their p-norms are at most maxnorm."""
    if input.ndim < 2:
        raise RuntimeError("renorm: input needs at least 2 dimensions, got 1 dimensions")
    if isinstance(p, complex):
        raise RuntimeError("renorm: p must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    others = [d for d in range(input.ndim) if d != wrap_dim(dim, input.ndim)]
    size = ops.norm(input.detach(), p, others, True)
    large = size > maxnorm
    if not _native.is_tracer(input) and not (input.requires_grad and _native.is_grad_enabled()):
        return input * ops.where(large, maxnorm / (size + 1e-7), 1.0)
    size = ops.norm(ops.where(large, input, 1.0), p, others, True)  # without a derivative by slices that stay, which may be NaN
    return input * ops.where(large, maxnorm / (size + 1e-7), 1.0)


@composite("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", tags=["function_only"])
def vander(x, N, increasing):
    """Powers of the elements, one row each."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    powers = ops.arange(n)
    result = ops.pow(x.unsqueeze(1) if category(x.dtype) >= 2 else x.to(dtypes.int64).unsqueeze(1), powers)
    return result if increasing else ops.flip(result, [1])


# -------------------------------------------------------------------------------------------- special functions
@op("polygamma(int n, Tensor input) -> Tensor", tags=["pointwise", "library"], promote="float", compute="float32")
def polygamma(n: int, input: Meta) -> Meta:
    """The n-th derivative of digamma."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return pointwise_meta(input)


@polygamma.kernel
def _(out, n, x):
    x = x.astype(np.float64)
    if n == 0:
        out[...] = numerics.digamma(x)
        return
    pole = (x <= 0) & (x == np.floor(x))
    out[...] = np.where(pole, np.inf if n % 2 else -np.inf, numerics.polygamma_series(np.where(pole, 1.0, x), n))


polygamma.vjp(lambda g, n, input: g * polygamma(n + 1, input))


@composite("mvlgamma(Tensor input, int p) -> Tensor", inplace=True)
def mvlgamma(input, p):
    """The log of the multivariate gamma function of dimension p.

    Raises RuntimeError for p below 1, and above 2**24: it takes p logarithms an element.
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if p > _MOST_GAMMAS:
        raise RuntimeError(f"mvlgamma: p of {p} asks for more than {_MOST_GAMMAS} logarithms of each element")
    x = floating_of(input)
    total = p * (p - 1) / 4 * math.log(math.pi)
    if p <= _GAMMAS_APART:
        for j in range(p):
            total = (x - j / 2).lgamma() + total
        return total
    for start in range(0, p, _GAMMAS_AT_ONCE):
        stop = min(start + _GAMMAS_AT_ONCE, p)
        halves = ops.arange(start, stop, dtype=x.dtype, device=x.device) / 2
        total = (x.unsqueeze(-1) - halves).lgamma().sum(-1) + total
    return total


_MOST_GAMMAS = 1 << 24  # beyond, a float32 does not tell the halves apart that are subtracted
_GAMMAS_AT_ONCE = 4096  # bounds the memory and how long an interrupt waits
_GAMMAS_APART = 16  # so many are added one by one: they fuse


unary(
    "i0",
    via(lambda x: numerics.bessel_i(0, x)),
    derivative=lambda t, x: t * ops.special_i1(x),
    doc="Modified Bessel function of order 0.",
)
unary(
    "special_i0e",
    via(lambda x: numerics.bessel_ie(0, x)),
    inplace=False,
    derivative=lambda t, x, out: t * (ops.special_i1e(x) - ops.sign(x) * out),
    doc="exp(-|x|) * i0(x).",
)


def _unless_near_0(x, slope):
    """`slope(x)`, and its limit 1/2 where x is so near 0 that a quotient by it has no digits, or NaN."""
    apart = x.abs() > finfo(x.dtype).eps
    return ops.where(apart, slope(ops.where(apart, x, 1.0)), 0.5)


unary(
    "special_i1",
    via(lambda x: numerics.bessel_i(1, x)),
    inplace=False,
    doc="Modified Bessel function of order 1.",
    derivative=lambda t, x, out: t * _unless_near_0(x, lambda x: ops.i0(x) - out / x),
)
unary(
    "special_i1e",
    via(lambda x: numerics.bessel_ie(1, x)),
    inplace=False,
    doc="exp(-|x|) * i1(x).",
    derivative=lambda t, x, out: t * _unless_near_0(x, lambda x: ops.special_i0e(x) - out * (ops.sign(x) + 1 / x)),
)


def _as_special(name: str, target: str) -> None:
    registry[f"special_{name}"] = registry[target]


for _name, _target in (
    ("digamma", "digamma"),
    ("psi", "digamma"),
    ("erf", "erf"),
    ("erfc", "erfc"),
    ("erfinv", "erfinv"),
    ("exp2", "exp2"),
    ("expit", "sigmoid"),
    ("expm1", "expm1"),
    ("gammaln", "lgamma"),
    ("i0", "i0"),
    ("log1p", "log1p"),
    ("log_softmax", "log_softmax"),
    ("softmax", "softmax"),
    ("logit", "logit"),
    ("logsumexp", "logsumexp"),
    ("multigammaln", "mvlgamma"),
    ("polygamma", "polygamma"),
    ("round", "round"),
    ("sinc", "sinc"),
    ("xlogy", "xlogy"),
):
    _as_special(_name, _target)


@composite("special_entr(Tensor input) -> Tensor", tags=["function_only"], compute="float32", native="chain")
def special_entr(input):
    """-x * log(x); 0 at 0, -inf below."""
    return ops.entr_core(floating_of(input))


def _entr(x):
    inside = x > 0
    value = -x * ops.where(inside, x, 1.0).log()
    return ops.where(inside | ops.isnan(x), value, ops.where(ops.eq(x, 0), 0.0, -math.inf).to(x.dtype))


closed("entr_core(Tensor input) -> Tensor", _entr, lambda t, x: t * (-1 - x.log()), "-x * log(x).")


@op("frexp(Tensor input) -> (Tensor mantissa, Tensor exponent)", tags=["library"])
def frexp(input: Meta) -> tuple[Meta, Meta]:
    """input = mantissa * 2**exponent, with the mantissa in [0.5, 1)."""
    if category(input.dtype) != 2:
        raise RuntimeError(f"torch.frexp() only supports floating-point dtypes, but got {TYPE_NAMES[input.dtype.name]}")
    return input.like(), input.like(dtype=dtypes.int32)


@frexp.kernel
def _(out, x):
    out[0][...], out[1][...] = np.frexp(x)


frexp.vjp(lambda g, out: None if g[0] is None else ops.ldexp(g[0], -out[1]))
