"""Triton text of the same kernels: one function a nest, a tile of it (`triton_tiles`) a program.

A value known once a row is [XBLOCK, 1], one that varies along the second axis [XBLOCK, RBLOCK]. Where a tile holds whole
rows all stages are one block of lines, and what one has loaded the next one has; where rows go in blocks, every stage is a
loop, and what C++ keeps between stages is computed again. A failed check leaves 1 in the word of its number.
"""

from __future__ import annotations

from typing import Any

from aten.symbolic.expr import Expr, as_expr
from inductor.codegen.kernel import Plan, Scope, accesses, extent
from inductor.codegen.triton_attention import AttentionWriter
from inductor.codegen.triton_function import Function, named
from inductor.codegen.triton_product import ProductWriter
from inductor.codegen.triton_tiles import MANY_STEPS, tile_of
from inductor.codegen.triton_values import DTYPES, LARGEST_PLACE, ValueText
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Store
from inductor.ir.nodes import Node
from inductor.lowering.operations import Attention

COMBINE = {"sum": "add_", "prod": "mul_", "max": "max_", "min": "min_", "any": "or_", "all": "and_",
           "logaddexp": "logaddexp_"}  # fmt: skip


def render(
    kernels: list[Kernel],
    buffers: dict[str, Buffer],
    ranges: dict | None = None,
    hints: dict[str, int] | None = None,
    narrow: bool = False,
) -> dict[str, list[Function]]:
    """By kernel the functions that do its work, in order.

    `hints` are likely values of the graph's symbols, `ranges` what is known of them; `narrow`: a guard has promised that all
    places fit 32 bits.
    """
    out: dict[str, list[Function]] = {}
    for k in kernels:
        writers: list[Any]
        if isinstance(k.body, tuple):
            writers = [TritonWriter(k, nest, buffers, ranges or {}, hints or {}, narrow) for nest in k.body]
        elif isinstance(k.body, Attention):
            writers = [AttentionWriter(k, buffers, ranges or {}, hints or {}, narrow)]
        else:
            writers = [ProductWriter(k, buffers, ranges or {}, hints or {}, narrow)]
        out[k.name] = [w.function() for w in writers]
    return out


def identity(kind: str, dtype: str) -> str:
    """The number that changes nothing, as Python text."""
    if kind in ("sum", "any"):
        return "0"
    if kind in ("prod", "all"):
        return "1"
    lowest = kind in ("max", "argmax", "logaddexp")
    if dtype.startswith("float"):
        return f"float('{'-' if lowest else ''}inf')"
    if dtype == "bool":
        return str(int(not lowest))
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return str(low if lowest else high)


def fits_places(points: Expr, narrow: bool) -> bool:
    """Whether the points of an axis are counted in 32 bits."""
    return points.value <= LARGEST_PLACE if points.is_const else narrow


