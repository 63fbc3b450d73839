"""Elementwise arithmetic: a row of a table is a whole op.

A `derivative=` is a function `(t, ...)` for each differentiable parameter: t times the derivative with respect to it. Its
further arguments are named: x, y, z, the op's parameters after promotion, and out, the result. The jvp is its value for a
tangent; the vjp is that for a gradient, with the derivative's conjugate. None for one that does not exist, 0 for one that is
0 everywhere. Rows of the scalar vocabulary (aten/scalar) that say their meaning are ops without more being said here.
"""

from __future__ import annotations

import cmath
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.derivative import missing, pullback, pushforward
from aten.devices import two_devices
from aten.later import later
from aten.meta import Meta
from aten.op import Op, alias_of, composite, inplace_of, op, ops
from aten.ops.batching import batch_pointwise
from aten.promotion import TYPE_NAMES, category, element, number_dtype, result_dtype, to_real
from aten.scalar import numerics
from aten.scalar.numerics import via
from aten.scalar.table import table
from aten.scalar.unpatched import math
from aten.shapes import broadcast, is_symbolic, pointwise_strides

_loop = functools.partial(later, "aten.ops.array_loops")
_LOOPS = {name for name, _ in _native.pointwise_rows()}  # what has eager loops


def pointwise_meta(*args: Any, dtype: Any = None) -> Meta:
    """The shape rule of every elementwise op: Metas broadcast, numbers do not count."""
    metas = [a for a in args if type(a) is Meta]
    first = metas[0]
    sizes = first.sizes if len(metas) == 1 else broadcast(*[m.sizes for m in metas])
    return Meta(first.dtype if dtype is None else dtype, pointwise_device(metas), sizes, pointwise_strides(sizes, metas))


def pointwise_device(metas: list[Meta]) -> Any:
    """The common device; a 0-d tensor may be elsewhere. Raises RuntimeError for two devices."""
    device = metas[0].device
    for meta in metas[1:]:
        if meta.device != device:
            if meta.ndim and device != meta.device and metas[0].ndim:
                raise two_devices(device, meta.device)
            device = device if metas[0].ndim else meta.device
    return device


def float_only(name: str, x: Meta) -> None:
    """Raises NotImplementedError as PyTorch does for ops that have no integer form."""
    if category(x.dtype) < 2:
        raise NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[x.dtype.name]}'")


def _rule_of(name: str) -> str | None:
    """The kind of the native rule: functions of the scalar vocabulary, and of definitions, that have eager loops have one."""
    return "pointwise" if name in _LOOPS else None


def _zero(t: Any) -> Any:
    return ops.zeros_like(t)


def finish_pointwise(made: Op, derivative: Any, inplace: bool) -> Op:
    """Add what every elementwise op has: vjp and jvp from its derivative, batching rule, in-place form."""
    if derivative is not None:
        derivative = _zero if derivative == 0 else derivative
        several = isinstance(derivative, tuple)
        products = derivative if several else (derivative,)
        names = [p.name for p in made.core if p.differentiable] if None in products else products  # (else no schema is read)
        vjps = tuple([missing(f"{made.name}: {n}") if fn is None else pullback(fn) for fn, n in zip(products, names)])
        made.vjp_fn = vjps if several else vjps[0]
        made.jvp_fn = pushforward(made, products)
    made.batch_fn = batch_pointwise(made)
    if inplace:
        made.inplace = inplace_of(made)
    return made


def unary(
    name: str,
    kernel: Callable[..., Any],
    *,
    promote: str = "float",
    derivative: Any = None,
    result: Any = None,
    check: Callable[[str, Meta], None] | None = None,
    inplace: bool = True,
    compute: str | None = "float32",
    constant: bool = False,
    doc: str | None = None,
) -> Op:
    """An elementwise op of one tensor. `kernel(x, out=)`; `result(dtype)` gives the result's dtype (default: the
    input's); constant: it is not differentiated, and its results require no grad.
    """

    def rule(input: Meta) -> Meta:
        if check is not None:
            check(name, input)
        return pointwise_meta(input, dtype=None if result is None else result(input.dtype))

    rule.__doc__ = doc or f"`{name}` of each element."
    tags = ("pointwise", "constant") if constant else ("pointwise",)
    made = op(f"{name}(Tensor input) -> Tensor", tags=tags, promote=promote, compute=compute, native=_rule_of(name))(rule)
    made.kernel(lambda out, x: kernel(x, out=out))
    return finish_pointwise(made, derivative, inplace)


