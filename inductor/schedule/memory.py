"""Schedule → Program: where every buffer lies, and the steps of a call.

What outlives the call (results, tensors saved for backward) is allocated fresh, and what an op makes on the CPU is the tensor
that it returns, let go when nothing needs it any more; everything else shares one arena, in which two buffers overlap only if
they are never needed at the same time. Buffers of constant size are packed by offset; buffers of symbolic size share slots
with others of the same size. Buffers whose size is known only during the call are allocated when they are first written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aten._native import Device
from aten.records import record
from aten.symbolic.expr import Expr, and_, as_expr, eq, max_, mod, prod_, where_
from inductor.ir import buffer as ir
from inductor.ir import steps as out
from inductor.ir.program import Program
from inductor.ir.values import ValueTable

ALIGNMENT = 64
ELEMENTS_PER_NANOSECOND = 2  # of a kernel's stated work, roughly: decides only whether the GIL is released


class PlanError(RuntimeError):
    """A schedule that has no safe Program."""


@record(frozen=True)
class Launched:
    """A function on a device, as `program.Launch` has it: `arguments` are (type, source), a source being the name of a buffer, an
    Expr, or None for the words of failed checks. Of two `functions` the first is for calls in which 16 divides all of
    `divides`."""

    functions: tuple[tuple[str, str, int, int], ...]
    grid: Expr
    arguments: tuple[tuple[str, str | Expr | None], ...]
    divides: tuple[Expr, ...] = ()


@record(frozen=True)
class Result:
    """What one output of the Program is.

    kind       meaning                                                   `index`
    output     an output of the schedule                                 which
    input      an argument itself                                        which
    view       a view of an argument: `sizes`, `strides`, and `offset`   which
               in elements after the argument's first; with a `value`
               one that is not known as such ("detached")
    part       likewise a view of an output of the schedule              which
    number     `value`, an Expr                                          -
    constant   `value`, a number, string, bool or None                   -
    """

    kind: str
    index: int = -1
    sizes: tuple = ()
    strides: tuple = ()
    offset: Any = 0
    value: Any = None


def plan(
    schedule: ir.Schedule,
    results: list[Result] | None = None,
    mutations: Sequence[tuple[int, int]] = (),
    writes: Sequence[int] | None = None,
    rng: tuple[Expr | None, Expr | None, Expr] | None = None,
    n_constants: int = 0,
    launches: Mapping[str, Sequence[Launched]] | None = None,
) -> Program:
    """The Program of a schedule.

    results    what a call returns; by default the outputs of the schedule
    mutations  (input, output): the input's new value is that output of the schedule. Written by kernels where the
               schedule says so, else copied at the end
    writes     for each of the mutations how often eager would have written (by how much the version advances)
    rng        (seed, offset, counters): the symbols that stand for the generator's state, which are then not
               arguments (None where the graph has no use for them), and by how much a call advances it
    n_constants  how many of the last inputs are tensors that are bound when the Program is loaded
    launches   by name of a kernel the functions on a device that do its work

    Raises PlanError if an input would be written before a step that may fail.
    """
    if results is None:
        results = [Result("output", i) for i in range(len(schedule.outputs))]
    versions = dict(zip((i for i, _ in mutations), writes)) if writes is not None else {}
    return _Planner(schedule, results, list(mutations), versions, rng, n_constants, launches or {}).run()


class _Planner:
    def __init__(self, schedule, results, mutations, versions, rng, n_constants, launches):
        self.s = schedule
        self.launches = launches
        self.device = next((b.device for b in schedule.buffers.values() if b.device != "cpu"), "")
        self.results = results
        self.mutations = mutations
        self.versions = versions
        self.rng = rng
        self.table = ValueTable()
        self.buffers: list[out.Buffer] = []
        self.number: dict[str, int] = {}  # of each buffer by name, once it is declared
        self.steps: list = []
        self.checks: list[out.CheckInfo] = []
        self.evaluated: int | None = None  # values computed so far; None while the prologue is open
        self.prologue = 0
        end = len(schedule.inputs) - n_constants
        self.arguments = [a for a in schedule.inputs[:end] if not self._is_rng(a)]
        self.constants = schedule.inputs[end:]
        self.kept = self._kept()
        self.copies = [(self.s.outputs[o], self.arguments[i]) for i, o in mutations if self.s.outputs[o] != self.arguments[i]]
        self.live = self._lifetimes()
        self.returned = self._returned()

    # ---- what the schedule says
    def _is_rng(self, argument) -> bool:
        return self.rng is not None and not isinstance(argument, str) and any(argument is e for e in self.rng[:2])

    def base(self, name: str) -> str:
        """The buffer whose memory `name` is in."""
        b = self.s.buffers[name]
        return b.base if b.kind == "view" else name

    def _kept(self) -> set[str]:
        """Buffers whose memory outlives the call."""
        used = [self.s.outputs[r.index] for r in self.results if r.kind in ("output", "part")]
        return {self.base(name) for name in used if isinstance(name, str)}

    def _lifetimes(self) -> dict[str, tuple[int, int]]:
        """First and last step that touches each computed buffer."""
        live: dict[str, tuple[int, int]] = {}

        def touch(name: str, step: int) -> None:
            name = self.base(name)
            first, last = live.get(name, (step, step))
            live[name] = (min(first, step), max(last, step))

        for n, step in enumerate(self.s.steps):
            for name in _names(step):
                touch(name, n)
        for source, _ in self.copies:
            touch(source, len(self.s.steps))
        return {name: span for name, span in live.items() if self.s.buffers[name].kind == "computed"}

    def _returned(self) -> set[str]:
        """Buffers whose memory an op brings along: nothing else has touched them before."""
        return {
            name
            for n, step in enumerate(self.s.steps)
            if isinstance(step, ir.Extern) and not step.allocates
            for name in step.outputs
            if name in self.live and self.live[name][0] == n and self.s.buffers[name].device == "cpu"
        }

    # ---- the parts, in the order in which values must exist
    def run(self) -> Program:
        self.check_order()
        inputs = self.inputs()
        arena, device_arena = self.arena("cpu"), self.arena(self.device) if self.device else -1
        cost = self.table.expr(_cost(self.s, self.launches))
        safe = not any(isinstance(step, ir.Extern) or step.checks for step in self.s.steps)
        if self.rng is not None and safe:
            self.emit(out.RngAdvance(self.table.expr(self.rng[2])))  # at once: no other thread sees the same state
        self.allocate_early()
        for step in self.s.steps:
            self.extern(step) if isinstance(step, ir.Extern) else self.kernel(step)
        for source, target in self.copies:
            self.emit(out.Copy(self.locate(source), self.locate(target)))
        if self.rng is not None and not safe:
            self.emit(out.RngAdvance(self.table.expr(self.rng[2])))
        outputs = [self.result(r) for r in self.results]
        self.settle()
        self.close_prologue()
        mutated = {self.arguments[i] for i, _ in self.mutations} | set(self.s.mutated)
        versions = [
            i for i, a in enumerate(self.arguments) if isinstance(a, str) and a in mutated
            for _ in range(self.versions.get(i, 1))
        ]  # fmt: skip
        return Program(
            inputs=inputs,
            values=self.table.values,
            buffers=self.buffers,
            steps=self.steps,
            outputs=outputs,
            prologue=self.prologue,
            checks=self.checks,
            mutations=versions,
            n_constants=len(self.constants),
            arena=arena,
            cost=cost,
            device=self.device,
            device_arena=device_arena,
        )

    def check_order(self) -> None:
        """No step writes an input before the last one that may fail."""
        written = None
        for step in self.s.steps:
            if written is not None and (isinstance(step, ir.Extern) or step.checks):
                raise PlanError(f"{step} may fail after {written} has been written")
            outputs = step.outputs if isinstance(step, ir.Extern) else step.writes
            for name in map(self.base, outputs):
                if self.s.buffers[name].kind == "input":
                    written = name
            if written is not None and not isinstance(step, ir.Extern) and step.checks:
                raise PlanError(f"{step.name} may fail and writes {written}")

    def inputs(self) -> list[out.Input]:
        """Declares arguments; binds each symbol where it first stands alone."""
        table = self.table
        for i, a in enumerate(self.arguments):
            if isinstance(a, str):
                b = self.s.buffers[a]
                for source, dims in (("size", b.sizes), ("stride", b.strides)):
                    for d, e in enumerate(map(as_expr, dims)):
                        if e.op == "sym" and e.name not in table.symbols:
                            table.bind(e.name, table.add(source, i, d))
            else:
                e = as_expr(a)
                if e.op == "sym" and e.name not in table.symbols:
                    table.bind(e.name, table.add("input", i))
        if self.rng is not None:
            for symbol, source in zip(self.rng, ("seed", "rng_offset")):
                if symbol is not None:
                    table.bind(symbol.name, table.add(source))
        inputs = []
        written = self.written()
        for i, a in enumerate(self.arguments):
            if isinstance(a, str):
                b = self.s.buffers[a]
                layout = table.exprs(b.sizes), table.exprs(b.strides)
                inputs.append(out.Input("tensor", b.dtype, *layout, b.device, b.device != "cpu" and a not in written))
                self.declare(a, out.Buffer("input", b.dtype, base=i, device=b.device))
            else:
                inputs.append(out.Input(as_expr(a).kind))
        for i, name in enumerate(self.constants):
            b = self.s.buffers[name]
            self.declare(name, out.Buffer("constant", b.dtype, base=i, device=b.device))
        return inputs

    def written(self) -> set[str]:
        """The inputs that steps write."""
        steps = (s.outputs if isinstance(s, ir.Extern) else s.writes for s in self.s.steps)
        return {self.base(name) for names in steps for name in names} | {target for _, target in self.copies}

    def known(self, b: ir.Buffer) -> bool:
        """Whether its size is known before the first step."""
        exprs = [*map(as_expr, b.sizes), *map(as_expr, b.strides), as_expr(b.offset)]
        return all(e.free_symbols <= self.table.symbols.keys() for e in exprs)

    def arena(self, device: str) -> int:
        """Declares the buffers of a device's arena; the value of its size in bytes, or -1."""
        buffers = self.s.buffers
        spans = {
            n: t
            for n, t in self.live.items()
            if n not in self.kept and n not in self.returned and buffers[n].device == device and self.known(buffers[n])
        }
        sizes = {n: nbytes(self.s.buffers[n]) for n in spans}
        offsets, total = pack(spans, sizes)
        for name in spans:
            b = self.s.buffers[name]
            layout = self.table.exprs(b.sizes), self.table.exprs(b.strides)
            self.declare(name, out.Buffer("arena", b.dtype, *layout, offset=self.table.expr(offsets[name]), device=device))
        return self.table.expr(total) if spans else -1

    def allocate_early(self) -> None:
        """Results of known size are allocated first, so that kernels run in one go."""
        for name in self.live:
            if name in self.kept and name not in self.returned and self.known(self.s.buffers[name]):
                self.locate(name)
        for name, b in self.s.buffers.items():
            used = b.kind == "view" and (b.base in self.live or b.base in self.number) and b.base not in self.returned
            if used and b.base in self.number and self.known(b):
                self.locate(name)

    # ---- buffers and steps
    def declare(self, name: str, buffer: out.Buffer) -> int:
        self.number[name] = len(self.buffers)
        self.buffers.append(buffer)
        return self.number[name]

    def locate(self, name: str) -> int:
        """The buffer's number; emits what gives it memory if it has none."""
        if name in self.number:
            return self.number[name]
        b = self.s.buffers[name]
        if b.kind == "view":
            base = self.locate(b.base)
            layout = self.table.exprs(b.sizes), self.table.exprs(b.strides)
            i = self.declare(name, out.Buffer("view", b.dtype, *layout, base, self.table.expr(b.offset), b.device))
            self.emit(out.View(i))
        else:
            layout = self.table.exprs(b.sizes), self.table.exprs(b.strides)
            kind = "returned" if name in self.returned else "fresh"
            i = self.declare(name, out.Buffer(kind, b.dtype, *layout, device=b.device))
            if kind == "fresh":
                self.emit(out.Alloc(i))
        return i

    def emit(self, step) -> None:
        self.settle()
        self.steps.append(step)

    def settle(self) -> None:
        """After the prologue, values that have been asked for are computed before the step that asked."""
        if self.evaluated is not None and self.evaluated < len(self.table.values):
            self.steps.append(out.Evaluate(self.evaluated, len(self.table.values)))
            self.evaluated = len(self.table.values)

    def close_prologue(self) -> None:
        if self.evaluated is None:
            self.prologue = self.evaluated = len(self.table.values)

    def kernel(self, k: ir.Kernel) -> None:
        first_check = len(self.checks) if k.checks else -1
        self.checks += [out.CheckInfo(c.op, c.argument, c.line) for c in k.checks]
        if k.name in self.launches:
            for launched in self.launches[k.name]:
                self.launch(launched, k, first_check)
            return
        args = tuple(map(self.locate, k.args))
        writes = tuple(i for i, a in enumerate(k.args) if a in k.writes)
        self.emit(out.Kernel(k.name, args, self.table.exprs(k.symbols), writes, first_check))

    def launch(self, launched: Launched, k: ir.Kernel, first_check: int) -> None:
        if launched.grid.is_const and launched.grid.value == 0:
            return
        arguments = []
        for kind, source in launched.arguments:
            if source is None:
                arguments.append(("failed", first_check))
            elif isinstance(source, str):
                arguments.append(("buffer", self.locate(source)))
            else:
                arguments.append((kind, self.table.expr(source)))
        choice = -1
        if len(launched.functions) > 1:
            sixteenths = and_(*(eq(mod(e, 16), 0) for e in launched.divides))
            choice = self.table.expr(where_(sixteenths, as_expr(0), as_expr(1)))
        writes = tuple(self.number[a] for a in k.writes if a in self.number and ("buffer", self.number[a]) in arguments)
        self.emit(out.Launch(launched.functions, choice, self.table.expr(launched.grid), tuple(arguments), writes))

    def extern(self, e: ir.Extern) -> None:
        args = tuple(map(self.argument, e.args))
        kwargs = tuple((k, self.argument(a)) for k, a in e.kwargs.items())
        if not e.allocates:
            self.emit(out.Extern(e.op, args, tuple(map(self.locate, e.outputs)), kwargs))
            return
        self.settle()
        self.close_prologue()
        results = []
        for name in e.outputs:
            b = self.s.buffers[name]
            results.append(self.declare(name, out.Buffer("result", b.dtype, device=b.device)))
        self.emit(out.Python(e.op, args, tuple(results), kwargs))
        for name, i in zip(e.outputs, results):
            b = self.s.buffers[name]
            for source, dims in (("result_size", b.sizes), ("result_stride", b.strides)):
                for d, x in enumerate(map(as_expr, dims)):
                    if x.op == "sym" and x.name not in self.table.symbols:
                        self.table.bind(x.name, self.table.add(source, i, d))

    def argument(self, a) -> tuple:
        if isinstance(a, ir.Ref):
            return "buffer", self.locate(a.name)
        if isinstance(a, ir.DTypeName):
            return "dtype", a.name
        if isinstance(a, tuple | list):
            return "list", tuple(map(self.argument, a))
        if a is None or isinstance(a, int | float | str):
            return "literal", a
        if isinstance(a, complex):
            return "complex", (a.real, a.imag)
        if isinstance(a, Device):
            return "device", str(a)
        e = as_expr(a)
        if e.op == "const":
            return "literal", e.value
        return {"int": "value", "float": "float_value", "bool": "bool_value"}[e.kind], self.table.expr(e)

    def result(self, r: Result) -> out.Output:
        if r.kind == "output":
            item = self.s.outputs[r.index]
            if isinstance(item, str):
                if item in self.arguments:
                    return out.Output("input", self.arguments.index(item))
                return out.Output("buffer", self.locate(item))
            if item is None:
                return out.Output("constant")
            return self.number_result(item)
        if r.kind == "input":
            return out.Output("input", r.index)
        if r.kind == "view":
            layout = self.table.exprs(r.sizes), self.table.exprs(r.strides)
            return out.Output("view", r.index, *layout, offset=self.table.expr(r.offset), literal=r.value)
        if r.kind == "part" and r.value is None:
            layout = self.table.exprs(r.sizes), self.table.exprs(r.strides)
            return out.Output("part", self.locate(self.s.outputs[r.index]), *layout, offset=self.table.expr(r.offset))
        if r.kind == "part":
            return out.Output("buffer", self.part(r))
        if r.kind == "number":
            return self.number_result(r.value)
        return out.Output("constant", literal=r.value)

    def part(self, r: Result) -> int:
        """What lies where a part of an output does, as a buffer."""
        whole = self.s.outputs[r.index]
        base = self.locate(whole)
        layout = self.table.exprs(r.sizes), self.table.exprs(r.strides)
        b = self.s.buffers[whole]
        view = out.Buffer("view", b.dtype, *layout, base, self.table.expr(r.offset), b.device)
        self.buffers.append(view)
        self.emit(out.View(len(self.buffers) - 1))
        return len(self.buffers) - 1

    def number_result(self, item) -> out.Output:
        e = as_expr(item)
        if e.op == "const":
            return out.Output("constant", literal=e.value)
        return out.Output(e.kind, self.table.expr(e))


