"""One nest as a C++ function: its loops, its reductions, its share of a parallel_for."""

from __future__ import annotations

from aten import settings
from aten.symbolic.expr import ONE, Expr, as_expr, prod_, substitute, sym
from inductor import choices
from inductor.codegen.cpp_aside import PAGE, AsideWriter
from inductor.codegen.cpp_flat import FlatWriter
from inductor.codegen.cpp_moves import RAW, as_moves
from inductor.codegen.cpp_reduce import indent
from inductor.codegen.cpp_values import runs
from inductor.codegen.cpp_vector import COMPUTED, MAX_LANES, MEMORY, VIRTUAL_LANES, WIDTH, Isa, symbol_lines
from inductor.codegen.kernel import Plan, Scope, extent, piece_of_column, plan, values_of, work_of
from inductor.ir import scalar
from inductor.ir.buffer import ITEMSIZE, Buffer, Kernel
from inductor.ir.flat_rows import flat_rows
from inductor.ir.index import coefficient
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Stage, Statement, Store
from inductor.ir.narrow import narrowed
from inductor.ir.nodes import HALF, Node, loads, walk
from inductor.ir.segments import segments
from inductor.ir.side_by_side import side_by_side

POINT_BLOCK = 8192  # elements of the vector axis in a unit
COLUMN_BLOCK = 4096  # columns in a unit: their accumulators fit the first-level cache
TILE_ROWS, TILE = 64, 64  # a tile of a transposed read: rows of what is written, and elements of them
SHORTEST_COPY = 4096  # bytes: shorter runs are as fast in vectors
STREAMED_BYTES = 1 << 24  # results from this size on are not expected to be found in cache again
ROWS_AHEAD = 8  # of the rows of a tile, where they are asked for
UNIT_NAMES = {"block", "tile", "first", "first_row", "next", "next_row"}
THREAD_WORK = 1 << 17  # additions a thread must have to be worth waking


