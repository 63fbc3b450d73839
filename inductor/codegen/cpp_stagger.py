"""Rows that take several loops, staggered: one loop runs the first stage of a row beside the second stage of the row
before it, and so on.

One after the other, every stage would wait for what the one before it has summed up over the whole row: the steps of
softmax for its maximum, then for its sum. Staggered, they wait once a row together, and reading, computing and writing
overlap. What is known of a row moves on by one variable with every step: `i0_2` is the row of the third stage,
`row_buf0_2` what was reduced over it. Sums are the same, in the same order.
"""

from __future__ import annotations

from functools import cached_property

from aten.records import record, replaced
from aten.symbolic.expr import Expr, as_expr, substitute, sym
from inductor.choices import EXPENSIVE
from inductor.codegen.cpp_loops import UNIT_NAMES, NestWriter
from inductor.codegen.cpp_reduce import INNERMOST, ROW_CHUNK, indent
from inductor.codegen.cpp_vector import COMPUTED, MAX_LANES, MEMORY, WIDTH, identity, vector
from inductor.codegen.kernel import values_of
from inductor.ir import scalar
from inductor.ir.index import coefficient, without
from inductor.ir.loops import Keep, Reduce, Stage, Store
from inductor.ir.nodes import Node, kept, loads, rewrite, row, walk

SHORT = 256  # elements: rows up to here wait longer than they compute, whatever they compute
LONGEST = 4096  # elements: several longer rows would not stay near the core
FEWEST = 64  # rows: every range runs some stages on a row too many
LARGEST = 64  # nodes of all loops together: their values stay in registers


def staggers(w: NestWriter) -> bool:
    """Whether the loops of a nest's rows are worth running side by side, and may be. Long rows are where they compute
    as long as they read: else the loops take turns with memory as it is."""
    inner = [stage for stage in w.nest.stages if stage.inner]
    if w.plan.mode != "row" or w.plan.serial or not w.plan.outer or len(inner) < 2 or w.isa.bytes < 64:
        return False
    length = w.size_hint(w.plan.axis.size)
    nodes = list(walk(v for stage in w.nest.stages for v in values_of(stage)))
    busy = any(n.kind == "call" and scalar.cost(n) >= EXPENSIVE and w.varies(n) for n in nodes)
    if busy and w.lanes < MAX_LANES:  # (functions of float64 leave no registers: softmax of [360, 360] 290 us, in turn 195)
        return False
    if not (length <= LONGEST if busy else length <= SHORT and len(inner) > 2) or w.size_hint(w.units) < FEWEST:
        return False
    if len(nodes) > LARGEST or any(n.kind in ("checked", "masked") for n in nodes) or w.kept_in_results:
        return False
    return all(_plain(w, s) for stage in inner for s in stage.body)


def _plain(w: NestWriter, s) -> bool:
    """Whether a statement of a loop may run ahead of, or behind, those of its row."""
    if isinstance(s, Store):
        index = w.simplified(s.index)
        step = coefficient(index, w.plan.axis.name)
        return step is not None and step.is_const and step.value == 1
    return isinstance(s, Keep) or (isinstance(s, Reduce) and not s.kind.startswith("arg"))


@record(frozen=True)
class Step:
    """A stage that runs `delay` rows behind the first, in terms of the variables of its row."""

    delay: int
    stage: Stage