# ------------------------------------------------------------------------------------------------------------- pieces
def _names(step) -> list[str]:
    """The buffers that a step of a schedule touches."""
    if isinstance(step, ir.Kernel):
        return list(step.args)
    names = list(step.outputs)

    def visit(a) -> None:
        if isinstance(a, ir.Ref):
            names.append(a.name)
        elif isinstance(a, tuple | list):
            for x in a:
                visit(x)

    for a in (*step.args, *step.kwargs.values()):
        visit(a)
    return names


def _cost(schedule: ir.Schedule, launches: Mapping) -> Expr:
    """Estimated nanoseconds of all kernels of the CPU whose work is known beforehand."""
    known = set().union(*(_symbols_of(schedule, a) for a in schedule.inputs))
    total = as_expr(0)
    for k in schedule.steps:
        if isinstance(k, ir.Kernel) and k.name not in launches and as_expr(k.work).free_symbols <= known:
            total = total + as_expr(k.work)
    return total // ELEMENTS_PER_NANOSECOND


def _symbols_of(schedule: ir.Schedule, argument) -> frozenset[str]:
    if not isinstance(argument, str):
        return as_expr(argument).free_symbols
    b = schedule.buffers[argument]
    return frozenset(e.name for e in map(as_expr, (*b.sizes, *b.strides)) if e.op == "sym")