class NestWriter(FlatWriter, AsideWriter):
    """Writes one nest of a kernel as the function `name`."""

    def __init__(self, kernel: Kernel, nest: Nest, name: str, buffers: dict[str, Buffer], hints: dict, ranges: dict, isa: Isa):
        if not nest.dims:
            nest = Nest((Dim("i0", as_expr(1)),), nest.stages)
        nest, self.raw = as_moves(nest, buffers) or (nest, "")  # of which dtype elements are bits
        nest = narrowed(nest, ranges)
        self.flat = flat_rows(nest, lambda e: choices.size(e, hints))
        self.beside = None if self.flat else side_by_side(nest, lambda e: choices.size(e, hints), ranges)
        nest = self.flat.nest if self.flat else self.beside.nest if self.beside else nest
        self.nest, self.name, self.buffers, self.hints, self.isa = nest, name, buffers, hints, isa
        super().__init__(kernel, self.planned(nest), ranges)
        self.shared = len(kernel.body) > 1  # the function may serve several nests: it finds its buffers by a table
        self.lanes, self.full = isa.lanes(self.lane_dtypes()), isa.lanes(("float32",))
        self.accumulators = VIRTUAL_LANES // self.lanes
        self.keeps: dict[str, str] = {}
        self.sequential = any(isinstance(s, Accumulate) for s in nest.statements)
        self.streamed = False
        self.tiles: dict[Node, str] = {}
        self.tables: dict[Node, str] = {}
        self.ahead: list[str] = []  # asks for rows of this tile and for the next tile, a part beside each row
        self.tiled = self.tiled_dim()
        self.blocked = self.block_size()

    def planned(self, nest: Nest) -> Plan:
        """The axis along which vectors run."""
        return plan(nest, self.buffers, self.hints, self.beside.rows if self.beside else None)

    def lane_dtypes(self) -> set[str]:
        """The dtypes that decide how many lanes there are: of values that differ by lane, not of an index of which only the
        first lane is asked. Where functions take long, theirs alone: what is wider has two registers (asinh of int64
        computes in float32, 0.10 ms instead of 0.22). In exact mode of all values: eager's functions are of whole registers."""
        nodes = list(walk([v for stage in self.nest.stages for v in values_of(stage)]))
        if settings.exact:
            return {n.dtype for n in nodes}
        long = {n.dtype for n in nodes if n.kind == "call" and scalar.cost(n) >= choices.EXPENSIVE and self.varies(n)}
        if long:
            return long
        if self.narrows_what_is_wide(nodes):
            return {"float32"}
        first_only = {n.args[-1] for n in nodes if runs(n, self.plan.axis.name, self.ranges)}
        first_only -= {v for stage in self.nest.stages for v in values_of(stage)}
        first_only -= {a for n in nodes for a in n.args if not runs(n, self.plan.axis.name, self.ranges)}
        return {n.dtype for n in nodes if n not in first_only and self.varies(n)} or {n.dtype for n in nodes}

    def narrows_what_is_wide(self, nodes: list[Node]) -> bool:
        """Whether a loop makes numbers of one or two bytes of numbers of 64 bits that are read for nothing else: rounding to
        bfloat16 takes as long for half a register as for all of it (131072 int64: 24 us instead of 35), and stores of eight bytes
        as those of sixteen (uint8: 12 instead of 14)."""
        wide = {n for n in nodes if WIDTH[n.dtype] == 8 and self.varies(n)}
        uses = [n for n in nodes if wide & set(n.args)]
        read = all(n.kind == "load" and not n.args for n in wide)
        cast = all(n.kind == "call" and n.name == "cast" and n.dtype != "bool" and WIDTH[n.dtype] <= 4 for n in uses)
        stores = [s for s in self.nest.statements if isinstance(s, Store)]
        narrow = bool(stores) and len(stores) == len(self.nest.statements) and all(ITEMSIZE[s.dtype] <= 2 for s in stores)
        return bool(wide) and read and cast and narrow and self.plan.mode == "point"

    # ---- units: how the outer loops are cut

    def size_hint(self, e: Expr) -> int:
        return choices.size(e, self.hints)

    def block_size(self) -> int:
        """Elements of the vector axis in a unit; 0 if a unit has all of it."""
        p: Plan = self.plan
        if p.mode == "row":
            return 0
        length, known = self.size_hint(p.axis.size), p.axis.size.is_const
        if p.mode == "point":
            if self.tiled is not None:
                return TILE
            return POINT_BLOCK if length > POINT_BLOCK or not known else 0
        if self.in_stages:
            rows, columns = self.size_hint(extent(self.nest.reduced)), p.axis.size.value if known else None
            return choices.block_of_columns(rows, columns, sum(isinstance(s, Keep) for s in self.nest.statements))
        rest = max(1, self.size_hint(extent(p.outer)))
        work = self.size_hint(extent(self.nest.dims)) * (1 + work_of(self.nest) // 8)
        block, pieces = COLUMN_BLOCK, min(4, work // THREAD_WORK)
        while block > 256 and (block > length or -(-length // block) * rest < pieces):
            block //= 2
        return block

    def tiled_dim(self) -> Dim | None:
        """The dim along which memory is read where the vector axis is not: reads go through tiles of both."""
        if self.plan.mode != "point":
            return None
        votes: dict[str, int] = {}
        narrow = piece_of_column(self.nest, self.plan.axis)
        for stage in self.nest.stages:
            for n in loads(values_of(stage)):
                few = choices.least_tiled(ITEMSIZE[self.buffers[n.buffer].dtype], self.only_moves)
                for d in self.plan.outer:
                    least = 2 if d is narrow else few
                    if self.transposed(n, d) and min(map(self.size_hint, (d.size, self.plan.axis.size))) >= least:
                        votes[d.name] = votes.get(d.name, 0) + 1
        best = max(votes, key=lambda name: votes[name], default=None)
        return next((d for d in self.plan.outer if d.name == best), None)

    @property
    def only_moves(self) -> bool:
        """Whether all that the nest does is to store what it loads."""
        s = self.nest.statements[0]
        return len(self.nest.statements) == 1 and isinstance(s, Store) and s.value.kind == "load"

    def transposed(self, n: Node, d: Dim) -> bool:
        """Whether the load runs along `d` and strides along the vector axis."""
        if n.args or d.name not in n.index.free_symbols or self.plan.axis.name not in n.index.free_symbols:
            return False
        index = self.simplified(n.index)
        own, other = coefficient(index, d.name), coefficient(index, self.plan.axis.name)
        return (
            own is not None and own.is_const and own.value == 1 and other is not None and not (other.is_const and other.value <= 1)
        )

    @property
    def units(self) -> Expr:
        total = extent(d for d in self.plan.outer if d is not self.tiled)
        if self.tiled is not None:
            total = total * blocks_of(self.tiled.size, TILE_ROWS)
        if self.blocked:
            total = total * blocks_of(self.plan.axis.size, self.blocked)
        return total

    @property
    def grain(self) -> int:
        """Units that are worth a thread."""
        per_point = 1 + work_of(self.nest) // 8
        points = max(1, self.size_hint(extent(self.nest.dims)))
        return max(1, THREAD_WORK // per_point * max(1, self.size_hint(self.units)) // points)

    def launch(self) -> list[str]:
        """The lines of the entry that run this nest."""
        units, text = self.units, self.expr(self.units)
        if self.sequential or (units.is_const and units.value <= self.grain):
            return [f"{self.name}(&frame, 0, {text}, 0);"]
        return [f"runtime->parallel_for({text}, {self.grain}, {self.name}, &frame);"]

    @property
    def args(self) -> list[int]:
        """The kernel's arguments that the function's buffers are, once it has been written."""
        return [self.kernel.args.index(name) for name in self.touched]

    # ---- the function

    def function(self) -> str:
        p = self.plan
        unit = self.open({d.name for d in p.outer if d is not self.tiled} | UNIT_NAMES)
        if self.blocked:
            unit.lines += block_bounds("block", "first", "last", self.blocked, self.expr(p.axis.size))
        elif p.mode != "row":
            unit.lines += ["const long first = 0;", f"const long last = {self.expr(p.axis.size)};"]
        if self.tiled is not None:
            unit.lines += block_bounds("tile", "first_row", "last_row", TILE_ROWS, self.expr(self.tiled.size))
            unit.lines += [
                f"const long next = last < {self.expr(p.axis.size)} ? last : 0;",
                f"const long next_row = next ? first_row : first_row + {TILE_ROWS};",
            ]
            if (turn := self.turn()) is not None:
                unit.lines.append(turn)
            else:
                self.tile_rows()
        else:
            for stage in self.nest.stages:
                self.stage(stage)
        inner = self.close().lines
        body = self.scopes[0].lines + self.unit_loop(inner) + (["w_fence();"] if self.streamed else [])
        head = f"static void {self.name}(void *ctx, long begin, long end, long worker) {{"
        return "\n".join([head, *indent(self.declarations() + body), "}"])

    def streams(self, s: Store) -> bool:
        """A large result that the nest writes once, in long rows, and does not read."""
        b = self.buffers[s.buffer]
        size = ITEMSIZE[b.dtype] * self.size_hint(prod_(b.sizes))
        read = any(n.buffer == s.buffer for stage in self.nest.stages for n in loads(values_of(stage)))
        self.streamed |= size >= STREAMED_BYTES and not read
        return size >= STREAMED_BYTES and not read

    def source(self) -> str:
        """Vectors follow one another where the innermost loop is along them."""
        if self.plan.mode == "column" or self.tiled is not None:
            return super().source()
        name = self.fresh("ahead")
        self.scopes[0].lines.append(f"vm_ahead {name};")
        return name

    def turn(self) -> str | None:
        """The call that turns a tile from memory to memory, where a nest does nothing else: by way of a tile of its own it writes
        all twice (int64 [1000,260]: 94 us instead of 50)."""
        s = self.nest.statements[0]
        interleaved = piece_of_column(self.nest, self.plan.axis) is self.tiled
        if not self.only_moves or (self.streams(s) and not interleaved):
            return None
        v, u, n = self.plan.axis.name, self.tiled.name, s.value
        to, index = self.simplified(s.index), self.simplified(n.index)
        step, across = coefficient(to, v), coefficient(to, u)
        as_it_is = self.memory(n.buffer) == self.memory(s.buffer)
        if not as_it_is or step is not ONE or across is None or not self.transposed(n, self.tiled):
            return None
        if not interleaved and all(choices.far_apart(e, ITEMSIZE[s.dtype]) for e in (across, coefficient(index, v))):
            return None
        first = {v: sym("first"), u: sym("first_row")}
        source = f"b{self.argument(n.buffer)} + {self.address(substitute(index, first))}, {self.expr(coefficient(index, v))}"
        place = f"b{self.argument(s.buffer)} + {self.address(substitute(to, first))}"
        if interleaved:
            return f"w_interleaved<{across}, L>({place}, {source}, last_row - first_row);"
        return f"w_transposed<L>({place}, {self.expr(across)}, {source}, last_row - first_row, last - first);"

    def tile_rows(self) -> None:
        """The rows of a tile; what is read across them has been transposed into tiles of its own first."""
        d = self.tiled
        self.open({d.name})
        for stage in self.nest.stages:
            self.stage(stage)
        lines = self.close().lines
        self.scopes[-1].lines += [
            f"for (long {d.name} = first_row; {d.name} < last_row; {d.name}++) {{",
            *indent(self.ahead + lines),
            "}",
        ]

    def write_load(self, n: Node, scope: Scope) -> str:
        if self.tiled is None or scope.guard or n.args:
            return super().write_load(n, scope)
        if not self.transposed(n, self.tiled):
            self.prefetch(n)
            return super().write_load(n, scope)
        v, u = self.plan.axis.name, self.tiled.name
        name = self.tiles.get(n)
        if name is None:
            name = self.tiles[n] = f"tile{len(self.tiles)}"
            index = self.simplified(n.index)
            T, b = self.memory(n.buffer), self.argument(n.buffer)
            at = substitute(index, {v: sym("first"), u: sym("first_row")})
            next_at = substitute(index, {v: sym("next"), u: sym("next_row")})
            stride = self.expr(coefficient(index, v))
            sizes = (self.plan.axis.size, self.tiled.size)
            even = ", true" if all(n.is_const and n.value % self.lanes == 0 for n in sizes) else ""
            self.scopes[1].lines += [
                f"{T} {name}[{TILE_ROWS} * {TILE}];",
                f"w_transpose<L, {TILE}{even}>({name}, b{b} + {self.address(at)}, {stride},"
                " last_row - first_row, last - first);",
            ]
            self.ahead.append(f"w_prefetch_row<{TILE_ROWS}>(b{b} + {self.address(next_at)}, {stride}, {u} - first_row);")
        return self.define(scope, f"w_load<L>({name} + ({u} - first_row) * {TILE} + ({v} - first), {scope.lanes})")

    def prefetch(self, n: Node) -> None:
        """Ask for the rows of a tile ahead: pieces of rows are too short for the processor to do it by itself."""
        v, u = self.plan.axis.name, self.tiled.name
        index = self.simplified(n.index)
        across, along = coefficient(index, u), coefficient(index, v)
        if u not in n.index.free_symbols or across is None or along is None or not along.is_const or along.value != 1:
            return
        place = f"b{self.argument(n.buffer)} + {self.address(substitute(index, {v: sym('first')}))}"
        self.ahead.append(f"w_prefetch_row<{TILE}>({place}, {self.expr(across)}, {ROWS_AHEAD});")

    def memory(self, buffer: str) -> str:
        """The type of a buffer's elements."""
        dtype = self.buffers[buffer].dtype
        return MEMORY[RAW[dtype] if dtype == self.raw else dtype]

    def declarations(self) -> list[str]:
        lines = [
            "if (begin >= end) return;",
            "w_frame *const frame = (w_frame *)ctx;",
            f"constexpr int L = {self.lanes};",
        ]
        written = {s.buffer for s in self.nest.statements if isinstance(s, (Store, Accumulate))}
        for name, k in self.touched.items():
            T = self.memory(name)
            const = "" if name in written else "const "
            at = f"frame->args[{k}]" if self.shared else self.kernel.args.index(name)
            lines.append(f"{const}{T} *__restrict const b{k} = ({const}{T} *)frame->buffers[{at}];")
        lines += symbol_lines(self.kernel.symbols, "frame->symbols")
        lines += self.scratch_lines()
        return lines

    def scratch_lines(self) -> list[str]:
        """Declarations of kept values and of what is set aside, which lie in memory of this thread."""
        if not self.keeps and not self.aside:
            return []
        rounded = (self.plan.axis.size + (MAX_LANES - 1)) // MAX_LANES * MAX_LANES
        if self.plan.mode == "column":
            rounded = as_expr(self.blocked)
        stride = f"({self.expr(extent(self.plan.serial) * rounded)})"
        sizes = [WIDTH[dtype] for dtype in self.keeps.values()]
        more = f" + {2 * len(self.aside)} * ({self.aside_bytes()} + {PAGE}) + {PAGE}" if self.aside else ""
        lines = [f"char *const scratch = (char *)frame->runtime->scratch(worker, {stride} * {sum(sizes)}{more});"]
        at = 0
        for (name, dtype), size in zip(self.keeps.items(), sizes):
            T = COMPUTED[dtype]
            lines.append(f"{T} *__restrict const {name} = ({T} *)(scratch + {stride} * {at});")
            at += size
        return lines + (self.aside_lines(f"scratch + {stride} * {at}") if self.aside else [])

    def unit_dims(self) -> list[tuple[str, str]]:
        """(variable, size) of the loops that units count through, outermost first."""
        dims = [(d.name, self.expr(d.size)) for d in self.plan.outer if d is not self.tiled]
        if self.tiled is not None:
            dims.append(("tile", self.expr(blocks_of(self.tiled.size, TILE_ROWS))))
        if self.blocked:
            dims.append(("block", self.expr(blocks_of(self.plan.axis.size, self.blocked))))
        return dims

    def unit_loop(self, inner: list[str]) -> list[str]:
        """Loop over the units of this range; the outer variables count up like an odometer."""
        if not self.unit_dims():
            return ["if (begin < end) {", *indent(inner), "}"]
        start, step = self.odometer()
        return [*start, "for (long unit = begin; unit < end; unit++) {", *indent(inner), f"  {step}", "}"]

    def odometer(self) -> tuple[list[str], str]:
        """(lines that declare the loop variables of the first unit, the line that moves them on by one unit)."""
        dims = self.unit_dims()
        start, rest = [], "begin"
        for name, size in reversed(dims[1:]):
            start.append(f"long {name} = {rest} % ({size});")
            rest = f"{rest} / ({size})"
        carry = "".join(f"if (++{name} == {size}) {{ {name} = 0; " for name, size in reversed(dims[1:]))
        return [*start, f"long {dims[0][0]} = {rest};"], f"{carry}{dims[0][0]}++;{' }' * (len(dims) - 1)}"

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
            self.point_stage(stage)

    def point_stage(self, stage: Stage) -> None:
        """A loop along the vector axis, in segments where its body asks on which side of a place it is."""
        filled = [s for s in stage.body if self.is_fill(s)]
        for s in filled:
            at = self.address(substitute(self.simplified(s.index), {self.plan.axis.name: sym("first")}))
            self.scopes[-1].lines.append(f"w_fill(b{self.argument(s.buffer)} + {at}, {int(s.value.value)}, last - first);")
        if filled:
            stage = Stage(stage.inner, tuple(s for s in stage.body if s not in filled))
        if not stage.body:
            return
        plain = self.tiled is None and only_stores(stage)
        parts = segments(stage, self.plan.axis, self.ranges) if plain else []
        if not parts:
            self.piece(stage, "first", "last")
        for start, stop, part in parts:
            block = self.open({"start", "stop"})
            block.lines += [
                f"const long start = first > {start} ? first : {start};",
                f"const long stop = last < {stop} ? last : {stop};",
            ]
            self.piece(part, "start", "stop", start % self.lanes == 0 == stop % self.lanes)
            lines = self.close().lines
            self.scopes[-1].lines += ["{", *indent(lines), "}"]

    def piece(self, stage: Stage, start: str, stop: str, even: bool | None = None) -> None:
        """A loop from start to stop; where all that it does is to move memory, one call for all of it."""
        if not stage.body or not all(map(self.is_copy, stage.body)):
            return self.vector_loop(stage, start, stop, [], even)
        for s in stage.body:
            to, source = (substitute(self.simplified(i), {self.plan.axis.name: sym(start)}) for i in (s.index, s.value.index))
            places = f"b{self.argument(s.buffer)} + {self.address(to)}, b{self.argument(s.value.buffer)} + {self.address(source)}"
            self.scopes[-1].lines.append(f"w_copy({places}, {stop} - {start});")

    def is_copy(self, s: Statement) -> bool:
        """Whether a store moves a long run of memory as it is. The C library moves it without first reading what it is going to
        overwrite, where the processor can (AMD: a megabyte in 15 us instead of 17.5)."""
        if not isinstance(s, Store) or self.plan.mode != "point" or self.tiled is not None:
            return False
        if s.value.kind != "load" or s.value.args:
            return False
        stored = [x.buffer for x in self.nest.statements if isinstance(x, (Store, Accumulate))]
        read = {n.buffer for stage in self.nest.stages for n in loads(values_of(stage))}
        apart = len(set(stored)) == len(stored) and not read & set(stored)
        as_it_is = self.memory(s.value.buffer) == self.memory(s.buffer) and s.value.dtype == s.dtype
        along = self.runs_along(s.index) and self.runs_along(s.value.index)
        run = self.size_hint(self.plan.axis.size) * ITEMSIZE[s.dtype]
        return apart and as_it_is and along and run >= SHORTEST_COPY and not self.streams(s)

    def is_fill(self, s: Statement) -> bool:
        """Whether a store puts one number of a byte or two into all elements, which leave part of a register empty where lanes are
        those of other dtypes (the zeros of isnan of integers: 130 kB in 2 us instead of 5)."""
        if not isinstance(s, Store) or self.plan.mode != "point" or self.tiled is not None or s.value.kind != "const":
            return False
        alone = sum(isinstance(x, Store) and x.buffer == s.buffer for x in self.nest.statements) == 1
        read = {n.buffer for stage in self.nest.stages for n in loads(values_of(stage))}
        whole = s.dtype not in HALF and ITEMSIZE[s.dtype] <= 2
        return whole and alone and s.buffer not in read and self.runs_along(s.index)

    # ---- statements

    def statements(self, stage: Stage) -> None:
        """Stores come last, after every value has been computed: one may overwrite what another reads."""
        self.compute(stage)
        stores = [s for s in stage.body if isinstance(s, Store)]
        together = self.beside.parts if self.beside else 0
        for k in range(0, len(stores), together or 1):
            if together:
                self.store_parts(stores[k : k + together])
            else:
                self.do_store(stores[k])

    def compute(self, stage: Stage) -> None:
        """All of a stage but its stores."""
        for s in stage.body:
            if not isinstance(s, Store):
                self.statement(s)
        for s in stage.body:
            if isinstance(s, Store):
                self.emit(s.value)

    def statement(self, s) -> None:
        getattr(self, "do_" + type(s).__name__.lower())(s)

    def do_store(self, s: Store) -> None:
        value = self.emit(s.value)
        once = len(self.scopes) == 2 and self.plan.mode == "row"
        self.scopes[-1].lines.append(self.store_line(s, value, once))

    def store_parts(self, parts: list[Store]) -> None:
        """One store of vectors, elements of which lie side by side."""
        values = ", ".join([self.emit(s.value) for s in parts])
        k, at = self.argument(parts[0].buffer), self.address(self.simplified(parts[0].index))
        self.scopes[-1].lines.append(f"w_store_parts<{len(parts)}>(b{k} + {at}, n, {values});")

    def do_accumulate(self, s: Accumulate) -> None:
        value = self.emit(s.value)
        k = self.argument(s.buffer)
        index = self.simplified(s.index)
        step = coefficient(index, self.plan.axis.name)
        names = self.indirect(s.where)
        if s.kind == "replace" and names is not None and step is not None:
            self.scopes[-1].lines.append(f"w_scatter(b{k} + {self.address(index, names)}, {self.expr(step)}, {value}, n);")
        elif s.kind == "replace":
            self.scopes[-1].lines.append(f"w_scatter_at(b{k}, {self.vector_index(index, s.where)}, {value}, n);")
        elif names is not None and step is not None and step.is_const and step.value == 1:
            at = f"b{k} + {self.address(index, names)}"
            self.scopes[-1].lines.append(f"w_store({at}, w_load<L>({at}, n) + {value}, n);")
        else:
            self.scopes[-1].lines.append(f"w_accumulate_at(b{k}, {self.vector_index(index, s.where)}, {value}, n);")


def only_stores(stage: Stage) -> bool:
    """Whether a stage only stores."""
    return all(isinstance(s, Store) for s in stage.body)


def blocks_of(size: Expr, block: int) -> Expr:
    """How many blocks cover `size` elements."""
    return (size + (block - 1)) // block


def block_bounds(number: str, first: str, last: str, block: int, size: str) -> list[str]:
    """Lines that declare where a block begins and ends."""
    return [
        f"const long {first} = {number} * {block};",
        f"const long {last} = {first} + {block} < {size} ? {first} + {block} : {size};",
    ]
