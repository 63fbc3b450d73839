"""Program: what one call of a compiled graph runs, as plain data.

A Program is a flat list of steps over numbered buffers and numbered values. *Values* are the int64 numbers (sizes,
strides, offsets, symbols handed to kernels) that a call computes from its inputs: a list in which each entry names an
operation and earlier entries, so it can be evaluated without Python (see `inductor.ir.values`). *Buffers* say where
memory comes from. Everything refers to values and buffers by position; nothing is callable; `to_json` and `from_json`
are inverse, and `from_json` raises `ProgramError` on anything a runner could not execute safely.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any

from inductor.ir import FORMAT
from inductor.ir import values as value_table
from inductor.ir.values import ProgramError, Value

DTYPES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128 "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz complex32"
).split()
ITEMSIZE = dict(zip(DTYPES, (1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1, 1, 1, 4)))


@dataclass(frozen=True)
class Input:
    """One argument of a call: a tensor whose sizes and strides must equal the given values, or a Python number.

    `kind` is "tensor", "int", "float" or "bool"; `dtype`, `sizes` and `strides` are those of a tensor.
    """

    kind: str
    dtype: str = ""
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


@dataclass(frozen=True)
class Buffer:
    """Memory of one call.

    kind      where it lies                                     `base`            `offset` (a value)
    input     in an argument                                    input             -
    constant  in a tensor bound when the Program was loaded     constant          -
    fresh     newly allocated by an `Alloc` step                -                 -
    arena     in the call's arena                               -                 bytes from its start
    view      in another buffer                                 buffer            elements from the base's first
    result    wherever the op of a `Python` step put it         -                 -

    `sizes` and `strides` are values; those of a `result` are unknown before its step has run, so they are empty.
    """

    kind: str
    dtype: str
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    base: int = -1
    offset: int = -1


@dataclass(frozen=True)
class Alloc:
    """Take memory for a `fresh` buffer."""

    buffer: int


@dataclass(frozen=True)
class View:
    """Locate a `view` buffer; its base is located already."""

    buffer: int


@dataclass(frozen=True)
class Evaluate:
    """Compute the values start..stop-1, which depend on sizes of `result` buffers."""

    start: int
    stop: int


@dataclass(frozen=True)
class Kernel:
    """Call a function of the Program's library with the addresses of `buffers` and the numbers of `values`.

    `writes` are the positions in `buffers` that it writes. A kernel whose `first_check` is not -1 may fail, having
    written nothing visible: it returns 1 + i for checks[first_check + i].
    """

    name: str
    buffers: tuple[int, ...]
    values: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    first_check: int = -1


@dataclass(frozen=True)
class Extern:
    """Run the op named `op`, whose results become the buffers `outputs`: where they are laid out as planned and new, the
    tensors themselves take the buffers' places, else they are copied.

    `args` and `kwargs` hold: ["buffer", i], ["value", i], ["dtype", name], ["device", name], ["list", items],
    ["literal", x] with x a number, string, bool or None, and ["complex", [real, imaginary]].
    """

    op: str
    args: tuple
    outputs: tuple[int, ...]
    kwargs: tuple = ()


@dataclass(frozen=True)
class Python:
    """Run the op named `op`; the tensors it returns become the `result` buffers `outputs`."""

    op: str
    args: tuple
    outputs: tuple[int, ...]
    kwargs: tuple = ()


@dataclass(frozen=True)
class Copy:
    """Copy a buffer into another of the same sizes and dtype."""

    source: int
    target: int


@dataclass(frozen=True)
class Loop:
    """while condition(*carried, *captured): carried = body(*carried, *captured).

    `results` are `result` buffers that hold the carried tensors afterwards, never the initial ones themselves.
    """

    condition: Program
    body: Program
    carried: tuple[int, ...]
    captured: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Cond:
    """Run `then` if the one element of the bool buffer `predicate` is true, else `otherwise`, on `operands`."""

    predicate: int
    then: Program
    otherwise: Program
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class RngAdvance:
    """Advance the default generator by a number (a value) of Philox counters."""

    count: int


@dataclass(frozen=True)
class Check:
    """Fail with checks[check] unless the value is not 0."""

    value: int
    check: int


@dataclass(frozen=True)
class CheckInfo:
    """What a failing check means: the op, its argument, and the user's line ("" when not known)."""

    op: str
    argument: str = ""
    line: str = ""


@dataclass(frozen=True)
class Output:
    """One result of a call.

    kind      result                                            `index`
    buffer    a tensor over the buffer                          buffer
    input     the argument itself                               input
    view      a view of an argument, `sizes`, `strides`,        input
              `offset` (elements in the storage) being values
    int, float, bool   a value as a Python number               value
    constant  `literal`: a number, string, bool or None         -
    """

    kind: str
    index: int = -1
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = -1
    literal: object = None


STEPS: dict[str, Any] = {
    s.__name__: s for s in (Alloc, View, Evaluate, Kernel, Extern, Python, Copy, Loop, Cond, RngAdvance, Check)
}


