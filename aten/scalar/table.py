"""The scalar vocabulary: every function that a loop may apply to values, one row each.

A row gives the function's C++ text over vector types for floats (`f`), integers (`i`) and bools (`b`: lane masks, 0
or -1), the sections of vecmath.h that the text needs. `{0}`, `{1}`, … are the arguments, `{V}`
the result's vector type, `{T}` its element type, `{A}` the type of the arguments. A missing text means that the function is not
defined for that kind of dtype. `result` is "same" (the dtype of the last argument), "bool", or "own" (whoever makes the node says
it). `cost` counts about how many additions it takes. `run` is the text for where the last argument is an index that counts up
by one from lane to lane: `{k}` is its number in the first lane, `{s}` a vm_direct or, where the next vector is likely
to go on from this one, a vm_ahead of this call alone. `eager` says of which kinds of dtypes the op of that name has eager loops,
made from these texts (aten/scalar/eager.py): f floats, h half types, i integers, b bools.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Scalar:
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


def scalar(name, f=None, i=None, b=None, result="same", needs="", cost=1, run=None, eager="") -> None:
    """Declare one function."""
    table[name] = Scalar(name, f, i, b, result, needs, cost, run, eager)


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
scalar("reciprocal", "w_splat<{V}>(1) / {0}", cost=4, eager="fh")
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
for _name in ("floor", "ceil", "round", "trunc"):
    scalar(_name, f"vm_{_name}({{0}})", "{0}", needs="rounding", eager="fhi")
scalar("frac", "({0} - vm_trunc({0}))", needs="rounding", cost=2, eager="fh")
scalar("sqrt", "vm_sqrt({0})", needs="sqrt", cost=5, eager="fh")
scalar("rsqrt", "w_splat<{V}>(1) / vm_sqrt({0})", needs="sqrt", cost=9, eager="fh")

# ------------------------------------------------------------------------------------------------------- functions
for _name, _cost in {"exp": 10, "log": 14, "sin": 14, "cos": 14, "tanh": 18, "erf": 24, "sigmoid": 14}.items():
    scalar(_name, f"vm_{_name}({{0}})", needs=_name, cost=_cost, eager="fh")
for _name in (
    "exp2 expm1 log2 log10 log1p tan asin acos atan sinh cosh asinh acosh atanh erfc lgamma digamma erfinv".split()
):
    scalar(_name, f"vm_{_name}({{0}})", needs=_name, cost=25, eager="fh")
for _name, _kinds in {"atan2": "fh", "hypot": "fh", "nextafter": "f"}.items():
    scalar(_name, f"vm_{_name}({{0}}, {{1}})", needs=_name, cost=30, eager=_kinds)

# ------------------------------------------------------------------------------------------------------- casts
# The result's dtype is the node's own; `round_*` round a float32 to the nearest half and stay float32.
scalar("cast", "w_convert<{T}>({0})", "w_cast<{T}>({0})", "w_from_mask<{T}>({0})")
scalar("to_bool", "w_mask({0} != 0)", "w_mask({0} != 0)", "{0}", result="bool")
scalar("bitcast", "({V}){0}", "({V}){0}")
scalar("round_bfloat16", "w_round<w_bf16>({0})", cost=3)
scalar("round_float16", "w_round<w_f16>({0})", cost=8)

# ------------------------------------------------------------------------------------------------------- random numbers
# Of element `k` of a draw that begins at counter `first` under `seed`, all int64; the result is of the node's own dtype.
for _name, _rest, _cost in (("uniform", "", 45), ("normal", "", 250), ("random_below", ", {2}[0]", 45)):
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