def _dense(sizes: list[Expr], strides: list[Expr]) -> bool:
    """Whether the strides are those of some order of the dimensions, without gaps."""
    left = [(n, s) for n, s in zip(sizes, strides) if not (n.is_const and n.value == 1)]
    expected = as_expr(1)
    while left:
        found = next((p for p in left if p[1] is expected), None)
        if found is None:
            return False
        left.remove(found)
        expected = expected * found[0]
    return True


def nbytes(b: ir.Buffer) -> Expr:
    """Bytes from the first element of a buffer to behind its last."""
    sizes, strides = [as_expr(n) for n in b.sizes], [as_expr(s) for s in b.strides]
    if _dense(sizes, strides):
        elements = prod_(sizes)
    else:
        elements = as_expr(1)
        for n, s in zip(sizes, strides):
            elements = elements + (n - 1) * s
        elements = max_(elements, 0)
    return elements * ir.ITEMSIZE[b.dtype]


def align(size: Expr) -> Expr:
    return (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


def pack(spans: dict[str, tuple[int, int]], sizes: dict[str, Expr]) -> tuple[dict[str, Expr], Expr]:
    """Offsets in an arena for buffers needed during `spans` (first and last step), and the arena's size.

    Constant sizes: largest first, each at the lowest offset where nothing alive at the same time lies. Symbolic sizes
    come behind them, in slots that buffers of one size share in turn.
    """
    offsets: dict[str, Expr] = {}
    placed: list[tuple[int, int, tuple[int, int]]] = []
    total = 0
    fixed = [n for n in spans if sizes[n].is_const]
    for name in sorted(fixed, key=lambda n: (-sizes[n].value, spans[n])):
        first, last = spans[name]
        size = align(sizes[name]).value
        at = 0
        for start, stop, (f, t) in sorted(placed):
            if f <= last and first <= t:
                if at + size <= start:
                    break
                at = max(at, stop)
        placed.append((at, at + size, (first, last)))
        offsets[name] = as_expr(at)
        total = max(total, at + size)

    slots: list[tuple[Expr, Expr, list[tuple[int, int]]]] = []  # size, offset, when it is taken
    end = as_expr(total)
    for name in sorted((n for n in spans if n not in offsets), key=lambda n: spans[n]):
        first, last = spans[name]
        size = align(sizes[name])
        slot = next((s for s in slots if s[0] is size and all(t < first or last < f for f, t in s[2])), None)
        if slot is None:
            slot = (size, end, [])
            slots.append(slot)
            end = end + size
        slot[2].append((first, last))
        offsets[name] = slot[1]
    return offsets, end