def binary(
    name: str,
    kernel: Callable[..., Any],
    *,
    promote: Any = "same",
    derivative: Any = None,
    result: Any = None,
    check: Callable[[str, Any, Any], None] | None = None,
    inplace: bool = True,
    compute: str | None = "float32",
    extra: str = "",
    numbers: bool = True,
    tensor_first: bool = False,
    doc: str | None = None,
) -> Op:
    """An elementwise op of two tensors, either of which may be a number (if `numbers`; of `tensor_first`, the second).

    `kernel(x, y, out=)`.
    """

    def rule(input: Any, other: Any) -> Meta:
        if check is not None:
            check(name, input, other)
        dtype = (input if type(input) is Meta else other).dtype
        made = pointwise_meta(input, other, dtype=None if result is None else result(dtype))
        if name == "pow" and type(input) is not Meta:
            return Meta.contiguous(made.sizes, made.dtype, made.device)
        return made

    rule.__doc__ = doc or f"`{name}` of elements of two tensors, broadcast."
    made = op(
        f"{name}(Tensor input, Tensor other{extra}) -> Tensor",
        tags=("pointwise", *["scalars"] * numbers, *["tensor_first"] * tensor_first),
        promote=promote,
        compute=compute,
        native=_rule_of(name),
    )(rule)
    made.kernel(lambda out, x, y: kernel(x, y, out=out))
    return finish_pointwise(made, derivative, inplace)


# ---------------------------------------------------------------------------------------------------- one tensor
def _no_bool(text: str) -> Callable[[str, Meta], None]:
    def check(name: str, x: Meta) -> None:
        if x.dtype is dtypes.bool:
            raise RuntimeError(text)

    return check


_neg_bool = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)


def _bool_dtype(dtype: Any) -> Any:
    return dtypes.bool


_KERNELS = {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}  # PyTorch's names in messages


def _no_float(name: str, *xs: Any) -> None:
    for x in xs:
        if type(x) is Meta and category(x.dtype) >= 2:
            raise NotImplementedError(f"\"{_KERNELS.get(name, name)}_cpu\" not implemented for '{TYPE_NAMES[x.dtype.name]}'")


def _integers_only(name: str, x: Any, y: Any) -> None:
    _no_two_bools(f"{_KERNELS[name]}_cpu")(name, x, y)
    _no_float(name, x, y)


unary("neg", np.negative, promote="same", check=_no_bool(_neg_bool), derivative=lambda t: -t)
_abs_op = unary("abs", _loop("absolute"), promote="same", result=to_real)
_abs_op.vjp(lambda g, x: g * x.sgn())
_abs_op.jvp(lambda tangents, x, out: ops.real(tangents[0] * x.sgn().conj()))
unary("sign", _loop("sign"), promote="same", derivative=0)
for _row in table.values():
    if _row.numpy is not None:
        unary(_row.name, _row.numpy, promote="same" if "i" in _row.eager else "float", derivative=_row.derivative)
unary("frac", via(lambda x: x - np.trunc(x)), promote="same", check=float_only, derivative=lambda t: t)
_relu = unary(
    "relu",
    via(lambda x: np.where(x < 0, np.zeros((), x.dtype), x)),
    promote="same",
    derivative=lambda t, out: ops.where(out <= 0, 0, t),
    check=_no_bool("Boolean inputs not supported for relu"),
    doc="max(x, 0); NaN stays.",
)
_relu.whole = True
unary(
    "silu",
    via(lambda x: x * numerics.sigmoid(x)),
    promote="same",
    check=float_only,
    doc="x * sigmoid(x).",
    derivative=lambda t, x: _silu_backward(t, x),
)
unary("logical_not", np.logical_not, promote="same", result=_bool_dtype, compute=None)
unary("bitwise_not", np.bitwise_not, promote="same", check=_no_float, compute=None)
for _name, _test in {
    "isnan": lambda x: np.isnan(x) if x.dtype.kind not in "biu" else False,
    "isinf": lambda x: np.isinf(x) if x.dtype.kind not in "biu" else False,
    "isfinite": lambda x: np.isfinite(x) if x.dtype.kind not in "biu" else True,
    "signbit": lambda x: np.signbit(x) if x.dtype.kind == "f" else x < 0 if x.dtype.kind == "i" else False,
}.items():
    unary(_name, via(_test), promote="same", result=_bool_dtype, inplace=False)
alias_of("arccos", ops.acos)
alias_of("arcsin", ops.asin)
alias_of("arctan", ops.atan)
alias_of("arccosh", ops.acosh)
alias_of("arcsinh", ops.asinh)
alias_of("arctanh", ops.atanh)
alias_of("absolute", ops.abs)
alias_of("negative", ops.neg)
alias_of("fix", ops.trunc)


