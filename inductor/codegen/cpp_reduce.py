"""Reductions and scans of a nest in C++: along vectors ("row") and across them ("column").

The order in which a sum is taken is a function of the reduced sizes alone. In a row, element i goes to virtual lane
i % 64, lanes combine in halves; rows longer than ROW_CHUNK are cut there and the parts added in order. In a column,
rows are added in order, in chunks of COLUMN_CHUNK.
"""

from __future__ import annotations

from aten.symbolic.expr import Expr, as_expr, to_cpp
from inductor.codegen.cpp_columns import INNERMOST, ColumnStages
from inductor.codegen.cpp_vector import COMPUTED, MAX_LANES, combiner, identity, vector
from inductor.codegen.kernel import extent, fits_int32, values_of, work_of
from inductor.ir.index import coefficient, row_major
from inductor.ir.loops import Keep, Nest, Reduce, Running, Stage, Store
from inductor.ir.nodes import FLOATS, Node, loads, walk

ROW_CHUNK = 8192  # elements of a row that are summed into one partial sum
LONG_ROW = 1 << 15  # elements of a row that does not stay in the nearest cache
COLUMN_CHUNK = 256  # rows; a multiple of UNROLLED_ROWS
BYTES_AHEAD = 8192  # of rows: about what arrives while they are worked through
UNROLLED_ROWS = 4
UNROLLED_LINES = 9
UNROLLED_WORK = 12  # additions a point: beyond, a body is long enough as it is


def has_parts(s: Reduce | Running) -> bool:
    """Whether a chunk has a result of its own. A position has none, and a product is the same without: each chunk's would come to
    0 anew by way of denormal numbers, which take a hundred times as long (prod of [60,60,60]: 121 us instead of 14)."""
    return s.kind != "prod" and not s.kind.startswith("arg")


def indent(lines: list[str], by: str = "  ") -> list[str]:
    return [by + line for line in lines]


