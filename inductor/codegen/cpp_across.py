"""Short rows of several loops (softmax of ten classes, the norm of a point), a lane a row.

Along a row most lanes would be empty, and every loop would wait for what the one before has combined across lanes. Here
vectors run across rows: a tile of what is read is turned, loops over a row are steps of whole registers, and a tile of what
is stored is turned back. A row is added up in order, element by element.
"""

from __future__ import annotations

from aten.symbolic.expr import Expr, substitute, sym
from inductor import choices
from inductor.codegen.cpp_bundle import FEWEST, BundleWriter
from inductor.codegen.cpp_loops import UNIT_NAMES, NestWriter, block_bounds
from inductor.codegen.cpp_reduce import INNERMOST, indent
from inductor.codegen.cpp_values import runs
from inductor.codegen.cpp_vector import COMPUTED, combiner, identity, vector
from inductor.codegen.kernel import Scope, values_of
from inductor.ir.index import coefficient
from inductor.ir.loops import Keep, Reduce, Running, Stage, Store
from inductor.ir.nodes import Node, walk

LONGEST = (
    24  # elements: longer rows fill registers, and are read and stored as they are (softmax of [8192,32]: 170 us; across 219) ...
)
LONGEST_READ = 48  # ... where rows are stored at all (var of [4096,96]: 87 us; across 138)
LARGEST = 64  # nodes of all loops together


def goes_across(w: NestWriter) -> bool:
    """Whether a nest is several loops over short rows, or a scan of them, of which as many lie side by side as there are lanes."""
    p = w.plan
    if p.mode != "row" or p.serial or not p.outer or w.size_hint(p.outer[-1].size) < FEWEST:
        return False
    inner = [s for stage in w.nest.stages if stage.inner for s in stage.body]
    longest = LONGEST if any(isinstance(s, Store) for s in inner) else LONGEST_READ
    if not p.axis.size.is_const or p.axis.size.value > longest:
        return False
    scans = any(isinstance(s, Running) for s in inner)
    if sum(s.inner for s in w.nest.stages) < 2 and not scans or (scans and p.axis.size.value >= choices.SHORT_ROW):
        return False  # (longer scans go from lane to lane: cumsum of [2560,16] 5.4 us, across 7.3)
    nodes = list(walk(v for stage in w.nest.stages for v in values_of(stage)))
    if len(nodes) > LARGEST or any(n.kind in ("checked", "masked") or (n.kind == "load" and n.args) for n in nodes):
        return False
    if any(runs(n, p.axis.name, w.ranges) for n in nodes):
        return False  # random numbers that follow each other are drawn together (dropout of softmax of [8192,16]: 1600 us across)
    return all(_plain(s, stage.inner) for stage in w.nest.stages for s in stage.body)


def _plain(s, inner: bool) -> bool:
    if not inner or isinstance(s, Store):
        return isinstance(s, Store)
    return isinstance(s, (Keep, Running)) or (isinstance(s, Reduce) and not s.kind.startswith("arg"))


