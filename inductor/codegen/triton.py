"""Triton text of the same kernels: one function a nest, over blocks of all kept dims at once.

The kept dims, taken as one, run along the first axis of a tile (XBLOCK), the reduced ones along the second (RBLOCK),
in a loop. A value known before the loop is [XBLOCK, 1], inside it [XBLOCK, RBLOCK]. What C++ keeps between stages is
computed again here. A failed check leaves 1 + its index in `failed`. The module that results has LAUNCHES: for each
kernel its functions, with the grid as a function of the symbols.
"""

from __future__ import annotations

import math
from typing import Any

from aten.symbolic.expr import Expr, as_expr
from inductor.codegen.kernel import Plan, Scope, Walk, extent
from inductor.codegen.triton_prelude import PRELUDE
from inductor.ir import scalar
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.index import row_major
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Store
from inductor.ir.nodes import HALF, Node

XBLOCK, RBLOCK, POINTS = 8, 64, 256
DTYPES = {"bool": "tl.int1", **{f"{u}int{b}": f"tl.{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)},
          "float32": "tl.float32", "float64": "tl.float64", "float16": "tl.float16", "bfloat16": "tl.bfloat16"}  # fmt: skip
COMBINE = {"sum": "add_", "prod": "mul_", "max": "max_", "min": "min_", "any": "or_", "all": "and_"}


def render(kernels: list[Kernel], buffers: dict[str, Buffer], ranges: dict | None = None) -> str:
    """A Python module: the kernels and LAUNCHES. Raises KeyError for a scalar function that has no Triton text."""
    parts, launches = [PRELUDE], []
    for k in kernels:
        parts.extend(f"# {line}" for line in k.lines)
        writers: list[Any]
        if isinstance(k.body, tuple):
            writers = [TritonWriter(k, nest, f"{k.name}_{j}", buffers, ranges or {}) for j, nest in enumerate(k.body)]
        else:
            from inductor.codegen.triton_product import ProductWriter

            writers = [ProductWriter(k, buffers, ranges or {})]
        parts += [w.function() for w in writers]
        names = ", ".join(s.value for s in k.symbols)
        entries = ", ".join(f"({w.name}, lambda {names}: {w.grid()}, {w.constants()!r})" for w in writers)
        launches.append(f"    {k.name!r}: [{entries}],")
    return "\n".join([*parts, "LAUNCHES = {", *launches, "}", ""])


def text_of(e: Expr | int, names: dict[str, str] | None = None) -> str:
    """An index as Triton text: divisions are of numbers that are not negative."""
    e = as_expr(e)
    if e.is_const:
        return repr(e.value)
    if e.op == "sym":
        return (names or {}).get(e.value, e.value)
    args = [text_of(a, names) for a in e.args]
    if e.op in _INFIX:
        return "(" + f" {_INFIX[e.op]} ".join(args) + ")"
    if e.op in ("min", "max"):
        out = args[0]
        for a in args[1:]:
            out = f"tl.{e.op}imum({out}, {a})"
        return out
    if e.op == "where":
        return f"tl.where({', '.join(args)})"
    if e.op == "not":
        return f"({args[0]} == 0)"
    raise NotImplementedError(f"index {e} in Triton")


_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "eq": "==", "le": "<=", "lt": "<",
          "and": "&", "or": "|"}  # fmt: skip


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


