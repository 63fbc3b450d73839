"""The scalar vocabulary: every function that a loop may apply to values, one row each.

A row gives the function's C++ text over vector types for floats (`f`), integers (`i`) and bools (`b`: lane masks, 0
or -1), the sections of vecmath.h that the text needs. `{0}`, `{1}`, … are the arguments, `{V}`
the result's vector type, `{T}` its element type, `{A}` the type of the arguments. A missing text means that the function is not
defined for that kind of dtype. `result` is "same" (the dtype of the last argument), "bool", or "own" (whoever makes the node says
it). `cost` counts about how many additions it takes. `run` is the text for where the last argument is an index that counts up
by one from lane to lane: `{k}` is its number in the first lane, `{s}` a vm_direct or, where the next vector is likely
to go on from this one, a vm_ahead of this call alone. `eager` says of which kinds of dtypes the op of that name has eager loops,
made from these texts (aten/scalar/eager.py): f floats, h half types, i integers, b bools.

A row with a `numpy` is a whole op (aten/ops/pointwise.py declares it): `numpy(x, out=)` says what it means, `derivative` is a
function (t, …) of tensors that gives t times the derivative, and names what else it reads: x, the argument, and out, the result (0
where it is 0 everywhere). `domain` is an interval in which samples are taken. `ulp` is how far float32 results are from
the true value at most, in units in the last place (tests/aten/native/test_vecmath.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import numerics
from .numerics import via
from .unpatched import math

FLOATS = ("float32", "float64")


class Scalar(NamedTuple):
    """One row; see the module."""

    name: str
    f: str | None
    i: str | None
    b: str | None
    result: str
    needs: str
    cost: int
    run: str | None
    eager: str
    numpy: Callable[..., Any] | None
    derivative: Any
    domain: tuple[float, float]
    ulp: float | None

    def cpp(self, dtype: str) -> str:
        """The C++ text for arguments of `dtype`. Raises KeyError where the function is not defined for it."""
        text = self.f if dtype in FLOATS else self.b if dtype == "bool" else self.i
        if text is None:
            raise KeyError(f"{self.name} is not defined for {dtype}")
        return text

    @property
    def arity(self) -> int:
        """How many arguments it has."""
        return 1 + max(int(k) for k in re.findall(r"\{(\d)\}", self.f or self.i or self.b or ""))


table: dict[str, Scalar] = {}


ANYWHERE = (-1.9, 1.9)


def scalar(
    name, f=None, i=None, b=None, result="same", needs="", cost=1, run=None, eager="", numpy=None, derivative=None, domain=ANYWHERE,
    ulp=None,
) -> None:  # fmt: skip
    """Declare one function."""
    table[name] = Scalar(name, f, i, b, result, needs, cost, run, eager, numpy, derivative, domain, ulp)


def function(name, numpy, derivative, cost=25, ulp: float | None = 4.0, **more) -> None:
    """Declare a function of one float, whose text is vecmath.h's of that name (4 ulp are what libmvec promises)."""
    scalar(name, f"vm_{name}({{0}})", needs=name, cost=cost, eager="fh", numpy=numpy, derivative=derivative, ulp=ulp, **more)


def defined(name: str, dtype: str) -> bool:
    """Whether the vocabulary has `name` for computed dtype `dtype`."""
    row = table.get(name)
    return row is not None and (row.f if dtype in FLOATS else row.b if dtype == "bool" else row.i) is not None


# ------------------------------------------------------------------------------------------------------- arithmetic
scalar("add", "{0} + {1}", "{0} + {1}", "{0} | {1}", eager="fhib")
scalar("sub", "{0} - {1}", "{0} - {1}", eager="fhi")
scalar("mul", "{0} * {1}", "{0} * {1}", "{0} & {1}", eager="fhib")
scalar("div", "{0} / {1}", cost=4, eager="fh")
scalar("neg", "-{0}", "-{0}", eager="fhi")
scalar("abs", "vm_abs({0})", "w_abs({0})", "{0}", eager="fhi")
scalar("sign", "w_sign({0})", "w_sign({0})", "{0}", cost=2, eager="fhi")
scalar(
    "reciprocal", "w_splat<{V}>(1) / {0}", cost=4, eager="fh", numpy=via(lambda x: 1 / x),
    derivative=lambda t, out: -t * (out * out),
)
scalar("square", "{0} * {0}", "{0} * {0}", "{0}")
scalar("fma", "vm_fma({0}, {1}, {2})")
scalar("floor_divide", "w_floordiv({0}, {1})", "w_floordiv({0}, {1})", needs="rounding fmod", cost=20, eager="fh")
scalar("trunc_divide", "vm_trunc({0} / {1})", "w_truncdiv({0}, {1})", needs="rounding", cost=20)
scalar("remainder", "w_remainder({0}, {1})", "w_remainder({0}, {1})", needs="fmod", cost=20, eager="fh")
scalar("fmod", "vm_fmod({0}, {1})", "w_fmod({0}, {1})", needs="fmod", cost=20, eager="fh")
scalar("pow", "vm_pow({0}, {1})", "w_ipow({0}, {1})", needs="pow", cost=30, eager="fh")

