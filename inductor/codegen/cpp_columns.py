"""Columns that take several loops over their rows (softmax over channels): a block of them at a time, which stays in cache.

Every lane has a column. A loop over the rows of a block leaves its sums in an array of vectors, where the next one reads
them; what it makes of a column alone it makes before its rows. What one loop keeps for the next stands where a result
will, if one is of that type, else in memory of the thread.
"""

from __future__ import annotations

from functools import cached_property

from aten.symbolic.expr import Expr, substitute, sum_
from inductor.codegen.cpp_values import ValueWriter
from inductor.codegen.cpp_vector import COMPUTED, vector
from inductor.codegen.kernel import Scope, values_of
from inductor.ir.index import coefficient, row_major
from inductor.ir.loops import Dim, Keep, Nest, Stage, Statement, Store
from inductor.ir.nodes import Node, loads, walk

ROWS_AHEAD = 8  # that are asked for
KEPT_BESIDE = 2048  # elements of a row, at most, of which what is kept stands beside the row
INNERMOST = 99  # the level of values known only in the innermost loop


class ColumnStages(ValueWriter):
    """What a ReductionWriter does about columns that take several loops."""

    nest: Nest
    blocked: int

    def size_hint(self, e: Expr) -> int:
        raise NotImplementedError

    @property
    def groups(self) -> int:
        raise NotImplementedError

    def memory(self, buffer: str) -> str:
        raise NotImplementedError

    def counts(self, stage: Stage) -> bool:
        raise NotImplementedError

    def vector_loops(self, body: list[str], start: str, stop: str, unrolled: int = 0, even: bool | None = None) -> list[str]:
        raise NotImplementedError

    @cached_property
    def in_stages(self) -> bool:
        """Whether columns take several loops over their rows."""
        return self.plan.mode == "column" and sum(stage.inner for stage in self.nest.stages) > 1

    @cached_property
    def in_long_rows(self) -> bool:
        """Whether rows take several loops and are so long that what they keep had better stand where a result will than beside it,
        in the nearest cache (softmax of [64,4096]: 75 us instead of 113)."""
        p = self.plan
        several = sum(stage.inner for stage in self.nest.stages) > 1
        return p.mode == "row" and not p.serial and several and self.size_hint(p.axis.size) > KEPT_BESIDE

    # ---- values of a column

    def hoist(self, stage: Stage) -> dict[Node, str]:
        """What a loop over rows computes of a column alone (1 / sqrt(variance)), computed before it: where it stands."""
        v, found = self.plan.axis.name, self.of_columns(stage) if self.in_stages else []
        hoisted = {n: f"{self.fresh('column')}[(unsigned long)({v} - first) / L]" for n in found}
        if found:
            out = self.scopes[-1].lines
            out += [f"{vector(n.dtype)} {text[: text.index('[')]}[{self.groups}];" for n, text in hoisted.items()]
            self.open({v})
            stores = [f"{text} = {self.emit(n)};" for n, text in hoisted.items()]
            out += self.vector_loops(self.close().lines + stores, "first", "last")
        return hoisted

    def of_columns(self, stage: Stage) -> list[Node]:
        """The largest computed values in a stage that are the same for all rows."""
        reduced, roots = {d.name for d in self.nest.reduced}, values_of(stage)
        same: dict[Node, bool] = {}
        found: dict[Node, None] = {}
        wanted = lambda n: same[n] and n.kind == "call" and self.varies(n)
        for n in walk(roots):
            same[n] = n.kind not in ("kept", "checked") and not n.symbols & reduced and all(same[a] for a in n.args)
            if not same[n]:
                found.update(dict.fromkeys(a for a in n.args if wanted(a)))
        found.update(dict.fromkeys(n for n in roots if wanted(n)))
        return list(found)

    # ---- memory

    def coming_columns(self, stage: Stage) -> list[str]:
        """Lines that ask for what the first of several loops will read of rows to come, and for where the last will write:
        pieces of rows are too short for the processor to see that coming."""
        if not self.in_stages or not self.plan.serial:
            return []
        inner, waiting = [s for s in self.nest.stages if s.inner], self.kept_in_results
        wanted = [(n.buffer, n.index, "") for n in loads(values_of(stage)) if not n.args] if stage is inner[0] else []
        stores = [waiting[s.name] for s in stage.body if isinstance(s, Keep) and s.name in waiting]
        if stage is inner[-1]:
            stores += [s for s in stage.body if isinstance(s, Store) and not self.streams(s) and s not in waiting.values()]
        wanted += [(s.buffer, s.index, ", 1") for s in stores]
        return self.asked_for(wanted, self.plan.serial[-1], ROWS_AHEAD)

    def asked_for(self, wanted: list[tuple[str, Expr, str]], row: Dim, ahead: int) -> list[str]:
        """Lines that ask for those of (buffer, index, mode) that lie along the vector axis, some rows ahead."""
        lines = []
        for buffer, index, mode in wanted:
            index = self.simplified(index)
            step = coefficient(index, self.plan.axis.name)
            if row.name not in index.free_symbols or step is None or not step.is_const or step.value != 1:
                continue
            place = self.address(substitute(index, {row.name: row.var + ahead}))
            lines.append(f"__builtin_prefetch(b{self.argument(buffer)} + {place}{mode});")
        return list(dict.fromkeys(lines))

    # ---- what is kept from one loop to the next

    def at_of_keeps(self, stage: Stage) -> list[str]:
        """The line that says where in a block of kept values a point has its own."""
        if not self.counts(stage) or not self.in_stages:
            return []
        serial = self.plan.serial
        row = sum_(d.var * step for d, step in zip(serial, row_major([d.size for d in serial])))
        return [f"const long at = ({self.expr(row)}) * {self.blocked} + ({self.plan.axis.name} - first);"]

    @cached_property
    def kept_in_results(self) -> dict[str, Store]:
        """By name of a kept value, the store of a later loop in whose place it waits."""
        found: dict[str, Store] = {}
        if not self.in_stages and not self.in_long_rows:
            return found
        stages = self.nest.stages
        names = [{n.name for n in walk(values_of(stage)) if n.kind == "kept"} for stage in stages]
        for keep in (s for stage in stages for s in stage.body if isinstance(s, Keep)):
            last = max(k for k, read in enumerate(names) if keep.name in read)
            places = [s for stage in stages[last:] if stage.inner for s in stage.body if self.may_wait(keep, s)]
            free = [s for s in places if s not in found.values()]
            if free:
                found[keep.name] = free[0]
        return found

    def may_wait(self, keep: Keep, s: Statement) -> bool:
        """Whether a kept value may stand where that statement will store: nobody else reads or writes there."""
        if not isinstance(s, Store) or s.dtype != keep.value.dtype or COMPUTED[s.dtype] != self.memory(s.buffer) or self.streams(s):
            return False
        read = {n.buffer for stage in self.nest.stages for n in loads(values_of(stage))}
        alone = sum(isinstance(x, Store) and x.buffer == s.buffer for x in self.nest.statements) == 1
        everywhere = {d.name for d in self.nest.dims} <= s.index.free_symbols
        return alone and s.buffer not in read and everywhere and self.runs_along(s.index)

    def runs_along(self, index: Expr) -> bool:
        step = coefficient(self.simplified(index), self.plan.axis.name)
        return step is not None and step.is_const and step.value == 1

    def place_of(self, s: Store) -> str:
        return f"b{self.argument(s.buffer)} + {self.address(self.simplified(s.index))}"

    def keep_in_result(self, s: Keep) -> None:
        value = self.emit(s.value)
        self.rows[s.name] = INNERMOST
        self.scopes[-1].lines.append(f"w_store({self.place_of(self.kept_in_results[s.name])}, {value}, n);")

    def write_kept(self, n: Node, scope: Scope) -> str:
        if n.name in self.kept_in_results:
            return self.define(scope, f"w_load<L>({self.place_of(self.kept_in_results[n.name])}, {scope.lanes})")
        return super().write_kept(n, scope)