class ValueText(Walk):
    """Writes nodes as Triton statements. `mask`: the lanes that exist, as text."""

    def __init__(self, kernel: Kernel, plan: Plan, buffers: dict[str, Buffer], ranges: dict):
        super().__init__(plan, ranges)
        self.kernel, self.buffers = kernel, buffers
        self.kept: dict[str, Node] = {}
        self.named: dict[str, str] = {}
        self.masks: list[str] = []

    def argument(self, name: str) -> str:
        return f"b{self.kernel.args.index(name)}"

    def mask(self) -> str:
        raise NotImplementedError

    def lanes(self) -> str:
        return " & ".join([self.mask(), *self.masks])

    def define(self, scope: Scope, text: str) -> str:
        name = self.fresh()
        scope.lines.append(f"{name} = {text}")
        return name

    def index(self, e: Expr, where: tuple[Node, ...] = ()) -> str:
        return text_of(self.simplified(e), {w.symbol.value: self.emit(w) for w in where})

    def write_const(self, n: Node, scope: Scope) -> str:
        value = n.value
        if isinstance(value, float) and not math.isfinite(value):
            value = f"float('{value}')"
        return f"tl.full([1, 1], {value}, {DTYPES[n.dtype]})"

    def write_index(self, n: Node, scope: Scope) -> str:
        text = self.index(n.index, n.args)
        return self.define(scope, f"(({text}) + tl.full([1, 1], 0, tl.int64)).to({DTYPES[n.dtype]})"
                           if n.dtype != "bool" else f"(({text}) & tl.full([1, 1], 1, tl.int1)) != 0")  # fmt: skip

    def write_load(self, n: Node, scope: Scope) -> str:
        at = f"{self.argument(n.buffer)} + (({self.index(n.index, n.args)}) + {self.zeros(scope)})"
        stored = self.buffers[n.buffer].dtype
        text = f"tl.load({at}, mask={self.lanes_in(scope)}, other=0)"
        if stored == "bool":
            text += " != 0"
        elif stored in HALF:
            text += ".to(tl.float32)"
        return self.define(scope, text)

    def zeros(self, scope: Scope) -> str:
        """Text that is 0 with the shape of the scope's values."""
        raise NotImplementedError

    def lanes_in(self, scope: Scope) -> str:
        raise NotImplementedError

    def write_row(self, n: Node, scope: Scope) -> str:
        return self.named.get(n.name, n.name)

    def write_kept(self, n: Node, scope: Scope) -> str:
        return self.emit(self.kept[n.name])

    def write_call(self, n: Node, scope: Scope) -> str:
        row = scalar.table[n.name]
        if row.triton is None:
            raise KeyError(f"{n.name} has no Triton text")
        args = [self.emit(a) for a in n.args]
        if n.name == "cast" and n.args[0].dtype == "bool":
            return self.define(scope, f"{args[0]}.to(tl.int8).to({DTYPES[n.dtype]})")
        one = f"tl.full([1, 1], 1, {DTYPES[n.dtype]})"
        return self.define(scope, row.triton.format(*args, T=DTYPES[n.dtype], T1=one))

    def write_checked(self, n: Node, scope: Scope) -> str:
        kind, size, check = n.fields
        value = self.emit(n.args[0])
        bad = self.define(scope, f"({value} < 0) | ({value} >= ({self.index(size)}))" if kind == "bounds"
                          else f"{value} == 0")  # fmt: skip
        row = self.kernel.checks.index(check)
        zeros = self.zeros(scope)
        report = f"({zeros} + {row + 1}).to(tl.int64)"
        scope.lines.append(f"tl.atomic_max(failed + {zeros}, {report}, mask={bad} & {self.lanes_in(scope)})")
        return self.define(scope, f"tl.where({bad}, {0 if kind == 'bounds' else 1}, {value})")

    def write_masked(self, n: Node, scope: Scope) -> str:
        condition, value, other = n.args
        c, o = self.emit(condition), self.emit(other)
        self.masks.append(c)
        block = Scope(frozenset(), guard=True)
        self.scopes.append(block)
        v = self.emit(value)
        self.scopes.pop()
        self.masks.pop()
        scope.lines += block.lines
        return self.define(scope, f"tl.where({c}, {v}, {o})")

    def store_line(self, s: Store, value: str, scope: Scope) -> str:
        at = f"{self.argument(s.buffer)} + (({self.index(s.index)}) + {self.zeros(scope)})"
        dtype = "tl.int8" if s.dtype == "bool" else DTYPES[s.dtype]
        value = f"tl.broadcast_to({value}, {self.shape(scope)}).to({dtype})"
        return f"tl.store({at}, {value}, mask={self.lanes_in(scope)})"

    def shape(self, scope: Scope) -> str:
        """The shape of the scope's values, as text."""
        raise NotImplementedError


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
