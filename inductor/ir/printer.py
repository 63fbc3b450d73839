"""A Program as text: what `str(program)` and `WEFT_LOGS=program` show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inductor.ir import values as value_table
from inductor.ir.steps import Alloc, Cond, Copy, Evaluate, Extern, Kernel, Launch, Loop, Output, Python, RngAdvance, View

if TYPE_CHECKING:
    from inductor.ir.program import Program


class Printer:
    """Writes a Program as the Python function that it stands for; `text` is all of it."""

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
            case Launch():
                given = [b(i) if kind == "buffer" else f"failed[{i}]" if kind == "failed" else v(i) for kind, i in s.arguments]
                return f"{s.functions[0][1]}<{v(s.grid)}>({', '.join(given)})"
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
        if out.kind in ("view", "part"):
            base = f"in{out.index}" if out.kind == "view" else self.b(out.index)
            return f"as_strided({base}, {self.dims(out)}, offset={self.v(out.offset)})"
        return f"in{out.index}" if out.kind == "input" else self.v(out.index)

    def text(self) -> str:
        p = self.p
        params = [f'in{i}: "{x.dtype}{self.dims(x)}"' if x.kind == "tensor" else f"in{i}: {x.kind}" for i, x in enumerate(p.inputs)]
        lines = [f"def program({', '.join(params)}):"]
        if p.arena != -1:
            lines.append(f"    arena = {self.v(p.arena)} bytes")
        if p.device_arena != -1:
            lines.append(f"    arena on {p.device} = {self.v(p.device_arena)} bytes")
        if p.arena != -1 or p.device_arena != -1:
            for i, b in enumerate(p.buffers):
                if b.kind == "arena":
                    lines.append(f"    {self.b(i)} = arena[{self.v(b.offset)}:] as {b.dtype}{self.dims(b)}")
        lines += ["    " + self.step(s) for s in p.steps]
        lines += [f"    version(in{i}) += 1" for i in p.mutations]
        return "\n".join([*lines, f"    return ({', '.join(map(self.output, p.outputs))},)"])