class TritonWriter(ValueText):
    """One nest as a Triton function."""

    def __init__(self, kernel: Kernel, nest: Nest, buffers: dict[str, Buffer], ranges: dict, hints: dict, narrow: bool):
        axis = nest.dims[-1] if nest.dims else Dim("i0", as_expr(1))
        super().__init__(kernel, Plan(nest, "tile", axis, (), ()), buffers, ranges, narrow)
        self.nest = nest
        self.tile = tile_of(nest, buffers, hints)
        self.axes = {"x": self.tile.first, "r": self.tile.second}
        self.sized = frozenset().union(
            *(d.size.free_symbols for d in nest.dims), *(index.free_symbols for _, index in accesses(nest))
        ) - {d.name for d in nest.dims}
        self.kept = {s.name: s.value for s in nest.statements if isinstance(s, Keep)}
        for s in nest.statements:
            if isinstance(s, Reduce | Running):
                self.named[s.name] = f"row{len(self.named)}"

    # ---- the function

    def function(self) -> Function:
        tile = self.tile
        points, across = extent(tile.first), extent(tile.second)
        self.masked = {"x": leaves_rest(points, tile.xblock), "r": leaves_rest(across, tile.rblock)}
        head = self.scopes[0].lines
        wide = "" if fits_places(points, self.narrow) else ".to(tl.int64)"
        program = f"tl.program_id(0){wide}"
        if tile.mode == "tiles":
            program, column = f"tl.program_id(0){wide} // {self.blocks(across)}", f"tl.program_id(0){wide} % {self.blocks(across)}"
        head.append(f"x = ({program} * XBLOCK + tl.arange(0, XBLOCK))[:, None]")
        if self.masked["x"]:
            head.append(f"xmask = x < {self.places(points)}")
        if tile.mode == "points":
            for stage in self.nest.stages:
                self.statements(stage)
        elif tile.mode == "looped":
            for stage in self.nest.stages:
                self.looped(stage)
        else:
            self.side_by_side("0" if tile.mode == "whole" else f"{column} * RBLOCK", across)
        constants = (("XBLOCK", tile.xblock), *((("RBLOCK", tile.rblock),) if tile.mode != "points" else ()))
        parameters = tuple(self.arguments.values())
        names = ", ".join([*(p.name for p in parameters), *(f"{n}: tl.constexpr" for n, _ in constants)])
        name, text = named(tile.mode, "\n".join(["", "", "@triton.jit", f"def NAME({names}):", *(f"    {x}" for x in head), ""]))
        grid = count(points, tile.xblock) * (count(across, tile.rblock) if tile.mode == "tiles" else 1)
        return Function(name, text, parameters, constants, grid, tile.warps)

    def blocks(self, across: Expr) -> str:
        return f"({self.places(count(across, self.tile.rblock))})"

    def side_by_side(self, start: str, across: Expr) -> None:
        """All stages on one tile, in one block of lines."""
        scope = self.open({d.name for d in self.tile.second})
        scope.lines = self.scopes[0].lines
        at = "tl.arange(0, RBLOCK)" if start == "0" else f"({start} + tl.arange(0, RBLOCK))"
        scope.lines.append(f"r = {at}[None, :]")
        if self.masked["r"]:
            scope.lines.append(f"rmask = r < {self.places(across)}")
        for stage in self.nest.stages:
            self.inner = stage.inner or self.tile.mode == "tiles"
            self.statements(stage)
        self.close()

    def looped(self, stage: Stage) -> None:
        """A stage that is not of the rows alone as a loop over blocks of them."""
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
                start = f"tl.full([XBLOCK, 1], {identity(s.kind, s.dtype)}, {DTYPES[s.dtype]})"
                outer.append(f"{self.named[s.name]}_carry = {start}")
        points = extent(self.nest.reduced)
        steps = points.value // self.tile.rblock if points.is_const else 0
        total = self.end(points) if steps > MANY_STEPS and fits_places(points, False) else self.places(points)
        wide = "" if fits_places(points, self.narrow) else ".to(tl.int64)"
        scope = self.open({d.name for d in self.nest.reduced})
        scope.lines.append(f"r = (start + tl.arange(0, RBLOCK){wide})[None, :]")
        if self.masked["r"]:
            scope.lines.append(f"rmask = r < {total}")
        running = {s.name: self.named[s.name] for s in stage.body if isinstance(s, Running)}
        self.statements(stage)
        self.named.update(running)
        lines = self.close().lines
        self.inner = False
        outer.append(f"for start in range(0, {total}, RBLOCK):")
        outer.extend("    " + line for line in lines)
        for s in reductions:
            outer.append(self.combined(s, f"{self.named[s.name]}_a", f"{self.named[s.name]}_i"))

    def accumulators(self, s: Reduce) -> list[str]:
        name, dtype = self.named[s.name], "tl.int32" if s.dtype == "bool" else DTYPES[s.dtype]
        lines = [f"{name}_a = tl.full([XBLOCK, RBLOCK], {identity(s.kind, s.dtype)}, {dtype})"]
        if s.kind.startswith("arg"):
            bits = self.position_bits()
            lines.append(f"{name}_i = tl.full([XBLOCK, RBLOCK], {2 ** (bits - 1) - 1}, tl.int{bits})")
        return lines

    def position_bits(self) -> int:
        return 32 if fits_places(extent(self.nest.reduced), self.narrow) else 64

    def combined(self, s: Reduce, values: str, positions: str) -> str:
        """The line that reduces a tile of values to one a row."""
        name = self.named[s.name]
        if s.kind.startswith("arg"):
            return f"{name} = tl.reduce(({values}, {positions}), 1, {s.kind}_)[1][:, None].to(tl.int64)"
        text = f"tl.reduce({values}, 1, {COMBINE[s.kind]})[:, None]"
        return f"{name} = {text} != 0" if s.dtype == "bool" else f"{name} = {text}"

    # ---- statements

    def statements(self, stage: Stage) -> None:
        scope = self.scopes[-1] if self.inner else self.scopes[0]
        for s in stage.body:
            match s:
                case Reduce():
                    self.reduce(s, scope)
                case Running():
                    self.running_value(s, scope)
                case Accumulate():
                    self.accumulate(s, scope)
        stores = [s for s in stage.body if isinstance(s, Store)]
        values = [self.emit(s.value) for s in stores]
        for s, value in zip(stores, values):
            value = f"{value}.to(tl.int8)" if s.dtype == "bool" else value
            scope.lines.append(self.store_line(s, value, scope))

    def reduce(self, s: Reduce, scope: Scope) -> None:
        name, value = self.named[s.name], self.emit(s.value)
        if s.dtype == "bool":
            value = f"{value}.to(tl.int32)"
        if self.tile.mode == "whole":
            positions = f"tl.broadcast_to(r, {self.shape(scope)})" if s.kind.startswith("arg") else ""
            scope.lines.append(self.combined(s, self.existing(value, identity(s.kind, s.dtype), scope), positions))
            return
        lanes = self.lanes_in(scope)
        if s.kind.startswith("arg"):
            place = f"(r + x * 0).to(tl.int{self.position_bits()})"
            v, i = self.fresh("v"), self.fresh("v")
            wide = f"tl.broadcast_to({value}, {self.shape(scope)})"
            scope.lines.append(f"{v}, {i} = {s.kind}_({name}_a, {name}_i, {wide}, {place})")
            scope.lines.append(f"{name}_a = {chosen(lanes, v, f'{name}_a')}")
            scope.lines.append(f"{name}_i = {chosen(lanes, i, f'{name}_i')}")
            return
        joint = f"{COMBINE[s.kind]}({name}_a, {value})"
        scope.lines.append(f"{name}_a = {chosen(lanes, joint, f'{name}_a')}")

    def existing(self, value: str, start: str, scope: Scope) -> str:
        """A tile of values in which lanes that do not exist change nothing."""
        whole = f"tl.broadcast_to({value}, {self.shape(scope)})"
        return chosen(self.lanes_in(scope), whole, start)

    def running_value(self, s: Running, scope: Scope) -> None:
        full = self.define(scope, self.existing(self.emit(s.value), identity(s.kind, s.dtype), scope))
        name = self.named[s.name]
        self.rows[s.name] = 1
        if s.kind == "sort":  # of whole rows: what does not exist is the last
            scope.lines.append(f"{name} = tl.sort({full}, 1)")
            return
        combine = COMBINE[s.kind]
        scan = f"tl.associative_scan({full}, 1, {combine})"
        if self.tile.mode == "whole":
            scope.lines.append(f"{name} = {scan}")
        else:
            self.named[s.name] = self.define(scope, f"{combine}({name}_carry, {scan})")
            scope.lines.append(f"{name}_carry = {combine}({name}_carry, tl.reduce({full}, 1, {combine})[:, None])")

    def accumulate(self, s: Accumulate, scope: Scope) -> None:
        """Atomic: the order in which equal places add up is not fixed on a GPU. Nor is which of them replaces."""
        if s.kind == "replace":
            value = f"{self.emit(s.value)}.to(tl.int8)" if s.dtype == "bool" else self.emit(s.value)
            value = f"tl.broadcast_to({value}, {self.shape(scope)})"
            scope.lines.append(f"tl.store({self.address(s.buffer, s.index, s.where, scope)}, {value}{self.mask(scope)})")
            return
        value = f"tl.broadcast_to({self.emit(s.value)}, {self.shape(scope)}).to({DTYPES[s.dtype]})"
        atomic = "tl.atomic_max" if s.kind == "largest" else "tl.atomic_add"
        scope.lines.append(f"{atomic}({self.address(s.buffer, s.index, s.where, scope)}, {value}{self.mask(scope)})")

    def own_level(self, n: Node) -> int:
        if n.kind == "kept":
            return self.level(self.kept[n.name])
        return self.rows.get(n.name, 0)


def chosen(lanes: str, value: str, other: str) -> str:
    """`value` in the lanes that exist."""
    return f"tl.where({lanes}, {value}, {other})" if lanes else value


def leaves_rest(points: Expr, block: int) -> bool:
    """Whether a last block may not be full."""
    return not points.is_const or points.value % block != 0 or points.value == 0


def count(points: Expr, block: int) -> Expr:
    """How many blocks there are."""
    return (points + (block - 1)) // block