def _silu_backward(g, x):
    s = x.sigmoid()
    return g * (s * (1 + x * (1 - s)))


@op("round(Tensor input, *, int decimals=0) -> Tensor", tags=("pointwise",), promote="same", compute="float32", native="pointwise")
def round_(input: Meta) -> Meta:
    """The nearest integer, halves to even; `decimals` digits after the point."""
    return pointwise_meta(input)


@round_.special(lambda input, decimals: decimals != 0)
def _(input, decimals):
    if category(input.dtype) < 2:
        raise NotImplementedError("\"round_cpu\" not implemented for 'Long'")
    scale = 10.0 ** abs(decimals)
    wide = input.to(dtypes.float32) if input.dtype.itemsize < 4 else input  # (710 * 100 is no half)
    rounded = round_(wide * scale) / scale if decimals > 0 else round_(wide / scale) * scale
    return rounded.to(input.dtype)


_round_to_even = _loop("round_to_even")
round_.kernel(lambda out, x: _round_to_even(x, out))
finish_pointwise(round_, lambda g: g * 0, True)


# --------------------------------------------------------------------------------------------------- two tensors
def _subtracted(input: Any, other: Any, alpha: Any) -> Any:
    """The dtype of input - other. RuntimeError for bools, which are told before promotion."""
    kinds = [x.dtype if hasattr(x, "dtype") else number_dtype(x) for x in (input, other)]
    if dtypes.bool in kinds:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
            if kinds[0] is kinds[1]
            else "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return result_dtype([(k, 2 if getattr(x, "ndim", 0) else int(hasattr(x, "dtype"))) for x, k in zip((input, other), kinds)])


def _no_two_bools(kernel: str) -> Callable[[str, Any, Any], None]:
    def check(name: str, x: Any, y: Any) -> None:
        if all((z.dtype if type(z) is Meta else number_dtype(z)) is dtypes.bool for z in (x, y)):
            raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")

    return check


def _is_negative(n: Any) -> bool:
    """Whether it is an int, which may change, below 0."""
    if type(n) is int or not is_symbolic(n) or n.kind != "int":
        return type(n) is int and n < 0
    from aten.symbolic.checked import holds  # (a start has no use for it)

    return not holds(n >= 0)


def _pow_check(name: str, x: Any, y: Any) -> None:
    if type(x) is type(y) is Meta and x.dtype is dtypes.bool:
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if _is_negative(y) and category(x.dtype) < 2:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def conjugate(x: Any) -> Any:
    """The complex conjugate of a tensor or number; real ones themselves. Gradients of products are conjugate."""
    if isinstance(x, complex):
        return x.conjugate()
    return ops.conj_physical(x) if hasattr(x, "dtype") and x.dtype.is_complex else x


def where(condition: Any, input: Any, other: Any) -> Any:
    return ops.where(condition, input, other)


def _pow_x(t, x, y):
    """y * x**(y-1), and 0 (not NaN) where y is 0."""
    if not hasattr(y, "dtype"):  # a number, maybe symbolic
        return ops.zeros_like(t) if y == 0 else t * (y * x ** (y - 1))
    return where(ops.eq(y, 0), 0.0, t * (y * x ** (y - 1)))


def _pow_y(t, x, y, out):
    """out * log(x), and 0 where x is 0 and y >= 0."""
    positive = (ops.imag(y) == 0) & (ops.real(y) >= 0) if y.dtype.is_complex else y >= 0
    if not hasattr(x, "dtype"):
        if x == 0:
            return where(positive, 0.0, t * (out * -math.inf))
        return t * (out * (cmath.log(x) if isinstance(x, complex) or y.dtype.is_complex else math.log(x) if x > 0 else math.nan))
    return where(ops.eq(x, 0) & positive, 0.0, t * (out * x.log()))


def _square_size(x: Any, y: Any) -> Any:
    """x*x + y*y, and infinity at 0: there atan2 is given the derivative 0."""
    size = x * x + y * y
    return where(ops.eq(size, 0), math.inf, size)


def _extreme(less: str) -> tuple[Callable[..., Any], ...]:
    """maximum and minimum: the larger (smaller) one gets the gradient, equal ones half each."""

    def first(t, x, y):
        return where(ops.eq(x, y), t * 0.5, where(getattr(ops, less)(x, y), 0.0, t))

    def second(t, x, y):
        return where(ops.eq(x, y), t * 0.5, where(getattr(ops, less)(y, x), 0.0, t))

    return first, second