@dataclass
class Program:
    """See the module's text. `arena` and `cost` (estimated nanoseconds of work) are values, or -1.

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
            **{name: getattr(self, name) for name in ("prologue", "n_constants", "arena", "cost")},
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
                **{name: data[name] for name in ("prologue", "mutations", "n_constants", "arena", "cost")},
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
        return _Printer(self).text()


def _plain(item) -> list:
    return [_plain_field(getattr(item, f.name)) for f in fields(item)]


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
        self.values(0, p.prologue)
        for i, item in enumerate(p.inputs):
            self.layout(item, f"input {i}")
        for name in ("arena", "cost"):
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
        if b.kind == "input":
            _index(b.base, len(self.p.inputs), what)
            _need(self.p.inputs[b.base].kind == "tensor", f"{what}: input {b.base} is not a tensor")
            self.located.add(i)
        elif b.kind == "constant":
            _index(b.base, self.p.n_constants, what)
            self.located.add(i)
        elif b.kind == "arena":
            _need(self.p.arena != -1, f"{what}: the Program has no arena")
            self.value(b.offset, what)
            self.layout(b, what)
            self.located.add(i)
        else:
            _need(b.kind in ("fresh", "view", "result"), f"{what}: unknown kind {b.kind!r}")

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
            case Extern() | Python():
                _need(isinstance(s.op, str) and s.op, f"{what}: no op")
                for a in (*s.args, *(v for _, v in s.kwargs)):
                    self.argument(a, what)
                for i in s.outputs:
                    self.buffer(i, what) if isinstance(s, Extern) else self.result(i, what)
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
        if out.kind == "buffer":
            self.buffer(out.index, what)
            _need(self.p.buffers[out.index].kind != "arena", f"{what}: in the arena")
        elif out.kind in ("input", "view"):
            _index(out.index, n_inputs, what)
            if out.kind == "view":
                _need(self.p.inputs[out.index].kind == "tensor", f"{what}: view of a number")
                self.layout(out, what)
                self.value(out.offset, what)
        elif out.kind in ("int", "float", "bool"):
            self.value(out.index, what)
        else:
            _need(out.kind == "constant", f"{what}: unknown kind {out.kind!r}")
            _need(out.literal is None or isinstance(out.literal, int | float | str), f"{what}: literal {out.literal!r}")


def check(program: Program) -> None:
    """Raise ProgramError unless every reference is in range and defined before its use."""
    try:
        _Validator(program).run()
    except (TypeError, AttributeError) as e:
        raise ProgramError(f"not a Program: {e}") from e


# ----------------------------------------------------------------------------------------------------------- printing
class _Printer:
    def __init__(self, program: Program):
        self.p = program

    def v(self, i: int) -> str:
        return value_table.text(self.p.values, i)

    def dims(self, item) -> str:
        return "[" + ", ".join(map(self.v, item.sizes)) + "]"

    def b(self, i: int) -> str:
        b = self.p.buffers[i]
        return {"input": f"in{b.base}", "constant": f"const{b.base}"}.get(b.kind, f"buf{i}")

    def argument(self, a) -> str:
        kind, x = a
        if kind == "buffer":
            return self.b(x)
        if kind.endswith("value"):
            return self.v(x)
        if kind == "complex":
            return repr(complex(*x))
        return "[" + ", ".join(map(self.argument, x)) + "]" if kind == "list" else repr(x) if kind == "literal" else x

    def step(self, s) -> str:
        b, v = self.b, self.v
        match s:
            case Alloc(i):
                return f"{b(i)} = empty({self.p.buffers[i].dtype}{self.dims(self.p.buffers[i])})"
            case View(i):
                view = self.p.buffers[i]
                return f"{b(i)} = as_strided({b(view.base)}, {self.dims(view)}, offset={v(view.offset)})"
            case Evaluate(start, stop):
                return f"evaluate values {start}..{stop}"
            case Kernel():
                fails = "   # may fail" if s.first_check != -1 else ""
                return f"{s.name}({', '.join([b(i) for i in s.buffers] + [v(i) for i in s.values])}){fails}"
            case Extern() | Python():
                args = [self.argument(a) for a in s.args] + [f"{k}={self.argument(a)}" for k, a in s.kwargs]
                outs = ", ".join(map(b, s.outputs))
                if isinstance(s, Extern):
                    return f"{s.op}({', '.join(args)}, out=({outs}))"
                return f"{outs} = {s.op}({', '.join(args)})"
            case Copy():
                return f"copy({b(s.target)}, {b(s.source)})"
            case Loop():
                return f"{', '.join(map(b, s.results))} = while_loop({', '.join(map(b, s.carried + s.captured))})"
            case Cond():
                return f"{', '.join(map(b, s.results))} = cond({b(s.predicate)}, {', '.join(map(b, s.operands))})"
            case RngAdvance(i):
                return f"rng_advance({v(i)})"
            case _:
                return f"check({v(s.value)})   # {self.p.checks[s.check].op}"

    def output(self, out: Output) -> str:
        if out.kind == "buffer":
            return self.b(out.index)
        if out.kind == "constant":
            return repr(out.literal)
        if out.kind == "view":
            return f"as_strided(in{out.index}, {self.dims(out)}, offset={self.v(out.offset)})"
        return f"in{out.index}" if out.kind == "input" else self.v(out.index)

    def text(self) -> str:
        p = self.p
        params = [
            f'in{i}: "{x.dtype}{self.dims(x)}"' if x.kind == "tensor" else f"in{i}: {x.kind}"
            for i, x in enumerate(p.inputs)
        ]
        lines = [f"def program({', '.join(params)}):"]
        if p.arena != -1:
            lines.append(f"    arena = {self.v(p.arena)} bytes")
            for i, b in enumerate(p.buffers):
                if b.kind == "arena":
                    lines.append(f"    {self.b(i)} = arena[{self.v(b.offset)}:] as {b.dtype}{self.dims(b)}")
        lines += ["    " + self.step(s) for s in p.steps]
        lines += [f"    version(in{i}) += 1" for i in p.mutations]
        return "\n".join([*lines, f"    return ({', '.join(map(self.output, p.outputs))},)"])