class ReductionWriter(ColumnStages):
    """What a NestWriter does about reduced dims. `lanes`: of a vector; `accumulators`: vectors of virtual lanes;
    `blocked`: columns in a unit; `keeps`: values kept between stages, by name, and their dtypes."""

    nest: Nest
    lanes: int
    accumulators: int
    blocked: int
    keeps: dict[str, str]

    def statements(self, stage: Stage) -> None:
        raise NotImplementedError

    def size_hint(self, e: Expr) -> int:
        raise NotImplementedError

    def vector_loop(self, stage: Stage, start: str, stop: str, foot: list[str], even: bool | None = None) -> None:
        """for v in [start, stop): the statements on L lanes, then on what is left."""
        self.open({self.plan.axis.name})
        self.statements(stage)
        body = self.close().lines + foot
        self.scopes[-1].lines += self.vector_loops(body, start, stop, even=even)

    def vector_loops(
        self, body: list[str], start: str, stop: str, unrolled: int = 0, even: bool | None = None
    ) -> list[str]:
        """Loops of `body` over whole vectors, `unrolled` at a time, then once over the rest. `even`: whether there is
        none, where start and stop are not those of the axis."""
        v = self.plan.axis.name
        if self.plan.mode == "row" and len(body) <= UNROLLED_LINES:
            unrolled = 8
        unroll = [f"#pragma GCC unroll {unrolled}"] if unrolled else []
        loop = [
            f"long {v} = {start};",
            *unroll,
            f"for (; {v} + L <= {stop}; {v} += L) {{",
            "  constexpr w_all n = {};",
            *indent(body),
            "}",
        ]
        if not (self.even() if even is None else even):
            loop += [f"if ({v} < {stop}) {{", f"  const w_some n = w_tail({stop} - {v});", *indent(body), "}"]
        return ["{", *indent(loop), "}"]

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
        block.lines += [
            f"{COMPUTED[s.dtype]} {s.name}_carry = {identity(s.kind, s.dtype)};"
            for s in stage.body
            if isinstance(s, Running)
        ]
        counts = self.counts(stage)
        if self.goes_back(stage):
            self.row_backwards(stage, counts)
            out += ["{", *indent(self.close().lines), "}"]
            return
        if counts:
            block.lines.append("long at = 0;")
        in_parts = [s for s in reductions if chunked and has_parts(s)]
        whole = [s for s in reductions if s not in in_parts]
        block.lines += [line for s in whole for line in self.accumulators_of(s)]
        for d in self.plan.serial:
            self.open({d.name})
        limit = self.expr(size)
        if chunked:
            part = self.open(())
            part.lines += [line for s in in_parts for line in self.accumulators_of(s)]
            part.lines.append(f"const long part = chunk + {ROW_CHUNK} < {limit} ? chunk + {ROW_CHUNK} : {limit};")
        self.vector_loop(
            stage,
            "chunk" if chunked else "0",
            "part" if chunked else limit,
            [*self.coming_row(stage), *(["at += L;"] if counts else [])],
        )
        if self.plan.serial and not chunked:
            self.scopes[-1].lines += self.pad_row(reductions)
        if chunked:
            lines = self.close().lines + [line for s in in_parts for line in self.combined(s, True)]
            self.scopes[-1].lines += [
                f"for (long chunk = 0; chunk < {limit}; chunk += {ROW_CHUNK}) {{",
                *indent(lines),
                "}",
            ]
        for d in reversed(self.plan.serial):
            lines = self.close().lines
            self.scopes[-1].lines += [
                f"for (long {d.name} = 0; {d.name} < {self.expr(d.size)}; {d.name}++) {{",
                *indent(lines),
                "}",
            ]
        block.lines += [line for s in whole for line in self.combined(s, False)]
        out += ["{", *indent(self.close().lines), "}"]
        for s in reductions:
            self.rows[s.name] = 1

    def goes_back(self, stage: Stage) -> bool:
        """Whether a loop after others runs over a long row from its end, which is in cache still, to where it begins."""
        plain = all(isinstance(s, Store) for s in stage.body) and not self.plan.serial
        first = next(s for s in self.nest.stages if s.inner)
        return plain and stage is not first and self.size_hint(self.plan.axis.size) >= LONG_ROW

    def row_backwards(self, stage: Stage, counts: bool) -> None:
        limit, scope = self.expr(self.plan.axis.size), self.scopes[-1]
        part = self.open(())
        part.lines.append(f"const long part = chunk + {ROW_CHUNK} < {limit} ? chunk + {ROW_CHUNK} : {limit};")
        if counts:
            part.lines.append("long at = chunk;")
        self.vector_loop(stage, "chunk", "part", ["at += L;"] if counts else [])
        scope.lines += [
            f"for (long chunk = ({limit} - 1) / {ROW_CHUNK} * {ROW_CHUNK}; chunk >= 0; chunk -= {ROW_CHUNK}) {{",
            *indent(self.close().lines),
            "}",
        ]

    def coming_row(self, stage: Stage) -> list[str]:
        """Lines that ask, in the last of several loops over a row, for where it will write a row to come, and in the one
        before, or in the last of two, for what the first will read of it: loops with more to compute than to read keep
        the processor from seeing that coming, and asked for at once they get in each other's way."""
        inner = [s for s in self.nest.stages if s.inner]
        if len(inner) < 2 or self.plan.serial or not self.plan.outer:
            return []
        wanted = []
        if stage is inner[max(1, len(inner) - 2)]:
            wanted += [(n.buffer, n.index, "") for n in loads(values_of(inner[0])) if not n.args]
        if stage is inner[-1]:
            there = self.kept_in_results.values()  # is in cache since what is kept was written there
            stores = [s for s in stage.body if isinstance(s, Store) and s not in there and not self.streams(s)]
            wanted += [(s.buffer, s.index, ", 1") for s in stores]
        return self.asked_for(wanted, self.plan.outer[-1], self.rows_ahead)

    @property
    def rows_ahead(self) -> int:
        """How many rows before they are used rows are asked for."""
        return max(1, BYTES_AHEAD // (4 * max(1, self.size_hint(self.plan.axis.size))))

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
        names = {n.name for n in walk(values_of(stage)) if n.kind == "kept"} | {s.name for s in stage.body if isinstance(s, Keep)}
        return bool(names - self.kept_in_results.keys())

    def chunks(self, s: Reduce) -> bool:
        return s.dtype in FLOATS and s.kind == "sum"

    def position_type(self) -> str:
        """The lane type of positions in argmax."""
        return "int" if fits_int32(extent(self.nest.reduced), self.ranges) else "long"

    def accumulators_of(self, s: Reduce) -> list[str]:
        T, A = vector(s.dtype), self.accumulators
        lines = [
            f"{T} {s.name}_a[{A}];",
            f"for (int k = 0; k < {A}; k++) {s.name}_a[k] = w_splat<{T}>({identity(s.kind, s.dtype)});",
        ]
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
        number = f"{op}_number" if op in ("w_max", "w_min") and s.dtype in FLOATS else None
        total = f"w_extreme<{number}, {A}>({s.name}_a)" if number else f"w_combine<{op}, {A}>({s.name}_a)"
        return [f"{s.name} = {op}::of({s.name}, {total});" if partial else f"{s.name} = {total};"]

    def column_stage(self, stage: Stage) -> None:
        """Loops over rows; every lane of the block has its own accumulator in memory that stays in cache."""
        hoisted = self.hoist(stage)
        out = self.scopes[-1].lines
        reductions = [s for s in stage.body if isinstance(s, (Reduce, Running))]
        v, serial = self.plan.axis.name, self.plan.serial
        rows = serial[0].size if len(serial) == 1 else None
        chunked = (
            rows is not None
            and any(isinstance(s, Reduce) and self.chunks(s) for s in reductions)
            and not (rows.is_const and rows.value <= COLUMN_CHUNK)
        )
        for s in reductions:
            out += self.column_accumulators(s, chunked)
            self.rows[s.name] = INNERMOST
        self.column_rows(stage, reductions, chunked, hoisted)
        for s in reductions:
            array = f"{s.name}_t" if chunked and has_parts(s) else f"{s.name}_a"
            if isinstance(s, Reduce):
                at = f"[(unsigned long)({v} - first) / L]"
                self.column_results[s.name] = (
                    f"w_cast<long>({s.name}_i{at})" if s.kind.startswith("arg") else array + at
                )
            self.rows[s.name] = INNERMOST

    @property
    def groups(self) -> int:
        """Vectors in a block of columns, at most."""
        size = self.plan.axis.size
        return -(-min(self.blocked, size.value if size.is_const else self.blocked) // self.lanes)

    def fill(self, array: str, T: str, value: str) -> str:
        return f"for (int k = 0; k < {self.groups}; k++) {array}[k] = w_splat<{T}>({value});"

    def column_accumulators(self, s: Reduce | Running, chunked: bool) -> list[str]:
        T, start = vector(s.dtype), identity(s.kind, s.dtype)
        lines = [f"{T} {s.name}_a[{self.groups}];"]
        if s.kind.startswith("arg"):
            P = f"w_vec<{self.position_type()}, L>"
            last = "0x7fffffff" if self.position_type() == "int" else "0x7fffffffffffffffl"
            return [
                *lines,
                self.fill(f"{s.name}_a", T, start),
                f"{P} {s.name}_i[{self.groups}];",
                self.fill(f"{s.name}_i", P, last),
            ]
        if chunked and has_parts(s):
            return [*lines, f"{T} {s.name}_t[{self.groups}];", self.fill(f"{s.name}_t", T, start)]
        return [*lines, self.fill(f"{s.name}_a", T, start)]

    def column_rows(self, stage: Stage, reductions: list, chunked: bool, hoisted: dict[Node, str]) -> None:
        """The loops over rows. Cheap bodies take four rows at a time, so that accumulators are loaded a quarter as
        often."""
        serial = self.plan.serial
        for d in serial:
            self.open({d.name})
        work = work_of(Nest(self.nest.dims, (stage,)))
        plain = bool(serial) and len(reductions) == len(stage.body) and work <= UNROLLED_WORK
        names = [f"{s.name}_{x}" for s in reductions for x in ("ai" if s.kind.startswith("arg") else "a")]
        group = f"const long group = (unsigned long)({self.plan.axis.name} - first) / L; (void)group;"
        head = [group, *(f"auto {n}v = {n}[group];" for n in names)]
        foot = [f"{n}[group] = {n}v;" for n in names]
        v = self.plan.axis.name
        self.open({v}).names.update(hoisted)
        self.statements(stage)
        body = self.at_of_keeps(stage) + self.close().lines + self.coming_columns(stage)
        loops = self.vector_loops([*head, *body, *foot], "first", "last")
        if not serial:
            self.scopes[-1].lines += loops
            return
        d = serial[-1]
        rows = self.close().lines
        start, stop = ("chunk", "part") if chunked else ("0", self.expr(d.size))
        if plain:
            four = [
                *head,
                f"for (int u = 0; u < {UNROLLED_ROWS}; u++) {{",
                f"  const long {d.name} = {d.name}_ + u;",
                *indent(rows + body),
                "}",
                *foot,
            ]
            lines = [
                f"long {d.name}_ = {start};",
                f"for (; {d.name}_ + {UNROLLED_ROWS} <= {stop}; {d.name}_ += {UNROLLED_ROWS})",
                *indent(self.vector_loops(four, "first", "last")),
            ]
            if not (d.size.is_const and d.size.value % UNROLLED_ROWS == 0):
                lines += [f"for (long {d.name} = {d.name}_; {d.name} < {stop}; {d.name}++) {{", *indent(rows + loops), "}"]
        else:
            lines = [f"for (long {d.name} = {start}; {d.name} < {stop}; {d.name}++) {{", *indent(rows + loops), "}"]
        if chunked:
            lines = self.column_chunks(reductions, lines, self.expr(d.size))
        self.scopes[-1].lines += ["{", *indent(lines), "}"]
        for d in reversed(serial[:-1]):
            lines = self.close().lines
            self.scopes[-1].lines += [
                f"for (long {d.name} = 0; {d.name} < {self.expr(d.size)}; {d.name}++) {{",
                *indent(lines),
                "}",
            ]

    def column_chunks(self, reductions: list, lines: list[str], size: str) -> list[str]:
        """The rows in chunks of fixed length, each summed by itself."""
        partial = [s for s in reductions if has_parts(s)]
        start = [self.fill(f"{s.name}_a", vector(s.dtype), identity(s.kind, s.dtype)) for s in partial]
        end = [
            f"for (int k = 0; k < {self.groups}; k++) {s.name}_t[k] = "
            f"{combiner(s.kind, s.dtype)}::of({s.name}_t[k], {s.name}_a[k]);"
            for s in partial
        ]
        return [
            f"for (long chunk = 0; chunk < {size}; chunk += {COLUMN_CHUNK}) {{",
            *indent(start),
            f"  const long part = chunk + {COLUMN_CHUNK} < {size} ? chunk + {COLUMN_CHUNK} : {size};",
            *indent(lines),
            *indent(end),
            "}",
        ]

    # ---- statements that reduce

    def do_reduce(self, s: Reduce) -> None:
        value, T = self.emit(s.value), vector(s.dtype)
        lines = self.scopes[-1].lines
        column = self.plan.mode == "column"
        if s.kind.startswith("arg"):
            P, largest = f"w_vec<{self.position_type()}, L>", str(s.kind == "argmax").lower()
            at = self.position_vector(P)
            if column:
                lines.append(f"w_arg<{largest}>({s.name}_av, {s.name}_iv, {value}, {at});")
                return
            x, i = self.fresh("x"), self.fresh("x")
            keep = f"w_keep(n, {value}, w_splat<{T}>({identity(s.kind, s.dtype)}))"
            last = "0x7fffffff" if self.position_type() == "int" else "0x7fffffffffffffffl"
            lines += [
                f"{T} {x} = {s.name}_a[0]; {P} {i} = {s.name}_i[0];",
                f"w_arg<{largest}>({x}, {i}, {keep}, w_keep(n, {at}, w_splat<{P}>({last})));",
            ]
            lines += self.rotate(f"{s.name}_a", x) + self.rotate(f"{s.name}_i", i)
            return
        op = combiner(s.kind, s.dtype)
        if column:
            lines.append(f"{s.name}_av = {op}::of({s.name}_av, {value});")
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
            scope.lines.append(f"const auto {name} = {s.name}_av = {op}::of({s.name}_av, {value});")
        else:
            scope.lines.append(f"const auto {name} = w_scan<{op}>({s.name}_carry, {value}, n);")
        self.named_rows[s.name] = name
        self.rows[s.name] = INNERMOST

    def do_keep(self, s: Keep) -> None:
        if s.name in self.kept_in_results:
            self.keep_in_result(s)
            return
        value = self.emit(s.value)
        self.keeps[s.name] = s.value.dtype
        self.rows[s.name] = INNERMOST
        self.scopes[-1].lines.append(f"w_write({s.name} + at, {value}, w_all{{}});")
