"""Loads of a loop over many short rows (`inductor.ir.flat_rows`): what repeats from row to row stands in a table of a period and
a vector, read from where in the period a vector begins; what is read once a row is read as a vector and spread."""

from __future__ import annotations

from aten.symbolic.expr import Expr, as_expr
from inductor.codegen.cpp_values import ValueWriter
from inductor.codegen.cpp_vector import MAX_LANES
from inductor.codegen.kernel import Scope
from inductor.ir.flat_rows import FlatRows
from inductor.ir.index import row_major
from inductor.ir.nodes import Node


class FlatWriter(ValueWriter):
    """What a NestWriter does about rows that are one loop."""

    flat: FlatRows | None
    tables: dict[Node, str]

    def memory(self, buffer: str) -> str:
        raise NotImplementedError

    def write_load(self, n: Node, scope: Scope) -> str:
        flat = self.flat
        if flat is None or n.args or scope.guard or self.plan.axis.name != flat.axis.name:
            return super().write_load(n, scope)
        v = flat.axis.name
        if n.index in flat.repeats:
            table = self.table(n, flat, flat.repeats[n.index])
            return self.define(scope, f"w_load<L>({table} + {self.in_period(v, flat)}, {scope.lanes})")
        if n.index in flat.once:
            first, step = flat.once[n.index]
            at = f"b{self.argument(n.buffer)} + {self.address(self.simplified(first))}"
            return self.define(scope, f"w_once<L, {flat.period}>({at}, {self.expr(step)}, {v}, {scope.lanes})")
        return super().write_load(n, scope)

    def in_period(self, v: str, flat: FlatRows) -> str:
        """Text: where in a period a vector begins."""
        return f"(unsigned long){v} % {flat.period}"

    def table(self, n: Node, flat: FlatRows, index: Expr) -> str:
        """The name of a copy of what repeats, made in the outermost loop that knows where it lies."""
        if n in self.tables:
            return self.tables[n]
        inner = {d.name for d in flat.inner}
        level = max(k for k, s in enumerate(self.scopes) if not k or s.variables & (index.free_symbols - inner))
        home = self.scopes[level]
        name = self.tables[n] = self.fresh("table")
        place = as_expr(0)
        for d, step in zip(flat.inner, row_major([d.size for d in flat.inner])):
            place = place + d.var * step
        b = self.argument(n.buffer)
        loops = " ".join(f"for (long {d.name} = 0; {d.name} < {d.size.value}; {d.name}++)" for d in flat.inner)
        T = self.memory(n.buffer)
        home.lines += [
            f"{T} {name}[{flat.period + MAX_LANES}];",
            f"{loops} {name}[{self.address(place)}] = b{b}[{self.address(index)}];",
            f"for (int k = {flat.period}; k < {flat.period + MAX_LANES}; k++) {name}[k] = {name}[k - {flat.period}];",
        ]
        return name
