"""Rows of one loop, as many at a time as a register has lanes: what is made of their results is made of all at once.

Row by row, every result waits for its sum across lanes, and what is computed of it (`exp`, a quotient) fills a register
with one number. Here the partial results of L rows stay in L vectors, which are turned while they are combined: lane k of
what comes out is row k's. The order is that of one row: the tree over lanes does not see where its lanes lie.
"""

from __future__ import annotations

from functools import cached_property

from aten.symbolic.expr import Expr
from inductor.codegen.cpp_loops import UNIT_NAMES, NestWriter, block_bounds, blocks_of
from inductor.codegen.cpp_reduce import indent
from inductor.codegen.cpp_vector import combiner, vector
from inductor.codegen.kernel import Plan, extent
from inductor.ir.loops import Dim, Reduce, Store

LONGEST = 1024  # elements: beyond, the loop over a row is all that takes time
FEWEST = 8  # rows that lie side by side


def bundles(w: NestWriter) -> bool:
    """Whether a nest is one loop over short rows, and what is stored of their results."""
    p, stages = w.plan, w.nest.stages
    if p.mode != "row" or not p.outer or w.size_hint(p.outer[-1].size) < FEWEST:
        return False
    if not p.axis.size.is_const or p.axis.size.value > LONGEST or not stages[0].inner:
        return False
    if any(s.inner or not all(isinstance(x, Store) for x in s.body) for s in stages[1:]):
        return False
    return all(isinstance(s, Reduce) and not s.kind.startswith("arg") for s in stages[0].body)


class BundleWriter(NestWriter):
    """Writes a nest that `bundles`: a unit is L rows along the last of the kept dims."""

    def block_size(self) -> int:
        return self.lanes

    @cached_property
    def side(self) -> Dim:
        """The dim along which the rows of a unit lie."""
        return self.plan.outer[-1]

    @cached_property
    def around(self) -> tuple[Dim, ...]:
        return self.plan.outer[:-1]

    @property
    def units(self) -> Expr:
        return extent(self.around) * blocks_of(self.side.size, self.lanes)

    def unit_dims(self) -> list[tuple[str, str]]:
        dims = [(d.name, self.expr(d.size)) for d in self.around]
        return [*dims, ("block", self.expr(blocks_of(self.side.size, self.lanes)))]

    def function(self) -> str:
        first, *after = self.nest.stages
        u, reductions = self.side.name, [s for s in first.body if isinstance(s, Reduce)]
        unit = self.open({d.name for d in self.around} | UNIT_NAMES)
        unit.lines += block_bounds("block", "first", "last", self.lanes, self.expr(self.side.size))
        unit.lines += [f"{vector(s.dtype)} {s.name}_rows[L];" for s in reductions]
        self.open({u})
        self.row_stage(first)
        rows = self.close().lines
        unit.lines += [f"for (long {u} = first; {u} < last; {u}++) {{", *indent(rows), "}"]
        even = self.side.size.is_const and self.side.size.value % self.lanes == 0
        for s in reductions:
            rest = f"for (long k = last - first; k < L; k++) {s.name}_rows[k] = {vector(s.dtype)}{{}};"
            unit.lines += [*([] if even else [rest]), f"const auto {s.name} = w_turned_tree<{self.op(s)}>({s.name}_rows);"]
            self.rows[s.name] = 2
        self.run_along(self.side)
        for stage in after:
            self.vector_loop(stage, "first", "last", [], even)
        body = self.scopes[0].lines + self.unit_loop(self.close().lines)
        head = f"static void {self.name}(void *ctx, long begin, long end, long worker) {{"
        return "\n".join([head, *indent(self.declarations() + body + (["w_fence();"] if self.streamed else [])), "}"])

    def run_along(self, side: Dim) -> None:
        """From here on lanes are rows, and a row's result differs by lane."""
        p = self.plan
        self.plan = Plan(p.nest, "column", side, self.around, p.nest.reduced)
        self._varies.clear()

    def combined(self, s: Reduce, partial: bool) -> list[str]:
        place = f"{s.name}_rows[{self.side.name} - first]"
        return [f"{place} = w_joined<{self.op(s)}, {self.accumulators}>({s.name}_a);"]

    def op(self, s: Reduce) -> str:
        return combiner(s.kind, s.dtype)