# ------------------------------------------------------------------------------------------------------- order
scalar("maximum", "vm_max({0}, {1})", "w_imax({0}, {1})", "{0} | {1}", needs="minmax", cost=2, eager="fhib")
scalar("minimum", "vm_min({0}, {1})", "w_imin({0}, {1})", "{0} & {1}", needs="minmax", cost=2, eager="fhib")
scalar("fmax", "w_fmax({0}, {1})", "w_imax({0}, {1})", "{0} | {1}", cost=2, eager="fhib")
scalar("fmin", "w_fmin({0}, {1})", "w_imin({0}, {1})", "{0} & {1}", cost=2, eager="fhib")
for _name, _sign, _bool in [
    ("eq", "==", "~({0} ^ {1})"),
    ("ne", "!=", "{0} ^ {1}"),
    ("lt", "<", "~{0} & {1}"),
    ("le", "<=", "~{0} | {1}"),
    ("gt", ">", "{0} & ~{1}"),
    ("ge", ">=", "{0} | ~{1}"),
]:
    _text = f"w_mask({{0}} {_sign} {{1}})"
    scalar(_name, _text, _text, _bool, result="bool", eager="fhib")
scalar("where", "w_select({0}, {1}, {2})", "w_select({0}, {1}, {2})", "({0} & {1}) | (~{0} & {2})")

# ------------------------------------------------------------------------------------------------------- logic, bits
scalar("logical_not", "w_mask({0} == 0)", "w_mask({0} == 0)", "~{0}", result="bool", eager="fhib")
scalar("logical_and", b="{0} & {1}", result="bool", eager="fhib")
scalar("logical_or", b="{0} | {1}", result="bool", eager="fhib")
scalar("logical_xor", b="{0} ^ {1}", result="bool", eager="fhib")
scalar("bitwise_not", i="~{0}", b="~{0}", eager="ib")
scalar("bitwise_and", i="{0} & {1}", b="{0} & {1}", eager="ib")
scalar("bitwise_or", i="{0} | {1}", b="{0} | {1}", eager="ib")
scalar("bitwise_xor", i="{0} ^ {1}", b="{0} ^ {1}", eager="ib")
scalar("bitwise_left_shift", i="w_shl({0}, {1})", cost=3, eager="i")
scalar("bitwise_right_shift", i="w_shr({0}, {1})", cost=3, eager="i")
_never, _ever = ("w_mask({0} != {0})", "{0} ^ {0}"), ("w_mask({0} == {0})", "~({0} ^ {0})")
scalar("isnan", "w_mask({0} != {0})", *_never, result="bool", eager="fhib")
scalar("isinf", "w_mask(vm_abs({0}) == w_splat<{A}>(__builtin_inf()))", *_never, result="bool", cost=2, eager="fhib")
scalar("isfinite", "w_mask(vm_abs({0}) < w_splat<{A}>(__builtin_inf()))", *_ever, result="bool", cost=2, eager="fhib")
scalar("signbit", "w_mask((vm_mask<{A}>){0} < 0)", "w_mask({0} < 0)", "{0} ^ {0}", result="bool", eager="fhib")
scalar("copysign", "vm_copysign({0}, {1})", cost=2, eager="fh")

# ------------------------------------------------------------------------------------------------------- rounding
for _name, _ufunc in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    _meaning = numerics.integers_stay(_ufunc)
    scalar(_name, f"vm_{_name}({{0}})", "{0}", needs="rounding", eager="fhi", numpy=_meaning, derivative=0, ulp=0)
scalar("round", "vm_round({0})", "{0}", needs="rounding", eager="fhi")
scalar("frac", "({0} - vm_trunc({0}))", needs="rounding", cost=2, eager="fh")
_ROOT = {"needs": "sqrt", "eager": "fh", "domain": (0.2, 3)}
scalar("sqrt", "vm_sqrt({0})", cost=5, numpy=np.sqrt, derivative=lambda t, out: t / (2 * out), ulp=0.5, **_ROOT)
scalar(
    "rsqrt", "w_splat<{V}>(1) / vm_sqrt({0})", cost=9, numpy=via(lambda x: 1 / np.sqrt(x)),
    derivative=lambda t, out: -0.5 * t * (out * out * out), **_ROOT,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------- functions
LN2, LN10 = math.log(2), math.log(10)
TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)


