"""Triton text of the same kernels: one function a nest, over blocks of all kept dims at once.

The kept dims, taken as one, run along the first axis of a tile (XBLOCK), the reduced ones along the second (RBLOCK),
in a loop. A value known before the loop is [XBLOCK, 1], inside it [XBLOCK, RBLOCK]. What C++ keeps between stages is
computed again here. A failed check leaves 1 + its index in `failed`. The module that results has LAUNCHES: for each
kernel its functions, with the grid as a function of the symbols, and OPTIONS, how to compile them.
"""

from __future__ import annotations

from typing import Any

from aten.symbolic.expr import as_expr
from inductor.codegen.kernel import Plan, Scope, extent
from inductor.codegen.triton_prelude import PRELUDE
from inductor.codegen.triton_product import ProductWriter
from inductor.codegen.triton_values import DTYPES, ValueText, text_of
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.index import row_major
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Store
from inductor.ir.nodes import Node

XBLOCK, RBLOCK, POINTS = 8, 64, 256
# How kernels are compiled, so that they compute what the CPU's do: no product and sum in one rounding, subnormal numbers kept.
OPTIONS = {"enable_fp_fusion": False, "enable_reflect_ftz": False}
COMBINE = {"sum": "add_", "prod": "mul_", "max": "max_", "min": "min_", "any": "or_", "all": "and_"}


def render(kernels: list[Kernel], buffers: dict[str, Buffer], ranges: dict | None = None) -> str:
    """A Python module: the kernels and LAUNCHES."""
    parts, launches = [PRELUDE], []
    for k in kernels:
        parts.extend(f"# {line}" for line in k.lines)
        writers: list[Any]
        if isinstance(k.body, tuple):
            writers = [TritonWriter(k, nest, f"{k.name}_{j}", buffers, ranges or {}) for j, nest in enumerate(k.body)]
        else:
            writers = [ProductWriter(k, buffers, ranges or {})]
        parts += [w.function() for w in writers]
        names = ", ".join(s.value for s in k.symbols)
        entries = ", ".join(f"({w.name}, lambda {names}: {w.grid()}, {w.constants()!r})" for w in writers)
        launches.append(f"    {k.name!r}: [{entries}],")
    return "\n".join([*parts, f"OPTIONS = {OPTIONS}", "LAUNCHES = {", *launches, "}", ""])


def identity(kind: str, dtype: str) -> str:
    """The number that changes nothing, as Python text."""
    if kind in ("sum", "any"):
        return "0"
    if kind in ("prod", "all"):
        return "1"
    lowest = kind in ("max", "argmax")
    if dtype.startswith("float"):
        return f"float('{'-' if lowest else ''}inf')"
    if dtype == "bool":
        return str(int(not lowest))
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return str(low if lowest else high)