class StaggeredWriter(NestWriter):
    """Writes a nest that `staggers`."""

    # ---- which row a stage is at

    @cached_property
    def steps(self) -> list[Step]:
        """The stages; those outside the loop run once the loop before them has ended."""
        out, delay, made = [], -1, {}
        for stage in self.nest.stages:
            delay += stage.inner
            made.update({s.name: delay for s in stage.body if isinstance(s, (Reduce, Keep))})
            out.append(Step(max(delay, 0), self.delayed(stage, max(delay, 0), made)))
        return out

    @cached_property
    def aside(self) -> dict[Node, int]:
        return {}  # other rows are being read and stored at the same time, wherever the copies lie

    @property
    def depth(self) -> int:
        return 1 + max(step.delay for step in self.steps)

    def delayed(self, stage: Stage, delay: int, made: dict[str, int]) -> Stage:
        """The stage in terms of the variables of the row that is `delay` behind the first stage's."""
        values = {d.name: sym(later(d.name, delay)) for d in self.plan.outer}

        def leaf(n: Node) -> Node | None:
            if n.kind not in ("row", "kept"):
                return None
            behind = delay - made[n.name]
            self.behind[n.name] = max(self.behind.get(n.name, 0), behind)
            return (row if n.kind == "row" else kept)(later(n.name, behind), n.dtype)

        memo: dict[Node, Node] = {}
        body = []
        for s in stage.body:
            s = replaced(s, value=rewrite(s.value, leaf, values, memo))
            body.append(replaced(s, index=substitute(s.index, values)) if isinstance(s, Store) else s)
        return Stage(stage.inner, tuple(body))

    @cached_property
    def behind(self) -> dict[str, int]:
        """By name of a row or kept value, how many rows later it is last read."""
        return {}

    def valid(self, delay: int) -> str:
        """Text: whether the stages with this delay are at a row of this range."""
        return f"unit >= begin + {delay} && unit < end + {delay}"

    # ---- the function

    def function(self) -> str:
        p, steps = self.plan, self.steps
        names = [later(d.name, k) for d in p.outer for k in range(self.depth)]
        self.ranges.update({later(d.name, k): (as_expr(0), d.size - 1) for d in p.outer for k in range(self.depth)})
        unit = self.open({*names, *UNIT_NAMES})
        inner = [step for step in steps if step.stage.inner]
        reductions = [s for step in inner for s in step.stage.body if isinstance(s, Reduce)]
        for s in reductions:
            T = vector(s.dtype)
            unit.lines.append(f"{T} {s.name} = w_splat<{T}>({identity(s.kind, s.dtype)});")
            self.rows.update({later(s.name, k): 1 for k in range(1, self.depth)})
        keeps = [s.name for step in inner for s in step.stage.body if isinstance(s, Keep)]
        self.rows.update({later(name, k): INNERMOST for name in keeps for k in range(1, self.depth)})
        loop = self.joint_loop(inner, reductions)
        unit.lines += ["{", *indent(loop), "}"]
        for s in reductions:
            self.rows[s.name] = 2  # from here on
        for step in steps:
            if not step.stage.inner:
                self.after_loop(step)
        for s in reductions:
            unit.lines += [f"{later(s.name, k)} = {later(s.name, k - 1)};" for k in range(self.behind.get(s.name, 0), 0, -1)]
        body = self.scopes[0].lines + self.history(reductions) + self.step_loop(self.close().lines)
        head = f"static void {self.name}(void *ctx, long begin, long end, long worker) {{"
        return "\n".join([head, *indent(self.declarations() + body + (["w_fence();"] if self.streamed else [])), "}"])

    def history(self, reductions: list[Reduce]) -> list[str]:
        """What earlier rows have left."""
        return [
            f"{vector(s.dtype)} {later(s.name, k)} = {{}};"
            for s in reductions
            for k in range(1, self.behind.get(s.name, 0) + 1)
        ]

    def step_loop(self, inner: list[str]) -> list[str]:
        """Loop over the units of this range, and on until the last stage has come to the last row."""
        names = [name for name, _ in self.unit_dims()]
        start, step = self.odometer()
        for k in range(1, self.depth):
            start += [f"long {later(name, k)} = {name};" for name in names]
        moves = [f"{later(name, k)} = {later(name, k - 1)};" for k in range(self.depth - 1, 0, -1) for name in names]
        return [
            *start,
            f"for (long unit = begin; unit < end + {self.depth - 1}; unit++) {{",
            *indent(inner),
            *indent(moves),
            f"  if (unit + 1 < end) {{ {step} }}",
            "}",
        ]

    def joint_loop(self, inner: list[Step], reductions: list[Reduce]) -> list[str]:
        """The loops over a row as one. The last stage comes first: it reads what the others then write over. Stores
        come after all reads, which the processor would else hold back where addresses agree in their last twelve bits.
        """
        size, limit = self.plan.axis.size, self.expr(self.plan.axis.size)
        self.open({self.plan.axis.name})
        for step in reversed(inner):
            self.compute(step.stage)
        for step in inner:
            self.delay = step.delay
            for s in step.stage.body:
                if isinstance(s, Store):
                    self.do_store(s)
        body = self.close().lines + self.ahead_of(inner)
        accumulators = [line for s in reductions for line in self.accumulators_of(s)]
        if (size.is_const and size.value <= ROW_CHUNK) or not any(self.chunks(s) for s in reductions):
            loops = self.vector_loops(body, "0", limit, 2)
            return accumulators + loops + [line for s in reductions for line in self.combined(s, False)]
        return [
            f"for (long chunk = 0; chunk < {limit}; chunk += {ROW_CHUNK}) {{",
            *indent(accumulators),
            f"  const long part = chunk + {ROW_CHUNK} < {limit} ? chunk + {ROW_CHUNK} : {limit};",
            *indent(self.vector_loops(body, "chunk", "part", 2)),
            *indent([line for s in reductions for line in self.combined(s, True)]),
            "}",
        ]

    def after_loop(self, step: Step) -> None:
        """Statements that run once a row."""
        self.open(())
        self.delay = step.delay
        self.statements(step.stage)
        lines = self.close().lines
        self.scopes[-1].lines += [f"if ({self.valid(step.delay)}) {{", *indent(lines), "}"]

    def ahead_of(self, inner: list[Step]) -> list[str]:
        """Lines that ask for what the first stage will read of a row to come and where the last will write it."""
        first, last = inner[0], inner[-1]
        dim = self.plan.outer[-1]
        coming = {dim.name: dim.var + self.rows_ahead}
        wanted = [(n.buffer, substitute(n.index, coming), "") for n in loads(values_of(first.stage)) if not n.args]
        before = {later(d.name, last.delay): sym(later(d.name, last.delay - 1)) for d in self.plan.outer}
        before[later(dim.name, last.delay)] += self.rows_ahead - 1
        for s in last.stage.body:
            if isinstance(s, Store) and not self.streams(s):
                wanted.append((s.buffer, substitute(s.index, before), ", 1"))
        lines = []
        for buffer, index, mode in wanted:
            index = self.simplified(index)
            step = coefficient(index, self.plan.axis.name)
            if len(index.free_symbols) > 1 and step is not None and step.is_const and step.value == 1:
                lines.append(f"__builtin_prefetch(b{self.argument(buffer)} + {self.address(index)}{mode});")
        return list(dict.fromkeys(lines))

    # ---- memory beside the buffers

    @property
    def rounded(self) -> Expr:
        return (self.plan.axis.size + (MAX_LANES - 1)) // MAX_LANES * MAX_LANES

    def scratch_lines(self) -> list[str]:
        """Kept values: as many rows as they are read later; and a row for what is stored before the first and after
        the last."""
        row = self.expr(self.rounded)
        rows = [(name, dtype, max(1, self.behind.get(name, 1))) for name, dtype in self.keeps.items()]
        total = 8 + sum(WIDTH[dtype] * count for _, dtype, count in rows)
        lines = [f"char *const scratch = (char *)frame->runtime->scratch(worker, ({row}) * {total});", "(void)scratch;"]
        at = 8
        for name, dtype, count in rows:
            T = COMPUTED[dtype]
            lines.append(f"{T} *const {name}_rows = ({T} *)(scratch + ({row}) * {at});")
            at += WIDTH[dtype] * count
        return lines

    def kept_row(self, name: str, behind: int) -> str:
        """The pointer to the row of a kept value that was written `behind` rows ago."""
        pointer, count = later(name, behind), max(1, self.behind.get(name, 1))
        if pointer not in self.pointers:
            self.pointers.add(pointer)
            at = f" + (unit + {count} - {behind}) % {count} * ({self.expr(self.rounded)})" if count > 1 else ""
            self.scopes[1].lines.append(f"auto *const {pointer} = {name}_rows{at};")
        return pointer

    @cached_property
    def pointers(self) -> set[str]:
        return set()

    # ---- statements

    def do_keep(self, s: Keep) -> None:
        value = self.emit(s.value)
        self.keeps[s.name] = s.value.dtype
        self.scopes[-1].lines.append(f"w_write({self.kept_row(s.name, 0)} + {self.plan.axis.name}, {value}, w_all{{}});")

    def write_kept(self, n: Node, scope) -> str:
        name, _, behind = n.name.rpartition("_")
        pointer = self.kept_row(name, int(behind))
        return self.define(scope, f"w_read<{COMPUTED[n.dtype]}, L>({pointer} + {self.plan.axis.name}, w_all{{}})")

    def do_store(self, s: Store) -> None:
        value = self.emit(s.value)
        v = self.plan.axis.name
        k = self.argument(s.buffer)
        index = self.simplified(s.index)
        if v not in index.free_symbols:
            self.scopes[-1].lines.append(f"w_store1(b{k} + {self.address(index)}, {value});")
            return
        T, pointer = MEMORY[self.buffers[s.buffer].dtype], self.fresh("to")
        base = self.address(self.simplified(without(index, v)))
        self.scopes[1].lines.append(f"{T} *const {pointer} = {self.valid(self.delay)} ? b{k} + {base} : ({T} *)scratch;")
        store = "w_stream" if self.streams(s) else "w_store"
        self.scopes[-1].lines.append(f"{store}({pointer} + {v}, {value}, n);")


def later(name: str, rows: int) -> str:
    """What a variable of the first stage's row is called `rows` rows later."""
    return f"{name}_{rows}" if rows else name