def _acosh_slope(x):
    """One root less where x cannot be negative or complex: there a product of roots is the root of the product."""
    return (x + 1).rsqrt() * (x - 1).rsqrt() if x.dtype.is_complex else (x * x - 1).rsqrt()


POSITIVE, INSIDE = {"domain": (0.2, 3)}, {"domain": (-0.8, 0.8)}
function("exp", np.exp, lambda t, out: t * out, 10, ulp=1.0)
function("exp2", np.exp2, lambda t, out: t * out * LN2)
function("expm1", np.expm1, lambda t, out: t * (out + 1))
function("log", np.log, lambda t, x: t / x, 14, ulp=1.0, **POSITIVE)
function("log2", np.log2, lambda t, x: t / (x * LN2), **POSITIVE)
function("log10", np.log10, lambda t, x: t / (x * LN10), **POSITIVE)
function("log1p", np.log1p, lambda t, x: t / (x + 1), domain=(-0.8, 3))
function("sin", np.sin, lambda t, x: t * x.cos(), 14, ulp=1.6)
function("cos", np.cos, lambda t, x: -t * x.sin(), 14, ulp=1.6)
function("tan", np.tan, lambda t, out: t * (1 + out * out), domain=(-1.2, 1.2))
function("asin", np.arcsin, lambda t, x: t * (1 - x * x).rsqrt(), **INSIDE)
function("acos", np.arccos, lambda t, x: -t * (1 - x * x).rsqrt(), **INSIDE)
function("atan", np.arctan, lambda t, x: t / (x * x + 1))
function("sinh", np.sinh, lambda t, x: t * x.cosh())
function("cosh", np.cosh, lambda t, x: t * x.sinh())
function("tanh", np.tanh, lambda t, out: t * (1 - out * out), 18, ulp=1.4)
function("asinh", np.arcsinh, lambda t, x: t * (x * x + 1).rsqrt())
function("acosh", np.arccosh, lambda t, x: t * _acosh_slope(x), domain=(1.2, 3))
function("atanh", np.arctanh, lambda t, x: t / (1 - x * x), **INSIDE)
function("erf", via(numerics.erf), lambda t, x: t * (TWO_BY_ROOT_PI * (-x * x).exp()), 24, ulp=1.3)
function("erfc", via(numerics.erfc), lambda t, x: t * (-TWO_BY_ROOT_PI * (-x * x).exp()))
function("erfinv", via(numerics.erfinv), lambda t, out: t * ((out * out).exp() * (1 / TWO_BY_ROOT_PI)), **INSIDE)
function("lgamma", via(numerics.lgamma), lambda t, x: t * x.digamma(), domain=(0.3, 4))
function("digamma", via(numerics.digamma), lambda t, x: t * x.polygamma(1), domain=(0.3, 4), ulp=None)
for _name, _section in {"i0": "bessel", "special_i1": "bessel", "trigamma": "trigamma"}.items():  # that is polygamma of order 1
    scalar(_name, f"vm_{_name}({{0}})", needs=_section, cost=40, eager="fh")
function("sigmoid", via(numerics.sigmoid), lambda t, out: t * ((1 - out) * out), 14, ulp=3.1)
for _name, _kinds in {"atan2": "fh", "hypot": "fh", "nextafter": "f"}.items():
    scalar(_name, f"vm_{_name}({{0}}, {{1}})", needs=_name, cost=30, eager=_kinds)

# ------------------------------------------------------------------------------------------------------- casts
# The result's dtype is the node's own; `round_*` round a float32 to the nearest half and stay float32.
scalar("cast", "w_cut<{T}>({0})", "w_cut<{T}>({0})", "w_from_mask<{T}>({0})")
scalar("to_bool", "w_mask({0} != 0)", "w_mask({0} != 0)", "{0}", result="bool")
scalar("bitcast", "({V}){0}", "({V}){0}")
scalar("round_bfloat16", "w_round<w_bf16>({0})", cost=3)
scalar("round_float16", "w_round<w_f16>({0})", cost=8)

# ------------------------------------------------------------------------------------------------------- random numbers
# Of element `k` of a draw that begins at counter `first` under `seed`, all int64; the result is of the node's own dtype.
for _name, _rest, _cost in (("uniform", "", 45), ("normal", "", 90), ("random_below", ", {2}[0]", 45)):
    _last = 2 if not _rest else 3
    scalar(
        _name,
        i=f"vm_{_name}<{{V}}>({{0}}[0], {{1}}[0]{_rest}, {{{_last}}})",
        result="own",
        needs=_name,
        cost=_cost,
        run=f"vm_{_name}_run<{{V}}>({{s}}, {{0}}[0], {{1}}[0]{_rest}, {{k}})",
    )

__all__ = ["FLOATS", "Scalar", "defined", "table"]
