"""Few columns (the sum of [N, 5] along dim 0): so many rows side by side that they fill several registers.

Element i of the flat rows goes to virtual lane i % width, `width` being a multiple of the columns and of every register. Lanes
of a column are then combined in order, so that a sum's order is a function of the sizes alone.
"""

from __future__ import annotations

from aten.records import replaced
from aten.symbolic.expr import ONE, ZERO
from inductor.codegen.cpp_loops import NestWriter
from inductor.codegen.cpp_reduce import COLUMN_CHUNK, INNERMOST, has_parts, indent
from inductor.codegen.cpp_vector import COMPUTED, MAX_LANES, combiner, identity, vector
from inductor.codegen.kernel import Plan
from inductor.ir.flat_rows import FlatRows, Flattening, Refused
from inductor.ir.index import coefficient
from inductor.ir.loops import Nest, Reduce, Stage
from inductor.ir.nodes import Node, walk

LEAST, MOST = 64, 448  # virtual lanes: fewer would wait for each other, more do not fit the registers


def width_of(columns: int) -> int:
    """How many virtual lanes the columns take."""
    rows = 1
    while rows * columns < LEAST or rows * columns % MAX_LANES:
        rows += 1
    return rows * columns


def is_narrow(w: NestWriter) -> bool:
    """Whether a nest is one loop that reduces few columns, which lie side by side."""
    inner, dims = [stage for stage in w.nest.stages if stage.inner], (w.nest.kept, w.nest.reduced)
    if len(inner) != 1 or [len(d) for d in dims] != [1, 1] or not w.nest.kept[0].size.is_const:
        return False
    columns = w.nest.kept[0].size.value
    if not 1 < columns < LEAST or width_of(columns) > MOST:
        return False
    if not all(isinstance(s, Reduce) and not s.kind.startswith("arg") for s in inner[0].body):
        return False
    nodes = list(walk(s.value for s in inner[0].body))
    if any(n.kind in ("masked", "checked", "kept", "row") for n in nodes):
        return False
    found = flattened(w, inner[0])
    if found is None:
        return False
    values = walk(s.value for s in found[1].body)
    return any(n.kind == "load" and coefficient(n.index, found[0].axis.name) is ONE for n in values)


def flattened(w: NestWriter, stage: Stage) -> tuple[FlatRows, Stage] | None:
    """The rows as one loop over all elements, and the stage over it."""
    f = Flattening(w.nest, w.nest.reduced, w.nest.kept)
    memo: dict[Node, Node] = {}
    try:
        over_all = Stage(True, tuple(replaced(s, value=f.value(s.value, memo)) for s in stage.body))
    except Refused:
        return None
    return f.made((over_all,)), over_all


class NarrowWriter(NestWriter):
    """Writes a nest that `is_narrow`."""

    def planned(self, nest: Nest) -> Plan:
        return Plan(nest, "column", nest.kept[0], (), nest.reduced)

    def column_stage(self, stage: Stage) -> None:
        found = flattened(self, stage)
        assert found is not None
        self.flat, stage = found
        v, columns = self.plan.axis.name, self.plan.axis.size.value
        width, total = width_of(columns), self.expr(self.flat.axis.size)
        out, own = self.scopes[-1].lines, self.ranges[v]
        self.ranges[v] = (ZERO, self.flat.axis.size - 1)
        self.open({v})
        self.statements(stage)
        body = self.close().lines
        self.ranges[v] = own
        parts = [s for s in stage.body if has_parts(s) and self.chunks(s)]
        for s in stage.body:
            out += self.filled(f"{s.name}_{'t' if s in parts else 'a'}", s, width)
        out += [
            f"for (long part = 0; part < {total}; part += {COLUMN_CHUNK * width}) {{",
            f"  const long stop = part + {COLUMN_CHUNK * width} < {total} ? part + {COLUMN_CHUNK * width} : {total};",
            *indent([line for s in parts for line in self.filled(f"{s.name}_a", s, width)]),
            "  long at = part;",
            f"  for (; at + {width} <= stop; at += {width}) {{",
            f"    #pragma GCC unroll {MOST}",
            f"    for (int g = 0; g < {width} / L; g++) {{",
            f"      constexpr w_all n = {{}}; const long {v} = at + g * L;",
            *indent(body, "      "),
            "    }",
            "  }",
            "  for (int g = 0; at + g * L < stop; g++) {",
            f"    const long {v} = at + g * L; const w_some n = w_tail(stop - {v} < L ? stop - {v} : L);",
            *indent(body, "    "),
            "  }",
            *(f"  {self.added(s)}" for s in parts),
            "}",
        ]
        for s in stage.body:
            out += self.combined_columns(s, f"{s.name}_{'t' if s in parts else 'a'}", columns, width)
        self.flat = None

    def filled(self, array: str, s: Reduce, width: int) -> list[str]:
        T = vector(s.dtype)
        return [f"{T} {array}[{width} / L];", f"for (auto &x : {array}) x = w_splat<{T}>({identity(s.kind, s.dtype)});"]

    def added(self, s: Reduce) -> str:
        """The line that adds the sums of a part to those of the parts before."""
        add = f"{combiner(s.kind, s.dtype)}::of({s.name}_t[g], {s.name}_a[g])"
        return f"for (long g = 0; g < (long)(sizeof {s.name}_t / sizeof *{s.name}_t); g++) {s.name}_t[g] = {add};"

    def combined_columns(self, s: Reduce, array: str, columns: int, width: int) -> list[str]:
        """Lines that combine the virtual lanes of each column, and leave the results in vectors of columns."""
        T, E, op = vector(s.dtype), COMPUTED[s.dtype], combiner(s.kind, s.dtype)
        v, groups = self.plan.axis.name, -(-columns // self.lanes)
        self.column_results[s.name] = f"{s.name}_c[(unsigned long)({v} - first) / L]"
        self.rows[s.name] = INNERMOST
        return [
            f"{E} {s.name}_w[{width + MAX_LANES}] = {{}};",
            f"for (int g = 0; g < {width} / L; g++) w_write({s.name}_w + g * L, {array}[g], w_all{{}});",
            f"{T} {s.name}_c[{groups}];",
            f"for (int k = 0; k < {groups}; k++) {{",
            f"  auto x = w_read<{E}, L>({s.name}_w + k * L, w_all{{}});",
            f"  for (int row = {columns}; row < {width}; row += {columns})",
            f"    x = {op}::of(x, w_read<{E}, L>({s.name}_w + (row + k * L < {width} ? row + k * L : 0), w_all{{}}));",
            f"  {s.name}_c[k] = x;",
            "}",
        ]

    def in_period(self, v: str, flat: FlatRows) -> str:
        return f"g * L % {flat.period}" if self.plan.mode == "column" else super().in_period(v, flat)

    def do_reduce(self, s: Reduce) -> None:
        value, op = self.emit(s.value), combiner(s.kind, s.dtype)
        keep = f"w_keep(n, {value}, w_splat<{vector(s.dtype)}>({identity(s.kind, s.dtype)}))"
        self.scopes[-1].lines.append(f"{s.name}_a[g] = {op}::of({s.name}_a[g], {keep});")
