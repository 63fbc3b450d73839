"""One nest as a C++ function: its loops, its reductions, its share of a parallel_for."""

from __future__ import annotations

from aten.symbolic.expr import Expr, as_expr, evaluate, to_cpp
from inductor.codegen.cpp_values import ValueWriter
from inductor.codegen.cpp_vector import (
    COMPUTED,
    MAX_LANES,
    MEMORY,
    VIRTUAL_LANES,
    WIDTH,
    Isa,
    combiner,
    identity,
    vector,
)
from inductor.codegen.kernel import Plan, extent, fits_int32, plan, values_of, work_of
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.index import coefficient, row_major
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Store
from inductor.ir.nodes import FLOATS, walk

ROW_CHUNK = 8192  # elements of a row that are summed into one partial sum
COLUMN_CHUNK = 256  # rows
POINT_BLOCK = 8192
INNERMOST = 99  # the level of values known only in the innermost loop
COLUMN_BLOCK = 1024
THREAD_WORK = 1 << 17  # additions a thread must have to be worth waking


def indent(lines: list[str], by: str = "  ") -> list[str]:
    return [by + line for line in lines]


class NestWriter(ValueWriter):
    """Writes one nest of a kernel."""

    def __init__(self, kernel: Kernel, nest: Nest, name: str, buffers: dict[str, Buffer], hints: dict, ranges: dict,
                 isa: Isa):
        if not nest.dims:
            nest = Nest((Dim("i0", as_expr(1)),), nest.stages)
        super().__init__(kernel, plan(nest, buffers, hints), ranges)
        self.nest, self.name, self.buffers, self.hints, self.isa = nest, name, buffers, hints, isa
        self.lanes = isa.lanes(n.dtype for stage in nest.stages for n in walk(values_of(stage)) if self.varies(n))
        self.accumulators = VIRTUAL_LANES // self.lanes
        self.keeps: dict[str, str] = {}
        self.sequential = any(isinstance(s, Accumulate) for s in nest.statements)
        self.blocked = self.block_size()

    # ---- units: how the outer loops are cut

    def size_hint(self, e: Expr) -> int:
        return evaluate(e, self.hints) if e.free_symbols <= self.hints.keys() else 64

    def block_size(self) -> int:
        """Elements of the vector axis in a unit; 0 if a unit has all of it."""
        p: Plan = self.plan
        if p.mode == "row":
            return 0
        length, known = self.size_hint(p.axis.size), p.axis.size.is_const
        if p.mode == "point":
            return POINT_BLOCK if length > POINT_BLOCK or not known else 0
        rest = max(1, self.size_hint(extent(p.outer)))
        block = COLUMN_BLOCK
        while block > 64 and (length // block) * rest < 8:
            block //= 2
        return block

    @property
    def units(self) -> Expr:
        total = extent(self.plan.outer)
        if self.blocked:
            total = total * ((self.plan.axis.size + (self.blocked - 1)) // self.blocked)
        return total

    def launch(self) -> list[str]:
        """The lines of the entry that run this nest."""
        units, text = self.units, self.expr(self.units)
        per_point = 1 + work_of(self.nest) // 8
        points = max(1, self.size_hint(extent(self.nest.dims)))
        grain = max(1, THREAD_WORK // per_point * max(1, self.size_hint(units)) // points)
        direct = f"{self.name}(&frame, 0, {text}, 0);"
        failed = ["if (frame.failed) return frame.failed;"] if self.kernel.checks else []
        if self.sequential or (units.is_const and units.value <= grain):
            return [direct, *failed]
        return [f"runtime->parallel_for({text}, {grain}, {self.name}, &frame);", *failed]

    # ---- the function

    def function(self) -> str:
        unit = self.open({d.name for d in self.plan.outer} | {"block"})
        body: list[str] = []
        p = self.plan
        if self.blocked:
            size = self.expr(p.axis.size)
            unit.lines += [f"const long first = block * {self.blocked};",
                           f"const long last = first + {self.blocked} < {size} ? first + {self.blocked} : {size};"]
        elif p.mode != "row":
            unit.lines += ["const long first = 0;", f"const long last = {self.expr(p.axis.size)};"]
        for stage in self.nest.stages:
            self.stage(stage)
        inner = self.close().lines
        body += self.scopes[0].lines
        body += self.unit_loop(inner)
        head = f"static void {self.name}(void *ctx, long begin, long end, long worker) {{"
        return "\n".join([head, *indent(self.declarations() + body), "}"])

    def declarations(self) -> list[str]:
        from inductor.codegen.cpp import symbol_lines

        lines = ["if (begin >= end) return;", "w_frame *const frame = (w_frame *)ctx;", f"constexpr int L = {self.lanes};"]
        written = {s.buffer for s in self.nest.statements if isinstance(s, (Store, Accumulate))}
        for k, name in enumerate(self.kernel.args):
            if name in self.touched:
                T = MEMORY[self.buffers[name].dtype]
                const = "" if name in written else "const "
                lines.append(f"{const}{T} *__restrict const b{k} = ({const}{T} *)frame->buffers[{k}];")
        lines += symbol_lines(self.kernel, "frame->symbols")
        if self.keeps:
            rounded = (self.plan.axis.size + (MAX_LANES - 1)) // MAX_LANES * MAX_LANES
            stride = f"({self.expr(extent(self.plan.serial) * rounded)})"
            sizes = [WIDTH[dtype] for dtype in self.keeps.values()]
            lines.append(f"char *const scratch = (char *)frame->runtime->scratch(worker, {stride} * {sum(sizes)});")
            at = 0
            for (name, dtype), size in zip(self.keeps.items(), sizes):
                T = COMPUTED[dtype]
                lines.append(f"{T} *__restrict const {name} = ({T} *)(scratch + {stride} * {at});")
                at += size
        return lines

    def unit_loop(self, inner: list[str]) -> list[str]:
        """Loop over the units of this range; the outer variables count up like an odometer."""
        dims = [(d.name, self.expr(d.size)) for d in self.plan.outer]
        if self.blocked:
            blocks = self.expr((self.plan.axis.size + (self.blocked - 1)) // self.blocked)
            dims.append(("block", blocks))
        if not dims:
            return ["if (begin < end) {", *indent(inner), "}"]
        lines, rest = [], "begin"
        for k, (name, size) in enumerate(reversed(dims)):
            last = k == len(dims) - 1
            lines.append(f"long {name} = {rest};" if last else f"long {name} = {rest} % ({size});")
            rest = f"{rest} / ({size})"
        step = []
        for k, (name, size) in enumerate(reversed(dims)):
            last = k == len(dims) - 1
            step.append(f"{name}++;" if last else f"if (++{name} == {size}) {{ {name} = 0; ")
        closing = " }" * (len(dims) - 1)
        return [*lines, "for (long unit = begin; unit < end; unit++) {", *indent(inner), "  " + "".join(step) + closing, "}"]

    # ---- stages

    def stage(self, stage: Stage) -> None:
        mode = self.plan.mode
        if mode == "row" and not stage.inner:
            self.statements(stage)
        elif mode == "row":
            self.row_stage(stage)
        elif mode == "column" and stage.inner:
            self.column_stage(stage)
        else:
            self.vector_loop(stage, "first", "last")

    def vector_loop(self, stage: Stage, start: str, stop: str, head: list[str] | None = None,
                    foot: list[str] | None = None) -> None:
        """for v in [start, stop): the statements on L lanes, then on what is left."""
        v = self.plan.axis.name
        self.open({v})
        self.statements(stage)
        body = [*(head or []), *self.close().lines, *(foot or [])]
        loop = [f"long {v} = {start};", f"for (; {v} + L <= {stop}; {v} += L) {{", "  constexpr w_all n = {};",
                *indent(body), "}"]
        if not self.even():
            loop += [f"if ({v} < {stop}) {{", f"  const w_some n = w_tail({stop} - {v});", *indent(body), "}"]
        self.scopes[-1].lines += ["{", *indent(loop), "}"]

    def even(self) -> bool:
        """Whether vectors always fill the loop exactly."""
        size = self.plan.axis.size
        return size.is_const and size.value % self.lanes == 0

    def row_stage(self, stage: Stage) -> None:
        """A loop over the reduced dims with accumulators in registers."""
        out = self.scopes[-1].lines
        reductions = [s for s in stage.body if isinstance(s, Reduce)]
        size = self.plan.axis.size
        chunked = any(self.chunks(s) for s in reductions) and not (size.is_const and size.value <= ROW_CHUNK)
        for s in reductions:
            T = vector("int64" if s.kind.startswith("arg") else s.dtype)
            start = "0" if s.kind.startswith("arg") else identity(s.kind, s.dtype)
            out.append(f"{T} {s.name} = w_splat<{T}>({start});")
        block = self.open(())
        block.lines += [f"{COMPUTED[s.dtype]} {s.name}_carry = {identity(s.kind, s.dtype)};" for s in stage.body
                        if isinstance(s, Running)]
        counts = self.counts(stage)
        if counts:
            block.lines.append("long at = 0;")
        if not chunked:
            block.lines += [line for s in reductions for line in self.accumulators_of(s)]
        for d in self.plan.serial:
            self.open({d.name})
        limit = self.expr(size)
        if chunked:
            part = self.open(())
            part.lines += [line for s in reductions for line in self.accumulators_of(s)]
            part.lines.append(f"const long part = chunk + {ROW_CHUNK} < {limit} ? chunk + {ROW_CHUNK} : {limit};")
        self.vector_loop(stage, "chunk" if chunked else "0", "part" if chunked else limit,
                         foot=["at += L;"] if counts else None)
        if self.plan.serial and not chunked:
            self.scopes[-1].lines += self.pad_row(reductions)
        if chunked:
            lines = self.close().lines + [line for s in reductions for line in self.combined(s, True)]
            self.scopes[-1].lines += [f"for (long chunk = 0; chunk < {limit}; chunk += {ROW_CHUNK}) {{", *indent(lines), "}"]
        for d in reversed(self.plan.serial):
            lines = self.close().lines
            self.scopes[-1].lines += [f"for (long {d.name} = 0; {d.name} < {self.expr(d.size)}; {d.name}++) {{",
                                      *indent(lines), "}"]
        if not chunked:
            block.lines += [line for s in reductions for line in self.combined(s, False)]
        out += ["{", *indent(self.close().lines), "}"]
        for s in reductions:
            self.rows[s.name] = 1

    def pad_row(self, reductions: list[Reduce]) -> list[str]:
        """Every row begins at a multiple of 16 virtual lanes, so that the width of registers does not matter."""
        group = MAX_LANES // self.lanes
        if group == 1:
            return []
        lines = []
        for s in reductions:
            arrays = [f"{s.name}_a"] + ([f"{s.name}_i"] if s.kind.startswith("arg") else [])
            for a in arrays:
                first = self.fresh("x")
                lines += [f"const auto {first} = {a}[0];", *self.rotate(a, first)]
        vectors = self.expr((self.plan.axis.size + (self.lanes - 1)) // self.lanes)
        return [f"for (long k = {vectors}; k % {group}; k++) {{", *indent(lines), "}"] if lines else []

    def counts(self, stage: Stage) -> bool:
        """Whether the stage writes or reads kept values, whose place is counted along its loops."""
        kept = any(n.kind == "kept" for n in walk(values_of(stage)))
        return kept or any(isinstance(s, Keep) for s in stage.body)

    def chunks(self, s: Reduce) -> bool:
        return s.dtype in FLOATS and s.kind in ("sum", "prod")

    def position_type(self) -> str:
        """The lane type of positions in argmax."""
        return "int" if fits_int32(extent(self.nest.reduced), self.ranges) else "long"

    def accumulators_of(self, s: Reduce) -> list[str]:
        T, A = vector(s.dtype), self.accumulators
        lines = [f"{T} {s.name}_a[{A}];", f"for (int k = 0; k < {A}; k++) {s.name}_a[k] = "
                 f"w_splat<{T}>({identity(s.kind, s.dtype)});"]
        if s.kind.startswith("arg"):
            P = f"w_vec<{self.position_type()}, L>"
            last = "0x7fffffff" if self.position_type() == "int" else "0x7fffffffffffffffl"
            lines += [f"{P} {s.name}_i[{A}];", f"for (int k = 0; k < {A}; k++) {s.name}_i[k] = w_splat<{P}>({last});"]
        return lines

    def combined(self, s: Reduce, partial: bool) -> list[str]:
        A = self.accumulators
        if s.kind.startswith("arg"):
            largest = str(s.kind == "argmax").lower()
            return [f"{s.name} = w_cast<long>(w_arg_combine<{largest}, {A}>({s.name}_a, {s.name}_i));"]
        op = combiner(s.kind, s.dtype)
        total = f"w_combine<{op}, {A}>({s.name}_a)"
        return [f"{s.name} = {op}::of({s.name}, {total});" if partial else f"{s.name} = {total};"]

    def column_stage(self, stage: Stage) -> None:
        """Loops over rows; every lane of the block has its own accumulator in memory that stays in cache."""
        out = self.scopes[-1].lines
        reductions = [s for s in stage.body if isinstance(s, (Reduce, Running))]
        v, serial = self.plan.axis.name, self.plan.serial
        groups = -(-self.blocked // self.lanes)
        rows = serial[0].size if len(serial) == 1 else None
        chunked = (rows is not None and any(isinstance(s, Reduce) and self.chunks(s) for s in reductions)
                   and not (rows.is_const and rows.value <= COLUMN_CHUNK))
        for s in reductions:
            out += self.column_accumulators(s, groups, chunked)
            self.rows[s.name] = INNERMOST
        self.column_rows(stage, reductions, chunked)
        for s in reductions:
            source = f"{s.name}_t" if chunked else f"{s.name}_a"
            if isinstance(s, Reduce):
                self.column_results[s.name] = (f"w_cast<long>({s.name}_i[({v} - first) / L])" if s.kind.startswith("arg")
                                               else f"{source}[({v} - first) / L]")
            self.rows[s.name] = INNERMOST

    def column_accumulators(self, s: Reduce | Running, groups: int, chunked: bool) -> list[str]:
        T, start = vector(s.dtype), identity(s.kind, s.dtype)
        lines = [f"{T} {s.name}_a[{groups}];"]
        loop = f"for (int k = 0; k < {groups}; k++) "
        if chunked:
            lines += [f"{T} {s.name}_t[{groups}];", f"{loop}{s.name}_t[k] = w_splat<{T}>({start});"]
        else:
            lines += [f"{loop}{s.name}_a[k] = w_splat<{T}>({start});"]
        if s.kind.startswith("arg"):
            P = f"w_vec<{self.position_type()}, L>"
            lines += [f"{P} {s.name}_i[{groups}];", f"{loop}{s.name}_i[k] = w_splat<{P}>(0x7fffffff);"]
        return lines

    def column_rows(self, stage: Stage, reductions: list, chunked: bool) -> None:
        serial = self.plan.serial
        out = self.scopes[-1].lines
        for d in serial:
            self.open({d.name})
        self.vector_loop(stage, "first", "last", head=["const long group = (" + self.plan.axis.name + " - first) / L; (void)group;"])
        groups = -(-self.blocked // self.lanes)
        for k, d in enumerate(reversed(serial)):
            lines = self.close().lines
            size = self.expr(d.size)
            if chunked:
                start = [f"for (int k = 0; k < {groups}; k++) {s.name}_a[k] = w_splat<{vector(s.dtype)}>"
                         f"({identity(s.kind, s.dtype)});" for s in reductions]
                end = [f"for (int k = 0; k < {groups}; k++) {s.name}_t[k] = "
                       f"{combiner(s.kind, s.dtype)}::of({s.name}_t[k], {s.name}_a[k]);" for s in reductions]
                out += [f"for (long chunk = 0; chunk < {size}; chunk += {COLUMN_CHUNK}) {{", *indent(start),
                        f"  const long part = chunk + {COLUMN_CHUNK} < {size} ? chunk + {COLUMN_CHUNK} : {size};",
                        f"  for (long {d.name} = chunk; {d.name} < part; {d.name}++) {{", *indent(lines, "    "), "  }",
                        *indent(end), "}"]
            else:
                self.scopes[-1].lines += [f"for (long {d.name} = 0; {d.name} < {size}; {d.name}++) {{", *indent(lines), "}"]

    # ---- statements

    def statements(self, stage: Stage) -> None:
        """Stores come last, after every value has been computed: one may overwrite what another reads."""
        for s in stage.body:
            if not isinstance(s, Store):
                self.statement(s)
        stores = [s for s in stage.body if isinstance(s, Store)]
        for s in stores:
            self.emit(s.value)
        for s in stores:
            self.do_store(s)

    def statement(self, s) -> None:
        getattr(self, "do_" + type(s).__name__.lower())(s)

    def do_store(self, s: Store) -> None:
        value = self.emit(s.value)
        once = len(self.scopes) == 2 and self.plan.mode == "row"
        self.scopes[-1].lines.append(self.store_line(s, value, once))

    def do_accumulate(self, s: Accumulate) -> None:
        value = self.emit(s.value)
        k = self.argument(s.buffer)
        index = self.simplified(s.index)
        step = coefficient(index, self.plan.axis.name)
        names = self.indirect(s.where)
        if names is not None and step is not None and step.is_const and step.value == 1:
            at = f"b{k} + {self.address(index, names)}"
            self.scopes[-1].lines.append(f"w_store({at}, w_load<L>({at}, n) + {value}, n);")
        else:
            self.scopes[-1].lines.append(f"w_accumulate_at(b{k}, {self.vector_index(index, s.where)}, {value}, n);")

    def do_reduce(self, s: Reduce) -> None:
        value, T = self.emit(s.value), vector(s.dtype)
        lines = self.scopes[-1].lines
        column = self.plan.mode == "column"
        if s.kind.startswith("arg"):
            P, largest = f"w_vec<{self.position_type()}, L>", str(s.kind == "argmax").lower()
            at = self.position_vector(P)
            slot = "[group]" if column else "[0]"
            if column:
                lines.append(f"w_arg<{largest}>({s.name}_a{slot}, {s.name}_i{slot}, {value}, {at});")
                return
            x, i = self.fresh("x"), self.fresh("x")
            keep = f"w_keep(n, {value}, w_splat<{T}>({identity(s.kind, s.dtype)}))"
            last = "0x7fffffff" if self.position_type() == "int" else "0x7fffffffffffffffl"
            lines += [f"{T} {x} = {s.name}_a[0]; {P} {i} = {s.name}_i[0];",
                      f"w_arg<{largest}>({x}, {i}, {keep}, w_keep(n, {at}, w_splat<{P}>({last})));"]
            lines += self.rotate(f"{s.name}_a", x) + self.rotate(f"{s.name}_i", i)
            return
        op = combiner(s.kind, s.dtype)
        if column:
            lines.append(f"{s.name}_a[group] = {op}::of({s.name}_a[group], {value});")
            return
        x = self.fresh("x")
        keep = f"w_keep(n, {value}, w_splat<{T}>({identity(s.kind, s.dtype)}))"
        lines.append(f"const {T} {x} = {op}::of({s.name}_a[0], {keep});")
        lines += self.rotate(f"{s.name}_a", x)

    def rotate(self, array: str, value: str) -> list[str]:
        """Group g of the virtual lanes takes every A-th vector. The final tree does not see the rotation."""
        moves = " ".join(f"{array}[{k}] = {array}[{k + 1}];" for k in range(self.accumulators - 1))
        return [f"{moves} {array}[{self.accumulators - 1}] = {value};"]

    def position_vector(self, P: str) -> str:
        """The row-major positions of the lanes in the reduced domain."""
        reduced = self.nest.reduced
        position = as_expr(0)
        for d, step in zip(reduced, row_major([d.size for d in reduced])):
            position = position + d.var * step
        step = coefficient(position, self.plan.axis.name)
        E = P[6 : P.index(",")]
        base = f"w_splat<{P}>(({E})({to_cpp(position, self.ranges)}))"
        if step.is_const and step.value == 0:
            return base
        return f"({base} + w_iota<{E}, L>() * ({E})({self.expr(step)}))"

    def do_running(self, s: Running) -> None:
        value = self.emit(s.value)
        op = combiner(s.kind, s.dtype)
        scope = self.scopes[-1]
        name = self.fresh()
        if self.plan.mode == "column":
            scope.lines.append(f"const auto {name} = {s.name}_a[group] = {op}::of({s.name}_a[group], {value});")
        else:
            scope.lines.append(f"const auto {name} = w_scan<{op}>({s.name}_carry, {value}, n);")
        self.named_rows[s.name] = name
        self.rows[s.name] = INNERMOST

    def do_keep(self, s: Keep) -> None:
        value = self.emit(s.value)
        self.keeps[s.name] = s.value.dtype
        self.rows[s.name] = INNERMOST
        self.scopes[-1].lines.append(f"w_write({s.name} + at, {value}, w_all{{}});")
