"""Values and indices as Triton text, for every kind of kernel.

Places are counted in 32 bits where all parts of an index are known to fit, else in 64.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten.scalar.unpatched import math
from aten.symbolic.expr import ZERO, Expr, as_expr, bounds, substitute, sym, walk
from inductor.codegen.kernel import Plan, Scope, Walk, fits_int32
from inductor.codegen.triton_function import POINTERS, Parameter
from inductor.codegen.triton_scalars import OF_BOOLS, TEXTS
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.index import coefficient, row_major
from inductor.ir.loops import Dim, Store
from inductor.ir.nodes import HALF, Node

DTYPES = {"bool": "tl.int1", **{f"{u}int{b}": f"tl.{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)},
          "float32": "tl.float32", "float64": "tl.float64", "float16": "tl.float16", "bfloat16": "tl.bfloat16"}  # fmt: skip
LARGEST_PLACE = 2**31 - 2**16  # of 32 bits, with room for a last block that is not full


def text_of(e: Expr | int, names: dict[str, str], ranges: dict) -> str:
    """An index as Triton text. `ranges` bound its symbols: Triton's division cuts towards zero, an index's does not."""
    e = as_expr(e)
    if e.is_const:
        return repr(e.value)
    if e.op == "sym":
        return names.get(e.value, e.value)
    args = [text_of(a, names, ranges) for a in e.args]
    if e.op in ("floordiv", "mod") and bounds(e.args[0], ranges)[0] < 0:
        rest = f"(({args[0]} % {args[1]} + {args[1]}) % {args[1]})"
        return rest if e.op == "mod" else f"(({args[0]} - {rest}) // {args[1]})"
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
    """Writes nodes as Triton statements. A tile's axes are x, and r within `inner`: `axes` names the dims along each,
    `blocks` their lengths as text. With `narrow` a guard has promised that no symbolic place needs 64 bits."""

    def __init__(self, kernel: Kernel, plan: Plan, buffers: dict[str, Buffer], ranges: dict, narrow: bool = False):
        super().__init__(plan, ranges)
        self.kernel, self.buffers, self.narrow = kernel, buffers, narrow
        self.kept: dict[str, Node] = {}
        self.named: dict[str, str] = {}
        self.masks: list[str] = []
        self.inner = False
        self.axes: dict[str, tuple[Dim, ...]] = {"x": (), "r": ()}
        self.masked = {"x": True, "r": True}
        self.arguments: dict[str, Parameter] = {}  # by buffer, symbol or "failed", in the order of first use
        self.sized: frozenset[str] = frozenset()  # symbols that places and extents are made of

    # ---- arguments

    def argument(self, name: str) -> str:
        """The parameter that is a buffer."""
        if name not in self.arguments:
            kind = POINTERS[self.buffers[name].dtype]
            self.arguments[name] = Parameter(f"b{len(self.arguments)}", kind, name, divides=True)
        return self.arguments[name].name

    def failed(self) -> str:
        """The parameter behind which the words of this kernel's checks lie."""
        return self.arguments.setdefault("failed", Parameter("failed", "*i32", None)).name

    def symbol(self, name: str) -> str:
        """The parameter that is a symbol of the graph."""
        if name not in self.arguments:
            short = self.narrow and name in self.sized
            kind = "fp64" if sym(name).kind == "float" else "i32" if short else "i64"
            self.arguments[name] = Parameter(f"n{len(self.arguments)}", kind, sym(name), divides=short)
        return self.arguments[name].name

    def end(self, total: Expr) -> str:
        """A constant as an argument, for what must not be known when the kernel is compiled."""
        parameter = Parameter(f"n{len(self.arguments)}", "i32", total, divides=total.value % 16 == 0)
        return self.arguments.setdefault(f"= {total}", parameter).name

    def computed(self, e: Expr) -> str:
        """A float that the host computes, of symbols alone, as an argument."""
        if e.op == "sym":
            return self.symbol(e.name)
        return self.arguments.setdefault(f"= {e}", Parameter(f"n{len(self.arguments)}", "fp64", e)).name

    # ---- places

    def fits(self, e: Expr) -> bool:
        """Whether `e` may be computed in 32 bits, all of its parts included."""
        if all(fits_int32(part, self.ranges) for part in walk(e)):
            return True
        return self.narrow and all(n in self.ranges or n in self.sized for n in e.free_symbols)

    def places(self, e: Expr, values: dict[str, str] | None = None, narrow: bool | None = None) -> str:
        """An expression of loop variables and symbols as text. `values`: texts of the nodes that it mentions."""
        narrow = self.fits(e) if narrow is None else narrow
        names = dict(values or {})
        for name in e.free_symbols - names.keys():
            names[name] = self.variable(name) or self.symbol(name)
            if not narrow and sym(name).kind == "int":
                names[name] += ".to(tl.int64)"
        return text_of(e, names, self.ranges)

    def variable(self, name: str) -> str | None:
        """The text of a loop variable, declared where its axis is; None for what is none."""
        for axis, dims in self.axes.items():
            for k, d in enumerate(dims):
                if d.name == name:
                    return self.run(axis, k, k)
        return None

    def run(self, axis: str, first: int, last: int) -> str:
        """The joint row-major index of neighbouring dims of an axis."""
        dims = self.axes[axis]
        if first == 0 and last == len(dims) - 1:
            return axis
        name = f"{axis}{first}" if first == last else f"{axis}{first}_{last}"
        scope = self.scopes[1 if axis == "r" else 0]
        if name not in scope.labels:
            scope.labels.add(name)
            step = row_major([d.size for d in dims])[last]
            text = axis if step.is_const and step.value == 1 else f"{axis} // {self.places(step)}"
            if first:
                size = as_expr(1)
                for d in dims[first : last + 1]:
                    size = size * d.size
                text = f"({text}) % {self.places(size)}"
            scope.lines.append(f"{name} = {text}")
        return name

    def joined(self, e: Expr) -> tuple[Expr, dict[str, str]]:
        """`e` with neighbouring dims that it walks through as one replaced by their joint index: no division is needed where
        an operand lies as the tile runs."""
        texts: dict[str, str] = {}
        names = {d.name for dims in self.axes.values() for d in dims}
        for axis, dims in self.axes.items():
            steps = [coefficient(e, d.name) for d in dims]
            if len(dims) < 2 or any(s is None or s.free_symbols & names for s in steps):
                continue
            start = 0
            for k in range(1, len(dims) + 1):
                if k < len(dims) and steps[k - 1] is steps[k] * dims[k].size:
                    continue
                if k - start > 1 and steps[k - 1] is not ZERO:
                    joint = f"run_{axis}_{start}_{k - 1}"
                    texts[joint] = self.run(axis, start, k - 1)
                    size = as_expr(1)
                    for d in dims[start:k]:
                        size = size * d.size
                    self.ranges[joint] = (as_expr(0), size - 1)
                    e = substitute(e, {d.name: ZERO for d in dims[start:k]}) + sym(joint) * steps[k - 1]
                start = k
        return e, texts

    def index(self, e: Expr, where: Sequence[Node] = ()) -> str:
        e = self.simplified(e)
        narrow = self.fits(e)
        e, runs = self.joined(e)
        if not narrow:
            runs = {name: f"{text}.to(tl.int64)" for name, text in runs.items()}
        return self.places(e, {**runs, **{w.symbol.value: self.emit(w) for w in where}}, narrow)

    def address(self, buffer: str, e: Expr, where: Sequence[Node], scope: Scope) -> str:
        """Where an element of a buffer is, for every lane of the scope."""
        text = f"{self.argument(buffer)} + {self.index(e, where)}"
        along = {axis for axis, dims in self.axes.items() if any(d.name in e.free_symbols for d in dims)}
        missing = [axis for axis in self.present(scope) if axis not in along or where]
        return " + ".join([text, *(f"{axis} * 0" for axis in missing)])

    def present(self, scope: Scope) -> list[str]:
        """The axes that values of a scope have."""
        return ["x", "r"] if self.inner and scope is not self.scopes[0] else ["x"]

    def zeros(self, scope: Scope) -> str:
        """Text that is 0 with the shape of the scope's values."""
        return "(" + " + ".join(f"{axis} * 0" for axis in self.present(scope)) + ")"

    def shape(self, scope: Scope) -> str:
        """The shape of the scope's values, as text."""
        return "[XBLOCK, RBLOCK]" if len(self.present(scope)) == 2 else "[XBLOCK, 1]"

    def lanes_in(self, scope: Scope) -> str:
        """The lanes that exist, as text; empty where all do."""
        tests = [f"{axis}mask" for axis in self.present(scope) if self.masked[axis]]
        return " & ".join([*tests, *self.masks])

    def mask(self, scope: Scope, *more: str) -> str:
        """The argument of a load or store that says which lanes exist."""
        lanes = " & ".join(filter(None, [*more, self.lanes_in(scope)]))
        return f", mask={lanes}" if lanes else ""

    def define(self, scope: Scope, text: str) -> str:
        name = self.fresh()
        scope.lines.append(f"{name} = {text}")
        return name

    # ---- nodes

    def write_const(self, n: Node, scope: Scope) -> str:
        value = n.value
        if isinstance(value, float) and not math.isfinite(value):
            value = f"float('{value}')"
        return f"tl.full([1, 1], {value}, {DTYPES[n.dtype]})"

    def write_index(self, n: Node, scope: Scope) -> str:
        e = self.simplified(n.index)
        if e.kind == "float" and not n.args:  # a block of it, which keeps the sign of -0.0
            return self.define(scope, f"({self.computed(e)} * tl.full([1, 1], 1.0, tl.float64)).to({DTYPES[n.dtype]})")
        narrow = all(fits_int32(part, self.ranges) for part in walk(e))
        text = self.places(e, {w.symbol.value: self.emit(w) for w in n.args}, narrow)
        if n.dtype == "bool":
            return self.define(scope, f"(({text}) & tl.full([1, 1], 1, tl.int1)) != 0")
        if e.kind == "float":  # a block of it, which keeps the sign of -0.0
            return self.define(scope, f"(({text}) * tl.full([1, 1], 1.0, tl.float64)).to({DTYPES[n.dtype]})")
        zero = "0, tl.int64" if not narrow else "0, tl.int32"
        return self.define(scope, f"(({text}) + tl.full([1, 1], {zero})).to({DTYPES[n.dtype]})")

    def write_load(self, n: Node, scope: Scope) -> str:
        at = self.address(n.buffer, n.index, n.args, scope)
        stored = self.buffers[n.buffer].dtype
        mask = self.mask(scope)
        text = f"tl.load({at}{mask}{', other=0' if mask else ''})"
        if stored == "bool":
            text += " != 0"
        elif stored in HALF:
            text += ".to(tl.float32)"
        return self.define(scope, text)

    def write_row(self, n: Node, scope: Scope) -> str:
        return self.named[n.name]

    def write_kept(self, n: Node, scope: Scope) -> str:
        return self.emit(self.kept[n.name])

    def write_call(self, n: Node, scope: Scope) -> str:
        args = [self.emit(a) for a in n.args]
        if n.name == "cast" and n.args[0].dtype == "bool":
            return self.define(scope, f"{args[0]}.to(tl.int8).to({DTYPES[n.dtype]})")
        one = f"tl.full([1, 1], 1, {DTYPES[n.dtype]})"
        text = OF_BOOLS.get(n.name, TEXTS[n.name]) if n.dtype == "bool" else TEXTS[n.name]
        return self.define(scope, text.format(*args, T=DTYPES[n.dtype], T1=one))

    def write_checked(self, n: Node, scope: Scope) -> str:
        kind, size, check = n.fields
        value = self.emit(n.args[0])
        bad = self.define(scope, f"({value} < 0) | ({value} >= {self.places(self.simplified(size))})" if kind == "bounds"
                          else f"{value} == 0")  # fmt: skip
        word = f"{self.failed()} + {self.kernel.checks.index(check)} + {self.zeros(scope)}"
        report = f"tl.full({self.shape(scope)}, 1, tl.int32)"
        scope.lines.append(f"tl.store({word}, {report}{self.mask(scope, bad)})")
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
        dtype = "tl.int8" if s.dtype == "bool" else DTYPES[s.dtype]
        value = f"tl.broadcast_to({value}, {self.shape(scope)}).to({dtype})"
        return f"tl.store({self.address(s.buffer, s.index, (), scope)}, {value}{self.mask(scope)})"
