"""A Triton function as data: its text, what a launch passes to it, and over how many programs it runs.

The text stands alone behind the prelude, so equal functions of different graphs are one, compiled once.
"""

from __future__ import annotations

import hashlib
from typing import Any

from aten.records import record
from aten.symbolic.expr import Expr
from inductor.codegen.triton_prelude import PRELUDE

POINTERS = {"bool": "*i8", "complex64": "*fp32", "complex128": "*fp64",
            "float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32", "float64": "*fp64",
            **{f"{u}int{b}": f"*{u[:1]}{'' if u else 'i'}{b}" for u in ("", "u") for b in (8, 16, 32, 64)}}  # fmt: skip


@record(frozen=True)
class Parameter:
    """`kind` is Triton's name of its type; `source` the name of a buffer, an Expr, or None for the word that takes a
    failed check. `divides`: a multiple of it changes how memory is accessed."""

    name: str
    kind: str
    source: str | Expr | None
    divides: bool = False


@record(frozen=True)
class Function:
    """One `@triton.jit` function and how it is launched: over `grid` programs of `warps` warps."""

    name: str
    text: str
    parameters: tuple[Parameter, ...]
    constants: tuple[tuple[str, int], ...]
    grid: Expr
    warps: int
    stages: int = 3

    @property
    def source(self) -> str:
        """A module of its own."""
        return PRELUDE + self.text

    def options(self) -> dict[str, Any]:
        """How it is compiled. No product and sum in one rounding, subnormal numbers kept: what the CPU's kernels compute."""
        return {"num_warps": self.warps, "num_stages": self.stages, "enable_fp_fusion": False, "enable_reflect_ftz": False}


def named(mode: str, text: str) -> tuple[str, str]:
    """(name, text) of a function whose text has NAME where its name goes: `mode` and a digest of what it does."""
    name = f"{mode}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return name, text.replace("NAME", name, 1)