def _fextreme(at_least: str) -> tuple[Callable[..., Any], ...]:
    """fmax and fmin: the first one gets the gradient where it is chosen or the second is NaN."""

    def chosen(x, y):
        return getattr(ops, at_least)(x, y) | ops.isnan(y) if not isinstance(y, (int, float)) else getattr(ops, at_least)(x, y)

    return lambda t, x, y: where(chosen(x, y), t, 0.0), lambda t, x, y: where(chosen(x, y), 0.0, t)


binary("add", np.add, extra=", *, Scalar alpha=1", derivative=(lambda t: t, lambda t: t), doc="input + alpha * other.")
binary(
    "sub",
    np.subtract,
    extra=", *, Scalar alpha=1",
    promote=_subtracted,
    derivative=(lambda t: t, lambda t: -t),
    doc="input - alpha * other.",
)
binary("mul", np.multiply, derivative=(lambda t, y: t * y, lambda t, x: t * x))
binary(
    "div",
    np.true_divide,
    promote="float",
    extra=", *, str? rounding_mode=None",
    derivative=(lambda t, y: t / y, lambda t, x, y: -t * (x / y / y)),
    doc="input / other, in floating point unless a rounding_mode is given.",
)
binary("pow", _loop("power"), check=_pow_check, derivative=(_pow_x, _pow_y))
binary("maximum", np.maximum, derivative=_extreme("lt"), inplace=False, numbers=False, doc="The larger element; NaN if either is.")
binary("minimum", np.minimum, derivative=_extreme("gt"), inplace=False, numbers=False, doc="The smaller element; NaN if either is.")
binary("fmax", np.fmax, derivative=_fextreme("ge"), inplace=False, numbers=False, doc="The larger element; a NaN loses.")
binary("fmin", np.fmin, derivative=_fextreme("le"), inplace=False, numbers=False, doc="The smaller element; a NaN loses.")
binary(
    "atan2",
    np.arctan2,
    promote="float",
    numbers=False,
    derivative=(lambda t, x, y: t * (y / _square_size(x, y)), lambda t, x, y: t * (-x / _square_size(x, y))),
)
binary(
    "fmod",
    _loop("fmod"),
    check=_no_two_bools("fmod_cpu"),
    tensor_first=True,
    derivative=(lambda t: t, lambda t, x, y: -t * ops.div(x, y, rounding_mode="trunc")),
)
binary(
    "remainder",
    _loop("remainder"),
    check=_no_two_bools("remainder_cpu"),
    derivative=(lambda t: t, lambda t, x, y: -t * ops.floor_divide(x, y)),
)
binary(
    "floor_divide",
    _loop("floor_divide"),
    check=_no_two_bools("div_floor_cpu"),
    derivative=(lambda t: ops.zeros_like(t), lambda t: ops.zeros_like(t)),
)
_copysign = binary(
    "copysign",
    np.copysign,
    tensor_first=True,
    promote="float",
    derivative=(
        lambda t, x, out: where(ops.eq(x, 0), 0.0, t * (out / x)),  # (of an infinity NaN, as in PyTorch)
        lambda t: ops.zeros_like(t),
    ),
)
_copysign.whole = True
binary("hypot", np.hypot, numbers=False, derivative=(lambda t, x, out: t * (x / out), lambda t, y, out: t * (y / out)))
binary(
    "nextafter",
    np.nextafter,
    compute=None,
    numbers=False,
    derivative=(lambda t, x, y: where(ops.eq(x, y), 0.0, t), lambda t: ops.zeros_like(t)),
)
binary("bitwise_and", np.bitwise_and, check=_no_float, compute=None)
binary("bitwise_or", np.bitwise_or, check=_no_float, compute=None)
binary("bitwise_xor", np.bitwise_xor, check=_no_float, compute=None)
binary("bitwise_left_shift", _loop("left_shift"), check=_integers_only, compute=None)
binary("bitwise_right_shift", _loop("right_shift"), check=_integers_only, compute=None)
for _new, _old in (("subtract", "sub"), ("multiply", "mul"), ("divide", "div"), ("arctan2", "atan2")):
    alias_of(_new, getattr(ops, _old))


def _alpha_of(input: Any, other: Any, alpha: Any) -> Any:
    """What `other` is multiplied by: of truth values a truth value."""
    kind = max(category(t.dtype if hasattr(t, "dtype") else number_dtype(t)) for t in (input, other))
    if isinstance(alpha, bool) and kind != 0:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if category(number_dtype(alpha)) == 2 and kind < 2:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and kind < 3:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if kind:
        element(alpha, ops.result_type(input, other))
    return bool(alpha) if kind == 0 and isinstance(alpha, int) else alpha


