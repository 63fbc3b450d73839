"""Reductions of few long rows, such as the sum of a whole tensor: the chunks of a row are the units of the threads.

One function leaves the result of every chunk in shared memory, another adds them up in order: exactly the sums that one
thread would have taken.
"""

from __future__ import annotations

from aten.symbolic.expr import Expr
from inductor.codegen.cpp_loops import NestWriter, blocks_of
from inductor.codegen.cpp_reduce import ROW_CHUNK, indent
from inductor.codegen.cpp_vector import COMPUTED, combiner, identity, vector
from inductor.codegen.kernel import extent
from inductor.ir.loops import Reduce, Stage, Store

FEW_ROWS = 8
MANY_CHUNKS = 4


def splits(w: NestWriter) -> bool:
    """Whether a nest is one loop over few rows of many chunks."""
    if w.plan.mode != "row" or w.plan.serial or len(w.kernel.body) > 1:
        return False
    inner = [stage for stage in w.nest.stages if stage.inner]
    rows, length = w.size_hint(extent(w.plan.outer)), w.size_hint(w.plan.axis.size)
    plain = all(
        isinstance(s, Store) or (isinstance(s, Reduce) and not s.kind.startswith("arg")) for s in w.nest.statements
    )
    summed = any(isinstance(s, Reduce) and w.chunks(s) for s in w.nest.statements)
    return len(inner) == 1 and plain and summed and rows <= FEW_ROWS and length >= MANY_CHUNKS * ROW_CHUNK


class _Part(NestWriter):
    """What both functions know: `pieces` chunks in a row."""

    @property
    def pieces(self) -> Expr:
        return blocks_of(self.plan.axis.size, ROW_CHUNK)

    def slot(self, s: Reduce, at: str) -> str:
        """Where the result of a chunk lies; every slot has 8 bytes."""
        number = self.reductions.index(s)
        total = self.expr(extent(self.plan.outer) * self.pieces)
        return f"*({COMPUTED[s.dtype]} *)((char *)frame->shared + 8 * ({number} * ({total}) + {at}))"

    @property
    def reductions(self) -> list[Reduce]:
        return [s for s in self.nest.statements if isinstance(s, Reduce)]


class Pieces(_Part):
    """The chunks: a unit is one of them."""

    @property
    def units(self) -> Expr:
        return extent(self.plan.outer) * self.pieces

    def unit_dims(self) -> list[tuple[str, str]]:
        return [*super().unit_dims(), ("piece", self.expr(self.pieces))]

    def stage(self, stage: Stage) -> None:
        if not stage.inner:
            return
        out, limit = self.scopes[-1].lines, self.expr(self.plan.axis.size)
        block = self.open(())
        block.lines += [
            f"const long chunk = piece * {ROW_CHUNK};",
            f"const long part = chunk + {ROW_CHUNK} < {limit} ? chunk + {ROW_CHUNK} : {limit};",
        ]
        for s in self.reductions:
            T = vector(s.dtype)
            block.lines += [f"{T} {s.name};", *self.accumulators_of(s)]
        self.vector_loop(stage, "chunk", "part", [])
        for s in self.reductions:
            block.lines += [*self.combined(s, False), f"{self.slot(s, 'unit')} = {s.name}[0];"]
        out += ["{", *indent(self.close().lines), "}"]


class Totals(_Part):
    """The rest: a unit is a row."""

    def unit_dims(self) -> list[tuple[str, str]]:
        return super().unit_dims() or [("row", "1")]

    def stage(self, stage: Stage) -> None:
        if not stage.inner:
            self.statements(stage)
            return
        pieces = self.expr(self.pieces)
        for s in self.reductions:
            T, op = vector(s.dtype), combiner(s.kind, s.dtype)
            at = f"unit * ({pieces}) + k"
            self.scopes[-1].lines += [
                f"{T} {s.name} = w_splat<{T}>({identity(s.kind, s.dtype)});",
                f"for (long k = 0; k < {pieces}; k++) {s.name} = {op}::of({s.name}, w_splat<{T}>({self.slot(s, at)}));",
            ]
            self.rows[s.name] = 1


def split(w: NestWriter) -> tuple[list[str], list[str]]:
    """(functions, lines of the entry) of a nest that `splits`."""
    given = (w.kernel, w.nest, w.buffers, w.hints, w.ranges, w.isa)
    kernel, nest, buffers, hints, ranges, isa = given
    pieces = Pieces(kernel, nest, f"{w.name}_pieces", buffers, hints, ranges, isa)
    totals = Totals(kernel, nest, f"{w.name}_totals", buffers, hints, ranges, isa)
    functions = [pieces.function(), totals.function()]
    units = pieces.expr(pieces.units)
    rows = totals.expr(extent(totals.plan.outer))
    return functions, [
        f"frame.shared = runtime->scratch(0, 8 * {len(pieces.reductions)} * ({units}));",
        f"runtime->parallel_for({units}, {pieces.grain}, {pieces.name}, &frame);",
        f"if (!frame.failed) {totals.name}(&frame, 0, {rows}, 0);",
    ]