class TritonWriter(ValueText):
    """One nest as a Triton function."""

    def __init__(self, kernel: Kernel, nest: Nest, name: str, buffers: dict[str, Buffer], ranges: dict):
        axis = nest.dims[-1] if nest.dims else Dim("i0", as_expr(1))
        super().__init__(kernel, Plan(nest, "tile", axis, (), ()), buffers, ranges)
        self.nest, self.name = nest, name
        self.kept = {s.name: s.value for s in nest.statements if isinstance(s, Keep)}

    # ---- shapes

    def constants(self) -> dict[str, int]:
        return {"XBLOCK": XBLOCK if self.nest.reduced else POINTS, "RBLOCK": RBLOCK}

    def grid(self) -> str:
        return f"(cdiv({text_of(extent(self.nest.kept))}, {self.constants()['XBLOCK']}),)"

    def inside(self, scope: Scope) -> bool:
        """Whether a scope is in the loop over the reduced dims."""
        return len(self.scopes) > 1 and scope is not self.scopes[0]

    def zeros(self, scope: Scope) -> str:
        return "(x * 0 + r * 0)" if self.inner and self.inside(scope) else "(x * 0)"

    def shape(self, scope: Scope) -> str:
        return "[XBLOCK, RBLOCK]" if self.inner and self.inside(scope) else "[XBLOCK, 1]"

    def lanes_in(self, scope: Scope) -> str:
        base = "xmask & rmask" if self.inner and self.inside(scope) else "xmask"
        return " & ".join([base, *self.masks])

    # ---- the function

    def function(self) -> str:
        symbols = [s.value for s in self.kernel.symbols]
        args = [f"b{k}" for k in range(len(self.kernel.args))]
        head = f"def {self.name}({', '.join([*args, 'failed', *symbols])}, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):"
        self.inner = False
        body = self.scopes[0]
        body.lines.append("x = (tl.program_id(0).to(tl.int64) * XBLOCK + tl.arange(0, XBLOCK))[:, None]")
        body.lines.append(f"xmask = x < {text_of(extent(self.nest.kept))}")
        body.lines += decode("x", self.nest.kept)
        for stage in self.nest.stages:
            self.stage(stage)
        return "\n".join(["", "@triton.jit", head, *("    " + line for line in body.lines), ""])

    def stage(self, stage: Stage) -> None:
        self.inner = stage.inner
        if not stage.inner:
            self.statements(stage)
            return
        outer = self.scopes[-1].lines
        reductions = [s for s in stage.body if isinstance(s, Reduce)]
        for s in reductions:
            outer.extend(self.accumulators(s))
        for s in stage.body:
            if isinstance(s, Running):
                outer.append(f"{s.name}_carry = tl.full([XBLOCK, 1], {identity(s.kind, s.dtype)}, {DTYPES[s.dtype]})")
        total = text_of(extent(self.nest.reduced))
        scope = self.open({d.name for d in self.nest.reduced})
        scope.lines.append("r = (start + tl.arange(0, RBLOCK)).to(tl.int64)[None, :]")
        scope.lines.append(f"rmask = r < {total}")
        scope.lines += decode("r", self.nest.reduced)
        self.statements(stage)
        lines = self.close().lines
        self.inner = False
        outer = self.scopes[-1].lines
        outer.append(f"for start in range(0, {total}, RBLOCK):")
        outer.extend("    " + line for line in lines)
        for s in reductions:
            outer.append(self.combined(s))

    def accumulators(self, s: Reduce) -> list[str]:
        dtype = "tl.int32" if s.dtype == "bool" else DTYPES[s.dtype]
        lines = [f"{s.name}_a = tl.full([XBLOCK, RBLOCK], {identity(s.kind, s.dtype)}, {dtype})"]
        if s.kind.startswith("arg"):
            lines.append(f"{s.name}_i = tl.full([XBLOCK, RBLOCK], {2**63 - 1}, tl.int64)")
        return lines

    def combined(self, s: Reduce) -> str:
        if s.kind.startswith("arg"):
            return f"{s.name} = tl.reduce(({s.name}_a, {s.name}_i), 1, {s.kind}_)[1][:, None]"
        text = f"tl.reduce({s.name}_a, 1, {COMBINE[s.kind]})[:, None]"
        return f"{s.name} = {text} != 0" if s.dtype == "bool" else f"{s.name} = {text}"

    # ---- statements

    def statements(self, stage: Stage) -> None:
        scope = self.scopes[-1]
        for s in stage.body:
            if not isinstance(s, Store | Keep):
                getattr(self, "do_" + type(s).__name__.lower())(s, scope)
        stores = [s for s in stage.body if isinstance(s, Store)]
        values = [self.emit(s.value) for s in stores]
        for s, value in zip(stores, values):
            value = f"{value}.to(tl.int8)" if s.dtype == "bool" else value
            scope.lines.append(self.store_line(s, value, scope))

    def do_reduce(self, s: Reduce, scope: Scope) -> None:
        value = self.emit(s.value)
        if s.kind.startswith("arg"):
            at = as_expr(0)
            for d, step in zip(self.nest.reduced, row_major([d.size for d in self.nest.reduced])):
                at = at + d.var * step
            place = f"({text_of(at)} + x * 0)"
            pair = f"{s.kind}_({s.name}_a, {s.name}_i, {value} + x.to({DTYPES[s.dtype]}) * 0, {place})"
            v, i = self.fresh("x"), self.fresh("x")
            scope.lines += [f"{v}, {i} = {pair}", f"{s.name}_a = tl.where(xmask & rmask, {v}, {s.name}_a)",
                            f"{s.name}_i = tl.where(xmask & rmask, {i}, {s.name}_i)"]  # fmt: skip
            return
        if s.dtype == "bool":
            value = f"{value}.to(tl.int32)"
        joint = f"{COMBINE[s.kind]}({s.name}_a, {value})"
        scope.lines.append(f"{s.name}_a = tl.where(xmask & rmask, {joint}, {s.name}_a)")

    def do_running(self, s: Running, scope: Scope) -> None:
        value, start = self.emit(s.value), identity(s.kind, s.dtype)
        full = self.define(scope, f"tl.where(xmask & rmask, {value}, {start})")
        combine = COMBINE[s.kind]
        name = self.define(scope, f"{combine}({s.name}_carry, tl.associative_scan({full}, 1, {combine}))")
        scope.lines.append(f"{s.name}_carry = {combine}({s.name}_carry, tl.reduce({full}, 1, {combine})[:, None])")
        self.named[s.name] = name
        self.rows[s.name] = 1

    def do_accumulate(self, s: Accumulate, scope: Scope) -> None:
        """Atomic: the order in which equal places add up is not fixed on a GPU."""
        value = self.emit(s.value)
        at = f"{self.argument(s.buffer)} + (({self.index(s.index, s.where)}) + {self.zeros(scope)})"
        value = f"{value} + ({self.zeros(scope)}).to({DTYPES[s.dtype]})"
        scope.lines.append(f"tl.atomic_add({at}, {value}, mask={self.lanes_in(scope)})")

    def own_level(self, n: Node) -> int:
        if n.kind == "kept":
            return self.level(self.kept[n.name])
        return self.rows.get(n.name, 0)


def decode(name: str, dims: tuple[Dim, ...]) -> list[str]:
    """Lines that declare the indices of dims from their joint row-major index."""
    lines = []
    for k, (d, step) in enumerate(zip(dims, row_major([d.size for d in dims]))):
        text = name if step.is_const and step.value == 1 else f"{name} // {text_of(step)}"
        lines.append(f"{d.name} = {text}" if k == 0 else f"{d.name} = ({text}) % {text_of(d.size)}")
    return lines
