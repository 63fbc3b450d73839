"""Values and indices as Triton text, for every kind of kernel."""

from __future__ import annotations

import math

from aten.symbolic.expr import Expr, as_expr
from inductor.codegen.kernel import Plan, Scope, Walk
from inductor.codegen.triton_scalars import TEXTS
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.loops import Store
from inductor.ir.nodes import HALF, Node

DTYPES = {"bool": "tl.int1", **{f"{u}int{b}": f"tl.{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)},
          "float32": "tl.float32", "float64": "tl.float64", "float16": "tl.float16", "bfloat16": "tl.bfloat16"}  # fmt: skip


def text_of(e: Expr | int, names: dict[str, str] | None = None) -> str:
    """An index as Triton text: divisions are of numbers that are not negative."""
    e = as_expr(e)
    if e.is_const:
        return repr(e.value)
    if e.op == "sym":
        return (names or {}).get(e.value, e.value)
    args = [text_of(a, names) for a in e.args]
    if e.op in _INFIX:
        return "(" + f" {_INFIX[e.op]} ".join(args) + ")"
    if e.op in ("min", "max"):
        out = args[0]
        for a in args[1:]:
            out = f"tl.{e.op}imum({out}, {a})"
        return out
    if e.op == "where":
        return f"tl.where({', '.join(args)})"
    if e.op == "not":
        return f"({args[0]} == 0)"
    raise NotImplementedError(f"index {e} in Triton")


_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "eq": "==", "le": "<=", "lt": "<",
          "and": "&", "or": "|"}  # fmt: skip


class ValueText(Walk):
    """Writes nodes as Triton statements. `mask`: the lanes that exist, as text."""

    def __init__(self, kernel: Kernel, plan: Plan, buffers: dict[str, Buffer], ranges: dict):
        super().__init__(plan, ranges)
        self.kernel, self.buffers = kernel, buffers
        self.kept: dict[str, Node] = {}
        self.named: dict[str, str] = {}
        self.masks: list[str] = []

    def argument(self, name: str) -> str:
        return f"b{self.kernel.args.index(name)}"

    def mask(self) -> str:
        raise NotImplementedError

    def lanes(self) -> str:
        return " & ".join([self.mask(), *self.masks])

    def define(self, scope: Scope, text: str) -> str:
        name = self.fresh()
        scope.lines.append(f"{name} = {text}")
        return name

    def index(self, e: Expr, where: tuple[Node, ...] = ()) -> str:
        return text_of(self.simplified(e), {w.symbol.value: self.emit(w) for w in where})

    def write_const(self, n: Node, scope: Scope) -> str:
        value = n.value
        if isinstance(value, float) and not math.isfinite(value):
            value = f"float('{value}')"
        return f"tl.full([1, 1], {value}, {DTYPES[n.dtype]})"

    def write_index(self, n: Node, scope: Scope) -> str:
        text = self.index(n.index, n.args)
        return self.define(scope, f"(({text}) + tl.full([1, 1], 0, tl.int64)).to({DTYPES[n.dtype]})"
                           if n.dtype != "bool" else f"(({text}) & tl.full([1, 1], 1, tl.int1)) != 0")  # fmt: skip

    def write_load(self, n: Node, scope: Scope) -> str:
        at = f"{self.argument(n.buffer)} + (({self.index(n.index, n.args)}) + {self.zeros(scope)})"
        stored = self.buffers[n.buffer].dtype
        text = f"tl.load({at}, mask={self.lanes_in(scope)}, other=0)"
        if stored == "bool":
            text += " != 0"
        elif stored in HALF:
            text += ".to(tl.float32)"
        return self.define(scope, text)

    def zeros(self, scope: Scope) -> str:
        """Text that is 0 with the shape of the scope's values."""
        raise NotImplementedError

    def lanes_in(self, scope: Scope) -> str:
        raise NotImplementedError

    def write_row(self, n: Node, scope: Scope) -> str:
        return self.named.get(n.name, n.name)

    def write_kept(self, n: Node, scope: Scope) -> str:
        return self.emit(self.kept[n.name])

    def write_call(self, n: Node, scope: Scope) -> str:
        args = [self.emit(a) for a in n.args]
        if n.name == "cast" and n.args[0].dtype == "bool":
            return self.define(scope, f"{args[0]}.to(tl.int8).to({DTYPES[n.dtype]})")
        one = f"tl.full([1, 1], 1, {DTYPES[n.dtype]})"
        return self.define(scope, TEXTS[n.name].format(*args, T=DTYPES[n.dtype], T1=one))

    def write_checked(self, n: Node, scope: Scope) -> str:
        kind, size, check = n.fields
        value = self.emit(n.args[0])
        bad = self.define(scope, f"({value} < 0) | ({value} >= ({self.index(size)}))" if kind == "bounds"
                          else f"{value} == 0")  # fmt: skip
        row = self.kernel.checks.index(check)
        zeros = self.zeros(scope)
        report = f"({zeros} + {row + 1}).to(tl.int64)"
        scope.lines.append(f"tl.atomic_max(failed + {zeros}, {report}, mask={bad} & {self.lanes_in(scope)})")
        return self.define(scope, f"tl.where({bad}, {0 if kind == 'bounds' else 1}, {value})")

    def write_masked(self, n: Node, scope: Scope) -> str:
        condition, value, other = n.args
        c, o = self.emit(condition), self.emit(other)
        self.masks.append(c)
        block = Scope(frozenset(), guard=True)
        self.scopes.append(block)
        v = self.emit(value)
        self.scopes.pop()
        self.masks.pop()
        scope.lines += block.lines
        return self.define(scope, f"tl.where({c}, {v}, {o})")

    def store_line(self, s: Store, value: str, scope: Scope) -> str:
        at = f"{self.argument(s.buffer)} + (({self.index(s.index)}) + {self.zeros(scope)})"
        dtype = "tl.int8" if s.dtype == "bool" else DTYPES[s.dtype]
        value = f"tl.broadcast_to({value}, {self.shape(scope)}).to({dtype})"
        return f"tl.store({at}, {value}, mask={self.lanes_in(scope)})"

    def shape(self, scope: Scope) -> str:
        """The shape of the scope's values, as text."""
        raise NotImplementedError