class AcrossWriter(BundleWriter):
    """Writes a nest that `goes_across`."""

    def function(self) -> str:
        (self.along,) = self.plan.nest.reduced
        u, self.turned, self.turned_back = self.side.name, {}, []
        self.run_along(self.side)
        unit = self.open({u, *(d.name for d in self.around)} | UNIT_NAMES)
        unit.lines += block_bounds("block", "first", "last", self.lanes, self.expr(self.side.size))
        even = self.side.size.is_const and self.side.size.value % self.lanes == 0
        unit.lines.append(f"const long {u} = first;")
        unit.lines.append("constexpr w_all n = {};" if even else "const w_some n = w_tail(last - first);")
        for stage in self.nest.stages:
            if stage.inner:
                self.loop(stage)
            else:
                self.statements(stage)
        body = self.scopes[0].lines + self.unit_loop(self.close().lines)
        head = f"static void {self.name}(void *ctx, long begin, long end, long worker) {{"
        return "\n".join([head, *indent(self.declarations() + body + (["w_fence();"] if self.streamed else [])), "}"])

    def loop(self, stage: Stage) -> None:
        """A loop over the elements of L rows."""
        unit, r = self.scopes[-1], self.along.name
        for s in stage.body:
            if isinstance(s, (Reduce, Running)):
                unit.lines.append(f"auto {s.name} = w_splat<{vector(s.dtype)}>({identity(s.kind, s.dtype)});")
        self.open({r})
        self.statements(stage)
        lines = self.close().lines
        unit.lines += [f"for (long {r} = 0; {r} < {self.expr(self.along.size)}; {r}++) {{", *indent(lines), "}"]
        unit.lines += self.turned_back
        self.turned_back = []
        self.rows.update({s.name: 1 for s in stage.body if isinstance(s, Reduce)})

    # ---- memory: rows are turned on the way in and out

    def row_steps(self, index: Expr) -> Expr | None:
        """How far apart rows begin whose elements lie side by side; None of anything else."""
        index = self.simplified(index)
        one, far = coefficient(index, self.along.name), coefficient(index, self.side.name)
        if one is None or not one.is_const or one.value != 1 or far is None or (far.is_const and far.value <= 1):
            return None
        return far

    def first_of(self, index: Expr) -> str:
        """Text: where the first row of a unit begins."""
        return self.address(self.simplified(substitute(index, {self.side.name: sym("first"), self.along.name: sym("first") * 0})))

    def write_load(self, n: Node, scope: Scope) -> str:
        step = self.row_steps(n.index)
        if step is None:
            return super().write_load(n, scope)
        tile = self.turned.get(n)
        if tile is None:
            tile = self.turned[n] = self.fresh("tile")
            rows = -(-self.along.size.value // self.lanes) * self.lanes
            self.scopes[1].lines += [
                f"{self.memory(n.buffer)} {tile}[{rows} * L];",
                f"w_transpose<L, L>({tile}, b{self.argument(n.buffer)} + {self.first_of(n.index)}, {self.expr(step)},"
                f" {self.along.size.value}, last - first);",
            ]
        return self.define(scope, f"w_load<L>({tile} + {self.along.name} * L, w_all{{}})")

    def do_store(self, s: Store) -> None:
        step = self.row_steps(s.index) if len(self.scopes) == 3 else None
        if step is None:
            super().do_store(s)
            return
        value, tile = self.emit(s.value), self.fresh("tile")
        self.scopes[1].lines.append(f"{self.memory(s.buffer)} {tile}[{self.along.size.value} * L];")
        self.scopes[-1].lines.append(f"w_store({tile} + {self.along.name} * L, {value}, w_all{{}});")
        self.turned_back.append(
            f"w_turn_back<L>(b{self.argument(s.buffer)} + {self.first_of(s.index)}, {self.expr(step)}, {tile},"
            f" {self.along.size.value}, last - first);"
        )

    # ---- statements

    def do_reduce(self, s: Reduce | Running) -> None:
        value = self.emit(s.value)
        self.scopes[-1].lines.append(f"{s.name} = {combiner(s.kind, s.dtype)}::of({s.name}, {value});")

    def do_running(self, s: Running) -> None:
        self.do_reduce(s)
        name = self.named_rows[s.name] = self.fresh()
        self.scopes[-1].lines.append(f"const auto {name} = {s.name};")
        self.rows[s.name] = INNERMOST

    def do_keep(self, s: Keep) -> None:
        value = self.emit(s.value)
        self.rows[s.name] = INNERMOST
        self.scopes[1].lines.append(f"{vector(s.value.dtype)} {s.name}[{self.along.size.value}];")
        self.scopes[-1].lines.append(f"{s.name}[{self.along.name}] = {value};")

    def write_kept(self, n: Node, scope: Scope) -> str:
        assert n.dtype in COMPUTED
        return self.define(scope, f"{n.name}[{self.along.name}]")
