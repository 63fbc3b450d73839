"""Texts of C++ vector code: types, literals, identities, and what a translation unit needs beside its kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import aten
from aten.records import record
from aten.scalar.unpatched import math
from aten.symbolic.expr import CPP_PRELUDE, Expr
from inductor.codegen import toolchain

# The scalar type of a computed dtype, and the type of an element in memory.
COMPUTED = {
    "bool": "int", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "uint16": "unsigned short",
    "int32": "int", "uint32": "unsigned", "int64": "long", "uint64": "unsigned long", "float32": "float",
    "float64": "double",
}  # fmt: skip
MEMORY = {**COMPUTED, "bool": "w_b8", "float16": "w_f16", "bfloat16": "w_bf16"}
WIDTH = {"bool": 4, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
         "float32": 4, "float64": 8}  # fmt: skip
VIRTUAL_LANES = 64  # of every reduction, whatever the width of a register
MAX_LANES = 16


@record(frozen=True)
class Isa:
    """The bytes of a vector register: 64 (AVX-512) or 32 (AVX2)."""

    bytes: int = 64

    def lanes(self, dtypes: Iterable[str]) -> int:
        """How many lanes a loop over values of these computed dtypes has: the widest value fills a register."""
        return min(MAX_LANES, self.bytes // max((WIDTH[d] for d in dtypes), default=4))


@cache
def native_isa() -> Isa:
    """This machine's."""
    return Isa(64 if toolchain.isa()[0] == "avx512" else 32)


def vector(dtype: str) -> str:
    """The register type of L lanes."""
    return f"w_vec<{COMPUTED[dtype]}, L>"


def literal(value: float | int | bool, dtype: str) -> str:
    """The number as C++ text of the computed dtype (for a bool, the lane mask)."""
    if dtype == "bool":
        return "-1" if value else "0"
    if dtype in ("float32", "float64"):
        suffix = "f" if dtype == "float32" else ""
        if math.isnan(value):
            return f'__builtin_nan{suffix}("")'
        if math.isinf(value):
            return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
        return f"{float(value)!r}{suffix}" if dtype == "float64" else _float32(value)
    if dtype == "int64":
        return f"({value + 1}l - 1)" if value == -(2**63) else f"{value}l"
    if dtype == "uint64":
        return f"{value}ul"
    return f"({COMPUTED[dtype]}){value}"


def _float32(value: float) -> str:
    """A double literal cast to float: rounded once, out of range to infinity."""
    return f"(float){float(value)!r}"


_LIMITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


def identity(kind: str, dtype: str) -> str:
    """The literal that changes nothing when combined."""
    floating = dtype in ("float32", "float64")
    if kind in ("sum", "any"):
        return literal(0, dtype)
    if kind in ("prod", "all"):
        return literal(1, dtype)
    lowest = kind in ("max", "argmax")
    if floating:
        return literal(-math.inf if lowest else math.inf, dtype)
    if dtype == "bool":
        return literal(not lowest, dtype)
    unsigned, bits = dtype.startswith("u"), _LIMITS[dtype]
    low, high = (0, 2**bits - 1) if unsigned else (-(2**bits), 2**bits - 1)
    return literal(low if lowest else high, dtype)


COMBINE = {"sum": "w_sum", "prod": "w_prod", "max": "w_max", "min": "w_min", "any": "w_any", "all": "w_every"}


def combiner(kind: str, dtype: str) -> str:
    """The struct of vector.h that combines two values."""
    if dtype == "bool":
        return {"max": "w_any", "min": "w_every", "sum": "w_any", "prod": "w_every"}.get(kind) or COMBINE[kind]
    return COMBINE[kind]


@cache
def _sections() -> dict[str, tuple[tuple[str, ...], str]]:
    native = Path(aten.__file__).parent / "native"
    text = "".join((native / name).read_text() for name in ("vecmath.h", "vecspecial.h", "vecrandom.h"))
    out = {}
    for part in re.split(r"^//@ ", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        name, _, needs = head.partition(":")
        out[name.strip()] = (tuple(needs.split()), body)
    return out


@cache
def _own_text() -> str:
    native = Path(aten.__file__).parent / "native"
    own = Path(__file__).parent
    parts = (native / "lanes.h", native / "scalar_functions.h", own / "vector.h", own / "transpose.h")
    return "".join(part.read_text() for part in parts)


def strip_comments(text: str) -> str:
    """Without comments and blank lines: what the compiler need not read."""
    text = re.sub(r"[ \t]*//[^\n]*", "", text)
    return re.sub(r"\n\s*\n+", "\n", text)


# The builtins that are asked for by these names are those of GCC: with clang loops are vectors and shuffles alone.
GCC_ONLY = ("AVX512BW", "AVX512DQ", "AVX512F", "AVX512VL", "AVX2", "AVX", "F16C", "SSE2", "SSE")


@cache
def prelude(needs: frozenset[str]) -> str:
    """What stands before kernels that use the sections `needs` of vecmath.h. Includes nothing."""
    sections, done = _sections(), {}

    def add(name: str):
        if name not in done:
            required, body = sections[name]
            for r in required:
                add(r)
            done[name] = body

    for name in ("base", *sorted(needs)):
        add(name)
    without = "".join(f"#undef __{name}__\n" for name in GCC_ONLY)
    return f"#ifdef __clang__\n{without}#endif\n" + strip_comments("".join(done.values()) + _own_text() + CPP_PRELUDE)


def symbol_lines(symbols: Iterable[Expr], source: str) -> list[str]:
    """Declarations of a kernel's symbols."""
    lines = []
    for k, s in enumerate(symbols):
        if s.kind == "float":
            lines.append(f"double {s.value}; __builtin_memcpy(&{s.value}, {source} + {k}, 8); (void){s.value};")
        else:
            lines.append(f"const long {s.value} = {source}[{k}]; (void){s.value};")
    return lines