def _as_sum(input: Any, other: Any) -> Any:
    """What is multiplied by alpha, in the dtype of the sum."""
    return ops.cast(other, ops.result_type(input, other)) if hasattr(other, "dtype") else other


def _is_not_one(input, other, alpha):
    return type(alpha) is not int or alpha != 1


@ops.add.special(_is_not_one)
def _(input, other, alpha):
    alpha = _alpha_of(input, other, alpha)
    return ops.add(input, scaled(_as_sum(input, other), alpha))


@ops.sub.special(_is_not_one)
def _(input, other, alpha):
    _subtracted(input, other, alpha)
    alpha = _alpha_of(input, other, alpha)
    return ops.sub(input, scaled(_as_sum(input, other), alpha))


def scaled(other: Any, alpha: Any) -> Any:
    """other * alpha, either of them a tensor or a number."""
    numbers = not hasattr(other, "dtype") and not hasattr(alpha, "dtype")
    if isinstance(other, bool) and isinstance(alpha, bool):
        return other and alpha
    return other * alpha if numbers else ops.mul(other, alpha)


def _is_inverse(input: Any, other: Any) -> bool:
    """A number over a complex tensor: so many times its reciprocal."""
    return not hasattr(input, "dtype") and hasattr(other, "dtype") and other.dtype.is_complex


@ops.div.special(lambda input, other, rounding_mode: rounding_mode is not None or _is_inverse(input, other))
def _(input, other, rounding_mode):
    if rounding_mode is None:
        return ops.reciprocal(other) * input
    if rounding_mode == "floor":
        return ops.floor_divide(input, other)
    if rounding_mode != "trunc":
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    if _is_plain_quotient(input, other):
        return ops.trunc_(ops.div(input, other))
    if all(category(t.dtype if hasattr(t, "dtype") else number_dtype(t)) < 2 for t in (input, other)):
        return _truncated_quotient(input, other)
    tensors = [t for t in (input, other) if hasattr(t, "dtype")] if _native.is_grad_enabled() else []
    recorded = [t for t in tensors if t.requires_grad or _native.is_tracer(t)]
    made = _cut_quotient(*[t.detach() if any(t is r for r in recorded) else t for t in (input, other)])
    for t in recorded:  # (the derivatives of the quotient times 0 are no 0 where it is infinite)
        made = ops.flat_in(t, made)
    return made


def _is_plain_quotient(x: Any, y: Any) -> bool:
    """A quotient that may be cut where it lies: of a plain float tensor and another or a number, without history."""
    if type(x) is not _native.Tensor or (x.dtype is not dtypes.float32 and x.dtype is not dtypes.float64):
        return False
    if type(y) is not float and type(y) is not int and (type(y) is not _native.Tensor or y.dtype is not x.dtype):
        return False
    if _native.is_tracer(x) or _native.is_tracer(y):
        return False
    return not _native.is_grad_enabled() or not (x.requires_grad or (type(y) is _native.Tensor and y.requires_grad))


def _cut_quotient(x, y):
    """trunc(x / y); a quotient of halves is not rounded before it is cut."""
    dtype = ops.result_type(x, y)
    if dtype.itemsize != 2 or not dtype.is_floating_point:
        return ops.trunc(ops.div(x, y))
    wide = [t.to(dtypes.float32) if hasattr(t, "dtype") else t for t in (x, y)]
    return ops.trunc(ops.div(*wide)).to(dtype)


def _truncated_quotient(x, y):
    """Integer division towards zero: the exact multiple, divided."""
    if all(getattr(t, "dtype", dtypes.bool) is not dtypes.bool for t in (x, y)) and x.dtype is y.dtype:
        return ops.truncated_quotient(x, y)
    rest = ops.fmod(x, y)
    whole = ops.cast(x, rest.dtype) if getattr(x, "dtype", None) is dtypes.bool else x  # (of which nothing is subtracted)
    return ops.floor_divide(ops.sub(whole, rest), y)


@composite("invert(Tensor input) -> Tensor", tags=("hidden",))
def invert(input):
    """The operator ~: bits of integers, truth of bools."""
    if category(input.dtype) >= 2:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return ops.bitwise_not(input)


@composite("positive(Tensor input) -> Tensor")
def positive(input):
    """The tensor itself."""
    if input.dtype is dtypes.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


__all__ = ["binary", "finish_pointwise", "float_only", "pointwise_device", "pointwise_meta", "unary"]
