"""Program: what one call of a compiled graph runs, as plain data.

A Program is a flat list of steps over numbered buffers and numbered values. *Values* are the int64 numbers (sizes,
strides, offsets, symbols handed to kernels) that a call computes from its inputs: a list in which each entry names an
operation and earlier entries, so it can be evaluated without Python (see `inductor.ir.values`). *Buffers* say where
memory comes from. Everything refers to values and buffers by position; nothing is callable; `to_json` and `from_json`
are inverse, and `from_json` raises `ProgramError` on anything a runner could not execute safely.
"""

from __future__ import annotations

import json
from typing import Any

from aten.records import field, fields, record
from inductor.ir import FORMAT
from inductor.ir import values as value_table
from inductor.ir.printer import Printer
from inductor.ir.steps import (
    DTYPES,
    STEPS,
    Alloc,
    Buffer,
    Check,
    CheckInfo,
    Cond,
    Copy,
    Evaluate,
    Extern,
    Input,
    Kernel,
    Launch,
    Loop,
    Output,
    Python,
    RngAdvance,
    View,
)
from inductor.ir.values import ProgramError, Value


@record
class Program:
    """See the module's text. `arena` and `cost` (estimated nanoseconds of work) are values, or -1. `device` is where Launch
    steps run, "cuda:0", and `device_arena` the size of the arena there; no step needs more than one device and the CPU.
    `graphs`: 1 where launches are to be played as graphs of the driver (inductor/runtime/graphs.cpp).

    `prologue` values are computed before the first step; `Evaluate` steps compute the others. `mutations` are the
    inputs written in place: their versions advance when the call has succeeded, once for each time they are listed.
    """

    inputs: list[Input]
    values: list[Value]
    buffers: list[Buffer]
    steps: list
    outputs: list[Output]
    prologue: int
    checks: list[CheckInfo] = field(default_factory=list)
    mutations: list[int] = field(default_factory=list)
    n_constants: int = 0
    arena: int = -1
    cost: int = -1
    device: str = ""
    device_arena: int = -1
    graphs: int = 0

    def __post_init__(self):
        check(self)

    def to_data(self) -> dict:
        """The Program as numbers, strings, lists and dicts: what `inductor._runner.Program` reads."""
        return {
            "format": FORMAT,
            "inputs": [_plain(i) for i in self.inputs],
            "values": [list(v) for v in self.values],
            "buffers": [_plain(b) for b in self.buffers],
            "steps": [[type(s).__name__, *_plain(s)] for s in self.steps],
            "outputs": [_plain(o) for o in self.outputs],
            "checks": [_plain(c) for c in self.checks],
            "mutations": list(self.mutations),
            **{name: getattr(self, name) for name in _PLAIN if name != "mutations"},
        }

    @staticmethod
    def from_data(data: dict) -> Program:
        """Inverse of `to_data`. Raises ProgramError on anything malformed."""
        try:
            if data["format"] != FORMAT:
                raise ProgramError(f"format {data['format']}, this version reads {FORMAT}")
            return Program(
                inputs=[Input(*map(_frozen, i)) for i in data["inputs"]],
                values=[tuple(v) for v in data["values"]],
                buffers=[Buffer(*map(_frozen, b)) for b in data["buffers"]],
                steps=[_step(s) for s in data["steps"]],
                outputs=[Output(*map(_frozen, o)) for o in data["outputs"]],
                checks=[CheckInfo(*c) for c in data["checks"]],
                **{name: data[name] for name in _PLAIN},
            )
        except (KeyError, TypeError, IndexError, AttributeError) as e:
            raise ProgramError(f"not a Program: {type(e).__name__}: {e}") from e

    def to_json(self) -> str:
        return json.dumps(self.to_data(), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> Program:
        """Inverse of `to_json`. Raises ProgramError on anything malformed."""
        try:
            data = json.loads(text)
        except ValueError as e:
            raise ProgramError(f"not JSON: {e}") from e
        return Program.from_data(data)

    def __str__(self) -> str:
        return Printer(self).text()


_PLAIN = ("prologue", "mutations", "n_constants", "arena", "cost", "device", "device_arena", "graphs")


def _plain(item) -> list:
    return [_plain_field(getattr(item, name)) for name in fields(item)]


def _plain_field(value):
    if isinstance(value, Program):
        return value.to_data()
    if isinstance(value, tuple | list):
        return [_plain_field(v) for v in value]
    return value


def _frozen(value):
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _step(data: list):
    name, *values = data
    if name not in STEPS:
        raise ProgramError(f"unknown step {name!r}")
    return STEPS[name](*(Program.from_data(v) if isinstance(v, dict) else _frozen(v) for v in values))


# --------------------------------------------------------------------------------------------------------- validation
def _need(condition: object, message: str) -> None:
    if not condition:
        raise ProgramError(message)


def _index(i: object, n: int, what: str) -> None:
    _need(type(i) is int and 0 <= i < n, f"{what} {i!r} is not in 0..{n - 1}")


class _Validator:
    """One walk in execution order that knows which values and buffers exist at each step."""

    def __init__(self, program: Program):
        self.p = program
        self.known = 0  # values computed so far
        self.located: set[int] = set()  # buffers that have memory

    def value(self, i: object, what: str) -> None:
        _index(i, self.known, what)

    def buffer(self, i: object, what: str) -> None:
        _index(i, len(self.p.buffers), what)
        _need(i in self.located, f"{what}: buffer {i} is used before it has memory")

    def layout(self, item, what: str) -> None:
        _need(len(item.sizes) == len(item.strides), f"{what}: {len(item.sizes)} sizes, {len(item.strides)} strides")
        _need(len(item.sizes) <= 64, f"{what}: more than 64 dimensions")
        for v in (*item.sizes, *item.strides):
            self.value(v, what)

    def values(self, start: int, stop: int) -> None:
        for i in range(start, stop):
            value_table.check(self.p, i, self.located)
        self.known = stop

    def run(self) -> None:
        p = self.p
        _need(type(p.prologue) is int and 0 <= p.prologue <= len(p.values), "prologue is out of range")
        for i, item in enumerate(p.inputs):
            _need(item.kind in ("tensor", "int", "float", "bool"), f"input {i}: unknown kind {item.kind!r}")
            _need(item.kind != "tensor" or item.dtype in DTYPES, f"input {i}: unknown dtype {item.dtype!r}")
            _need(item.device in ("cpu", p.device), f"input {i}: on {item.device!r}, which is not the Program's device")
        self.values(0, p.prologue)
        for i, item in enumerate(p.inputs):
            self.layout(item, f"input {i}")
        _need(isinstance(p.device, str), f"device {p.device!r}")
        _need(p.graphs in (0, 1) and (p.device or not p.graphs), f"graphs {p.graphs!r}")
        for name in ("arena", "cost", "device_arena"):
            if getattr(p, name) != -1:
                self.value(getattr(p, name), name)
        for i, b in enumerate(p.buffers):
            self.declare(i, b)
        for n, step in enumerate(p.steps):
            self.step(step, f"step {n} ({type(step).__name__})")
        for n, out in enumerate(p.outputs):
            self.output(out, f"output {n}")
        for i in p.mutations:
            _index(i, len(p.inputs), "mutation")
            _need(p.inputs[i].kind == "tensor", f"mutation: input {i} is not a tensor")

    def declare(self, i: int, b: Buffer) -> None:
        what = f"buffer {i}"
        _need(b.dtype in DTYPES, f"{what}: unknown dtype {b.dtype!r}")
        _need(b.device in ("cpu", self.p.device), f"{what}: on {b.device!r}, which is not the Program's device")
        if b.kind == "input":
            _index(b.base, len(self.p.inputs), what)
            _need(self.p.inputs[b.base].kind == "tensor", f"{what}: input {b.base} is not a tensor")
            self.located.add(i)
        elif b.kind == "constant":
            _index(b.base, self.p.n_constants, what)
            self.located.add(i)
        elif b.kind == "arena":
            _need((self.p.arena if b.device == "cpu" else self.p.device_arena) != -1, f"{what}: the Program has no arena")
            self.value(b.offset, what)
            self.layout(b, what)
            self.located.add(i)
        else:
            _need(b.kind in ("fresh", "view", "returned", "result"), f"{what}: unknown kind {b.kind!r}")

    def step(self, s, what: str) -> None:
        p = self.p
        match s:
            case Alloc(i) | View(i):
                _index(i, len(p.buffers), what)
                b = p.buffers[i]
                _need(b.kind == ("fresh" if isinstance(s, Alloc) else "view"), f"{what}: buffer {i} is {b.kind}")
                self.layout(b, what)
                if isinstance(s, View):
                    self.buffer(b.base, what)
                    self.value(b.offset, what)
                self.located.add(i)
            case Evaluate(start, stop):
                _need(start == self.known and start <= stop <= len(p.values), f"{what}: values {start}..{stop}")
                self.values(start, stop)
            case Kernel():
                _need(isinstance(s.name, str) and s.name.isidentifier(), f"{what}: no name {s.name!r}")
                for i in s.buffers:
                    self.buffer(i, what)
                for v in s.values:
                    self.value(v, what)
                for i in s.writes:
                    _index(i, len(s.buffers), f"{what}: write")
                _need(s.first_check == -1 or 0 <= s.first_check < len(p.checks), f"{what}: check {s.first_check}")
                _need(all(p.buffers[i].device == "cpu" for i in s.buffers), f"{what}: a buffer is not in the CPU's memory")
            case Launch():
                self.launch(s, what)
            case Extern() | Python():
                _need(isinstance(s.op, str) and s.op, f"{what}: no op")
                for a in (*s.args, *(v for _, v in s.kwargs)):
                    self.argument(a, what)
                for i in s.outputs:
                    self.returned(i, what) if isinstance(s, Extern) else self.result(i, what)
            case Copy():
                self.buffer(s.source, what)
                self.buffer(s.target, what)
            case Loop() | Cond():
                for i in (*s.carried, *s.captured) if isinstance(s, Loop) else (s.predicate, *s.operands):
                    self.buffer(i, what)
                for i in s.results:
                    self.result(i, what)
                self.subprograms(s, what)
            case RngAdvance(v):
                self.value(v, what)
            case Check():
                self.value(s.value, what)
                _index(s.check, len(p.checks), what)
            case _:
                raise ProgramError(f"{what}: not a step")

    def launch(self, s: Launch, what: str) -> None:
        _need(self.p.device, f"{what}: the Program has no device")
        _need(s.functions, f"{what}: no function")
        for digest, name, threads, shared in s.functions:
            _need(len(digest) == 64 and all(c in "0123456789abcdef" for c in digest), f"{what}: image {digest!r}")
            _need(isinstance(name, str) and name.isidentifier(), f"{what}: no name {name!r}")
            _need(type(threads) is int and 0 < threads <= 1024 and threads % 32 == 0, f"{what}: {threads!r} threads")
            _need(type(shared) is int and 0 <= shared < 1 << 20, f"{what}: {shared!r} bytes of shared memory")
        _need(s.choice != -1 or len(s.functions) == 1, f"{what}: which function is not said")
        for v in (s.grid, *([s.choice] if s.choice != -1 else [])):
            self.value(v, what)
        for kind, i in s.arguments:
            if kind == "buffer":
                self.buffer(i, what)
                _need(self.p.buffers[i].device == self.p.device, f"{what}: buffer {i} is not on {self.p.device}")
            elif kind == "failed":
                _index(i, len(self.p.checks), what)
            else:
                _need(kind in ("i32", "i64", "fp64"), f"{what}: argument {kind!r}")
                self.value(i, what)
        _need(set(s.writes) <= {i for kind, i in s.arguments if kind == "buffer"}, f"{what}: writes what it is not given")

    def subprograms(self, s: Loop | Cond, what: str) -> None:
        if isinstance(s, Loop):
            n = len(s.carried) + len(s.captured)
            wanted = [(s.condition, n, 1), (s.body, n, len(s.carried))]
            _need(len(s.results) == len(s.carried), f"{what}: {len(s.carried)} carried, {len(s.results)} results")
        else:
            wanted = [(q, len(s.operands), len(s.results)) for q in (s.then, s.otherwise)]
        for q, n_in, n_out in wanted:
            _need(isinstance(q, Program) and len(q.inputs) == n_in and len(q.outputs) == n_out, f"{what}: sub-Program")
            _need(not q.n_constants and not q.mutations, f"{what}: a sub-Program has constants or mutations")

    def returned(self, i: Any, what: str) -> None:
        _index(i, len(self.p.buffers), what)
        if self.p.buffers[i].kind == "returned":
            self.layout(self.p.buffers[i], what)
            self.located.add(i)
        self.buffer(i, what)

    def result(self, i: Any, what: str) -> None:
        _index(i, len(self.p.buffers), what)
        _need(self.p.buffers[i].kind == "result", f"{what}: buffer {i} is not a result")
        self.located.add(i)

    def argument(self, a, what: str) -> None:
        _need(isinstance(a, tuple) and len(a) == 2, f"{what}: argument {a!r}")
        kind, x = a
        if kind == "buffer":
            self.buffer(x, what)
        elif kind in ("value", "float_value", "bool_value"):
            self.value(x, what)
        elif kind == "list":
            for item in x:
                self.argument(item, what)
        else:
            ok = {
                "dtype": x in DTYPES if isinstance(x, str) else False,
                "device": isinstance(x, str),
                "literal": x is None or isinstance(x, int | float | str),
                "complex": isinstance(x, tuple) and [type(part) for part in x] == [float, float],
            }
            _need(ok.get(kind), f"{what}: argument {a!r}")

    def output(self, out: Output, what: str) -> None:
        n_inputs = len(self.p.inputs)
        if out.kind in ("buffer", "part"):
            self.buffer(out.index, what)
            _need(self.p.buffers[out.index].kind != "arena", f"{what}: in the arena")
        elif out.kind in ("input", "view"):
            _index(out.index, n_inputs, what)
            _need(out.kind == "input" or self.p.inputs[out.index].kind == "tensor", f"{what}: view of a number")
        elif out.kind in ("int", "float", "bool"):
            self.value(out.index, what)
        else:
            _need(out.kind == "constant", f"{what}: unknown kind {out.kind!r}")
            _need(out.literal is None or isinstance(out.literal, int | float | str), f"{what}: literal {out.literal!r}")
        if out.kind in ("view", "part"):
            self.layout(out, what)
            self.value(out.offset, what)


def check(program: Program) -> None:
    """Raise ProgramError unless every reference is in range and defined before its use."""
    try:
        _Validator(program).run()
    except (TypeError, AttributeError) as e:
        raise ProgramError(f"not a Program: {e}") from e
