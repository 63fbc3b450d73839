"""What all rows read in the loop that stores them (the weights of a norm), set aside in two copies half a page apart.

A processor holds a load back until an older store is done if their addresses agree in the last twelve bits, as if it
read what the store writes. A loop that reads weights and stores a row meets that wherever the weights lie a little
behind the row within their pages: for some rows always, if rows are no multiple of a page, and for all or none if they
are. Every row takes the copy that does not lie behind it.
"""

from __future__ import annotations

from functools import cached_property

from inductor.codegen.cpp_reduce import ReductionWriter
from inductor.codegen.cpp_vector import MAX_LANES, MEMORY
from inductor.codegen.kernel import Scope, extent, values_of
from inductor.ir.buffer import ITEMSIZE, Buffer
from inductor.ir.index import without
from inductor.ir.loops import Stage, Store
from inductor.ir.nodes import Node, loads

PAGE = 4096  # bytes
LONGEST = 4096  # elements: longer vectors are not worth copying
FEWEST = 64  # rows
MOST = 6  # vectors


class AsideWriter(ReductionWriter):
    """Finds the loads that are worth a copy and writes them."""

    buffers: dict[str, Buffer]

    @cached_property
    def storing(self) -> Stage | None:
        """The loop, the last of several over a row, that stores the row."""
        inner = [stage for stage in self.nest.stages if stage.inner]
        p = self.plan
        if p.mode != "row" or p.serial or not p.outer or len(inner) < 2:
            return None
        if self.size_hint(p.axis.size) > LONGEST or self.size_hint(extent(p.outer)) < FEWEST:
            return None
        return inner[-1] if any(self.is_row(s) for s in inner[-1].body) else None

    def is_row(self, s) -> bool:
        return isinstance(s, Store) and self.runs_along(s.index)

    @cached_property
    def aside(self) -> dict[Node, int]:
        """The loads that are set aside, numbered."""
        if self.storing is None:
            return {}
        outer = {d.name for d in self.plan.outer}
        stored = {s.buffer for s in self.nest.statements if isinstance(s, Store)}
        found = [
            n
            for n in loads(values_of(self.storing))
            if not n.args and not n.symbols & outer and n.buffer not in stored and self.runs_along(n.index)
        ]
        return {n: k for k, n in enumerate(found)} if len(found) <= MOST else {}

    def write_load(self, n: Node, scope: Scope) -> str:
        if n not in self.aside or scope.guard:
            return super().write_load(n, scope)
        k, unit = self.aside[n], self.scopes[1]
        T = MEMORY[self.buffers[n.buffer].dtype]
        if "aside" not in unit.labels:
            store = next(s for s in self.storing.body if self.is_row(s))  # type: ignore[union-attr]
            row = self.address(self.simplified(without(self.simplified(store.index), self.plan.axis.name)))
            unit.lines.append(
                f"const bool behind = (((unsigned long)(b{self.argument(store.buffer)} + {row}) - 1) & {PAGE - 1})"
                f" < {PAGE // 2};"
            )
            unit.labels.add("aside")
        if f"aside{k}" not in unit.labels:
            unit.lines.append(f"const {T} *__restrict const aside{k} = behind ? far{k} : near{k};")
            unit.labels.add(f"aside{k}")
        self.argument(n.buffer)
        return self.define(scope, f"w_load<L>(aside{k} + {self.plan.axis.name}, {scope.lanes})")

    def aside_bytes(self) -> str:
        """Text: the memory of all copies."""
        size = max(ITEMSIZE[self.buffers[n.buffer].dtype] for n in self.aside)
        row = self.expr((self.plan.axis.size + (MAX_LANES - 1)) // MAX_LANES * MAX_LANES * size)
        return f"(({row} + {PAGE - 1}) & -{PAGE}l)"

    def aside_lines(self, start: str) -> list[str]:
        """Copies what is set aside to memory from `start` on: one copy at the begin of a page, one in the middle."""
        v, size = self.plan.axis.name, self.expr(self.plan.axis.size)
        lines = [
            f"const long aside_row = {self.aside_bytes()};",
            f"char *const pages = (char *)(((unsigned long)({start}) + {PAGE - 1}) & -{PAGE}ul);",
        ]
        for n, k in self.aside.items():
            T = MEMORY[self.buffers[n.buffer].dtype]
            source = f"b{self.argument(n.buffer)}[{self.address(self.simplified(n.index))}]"
            lines += [
                f"{T} *const near{k} = ({T} *)(pages + {k} * 2 * (aside_row + {PAGE}));",
                f"{T} *const far{k} = ({T} *)((char *)near{k} + aside_row + {PAGE // 2});",
                f"for (long {v} = 0; {v} < {size}; {v}++) near{k}[{v}] = far{k}[{v}] = {source};",
            ]
        return lines
