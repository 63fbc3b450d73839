"""The scalar vocabulary in Triton: one text a function of `ir.scalar`, for float32, float64, integers and bools alike.

`{0}`, `{1}`, … are the arguments, `{T}` the result's dtype, `{T1}` a one of it. What Triton's language lacks is libdevice's, whose
functions CUDA documents to a few units in the last place, or the prelude's own; a quotient and a root are rounded to nearest.
"""

_LIBDEVICE = (
    "acos acosh asin asinh atan atanh cosh erfc erfinv expm1 lgamma log10 log1p sinh tan tanh",
    "atan2 copysign hypot nextafter",
)
_LANGUAGE = "exp log sin cos erf sigmoid exp2 log2"
_PRELUDE = (
    "digamma trigamma floor ceil round trunc sqrt signbit",
    "div floor_divide trunc_divide remainder fmod pow maximum minimum bitwise_left_shift bitwise_right_shift",
)
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "logical_and": "&", "logical_or": "|", "logical_xor": "^", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip

TEXTS: dict[str, str] = {
    **{name: f"({{0}} {sign} {{1}})" for name, sign in _INFIX.items()},
    **{name: f"tl.{name}({{0}})" for name in _LANGUAGE.split()},
    **{name: f"libdevice.{name}({{0}})" for name in _LIBDEVICE[0].split()},
    **{name: f"libdevice.{name}({{0}}, {{1}})" for name in _LIBDEVICE[1].split()},
    **{name: f"{name}_({{0}})" for name in _PRELUDE[0].split()},
    **{name: f"{name}_({{0}}, {{1}})" for name in _PRELUDE[1].split()},
    "i0": "libdevice.cyl_bessel_i0({0})",
    "special_i1": "libdevice.cyl_bessel_i1({0})",
    "neg": "(-{0})",
    "abs": "tl.abs({0})",
    "sign": "(({0} > 0).to({T}) - ({0} < 0).to({T}))",
    "reciprocal": "div_({T1}, {0})",
    "square": "({0} * {0})",
    "fma": "tl.fma({0}, {1}, {2})",
    "fmax": "tl.maximum({0}, {1})",
    "fmin": "tl.minimum({0}, {1})",
    "where": "tl.where({0}, {1}, {2})",
    "logical_not": "({0} == 0)",
    "bitwise_not": "(~{0})",
    "isnan": "({0} != {0})",
    "isinf": "(tl.abs({0}) == float('inf'))",
    "isfinite": "(tl.abs({0}) < float('inf'))",
    "frac": "({0} - trunc_({0}))",
    "rsqrt": "div_({T1}, sqrt_({0}))",
    "cast": "{0}.to({T})",
    "to_bool": "({0} != 0)",
    "bitcast": "{0}.to({T}, bitcast=True)",
    "round_bfloat16": "{0}.to(tl.bfloat16).to(tl.float32)",
    "round_float16": "{0}.to(tl.float16).to(tl.float32)",
    "uniform": "uniform_({0}, {1}, {2}, {T})",
    "normal": "normal_({0}, {1}, {2}, {T})",
    "random_below": "random_below_({0}, {1}, {2}, {3}, {T})",
}

OF_BOOLS = {"add": "({0} | {1})", "mul": "({0} & {1})"}  # whose own sum is of one bit
