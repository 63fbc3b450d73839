"""Values in C++: a variable of L lanes for every node, addresses, and indices that differ by lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aten import settings
from aten.symbolic.expr import Expr, as_expr, simplify, to_cpp
from aten.symbolic.ranges import bounds
from inductor import choices
from inductor.codegen.cpp_vector import COMPUTED, WIDTH, literal, vector
from inductor.codegen.kernel import Plan, Scope, Walk, fits_int32
from inductor.ir import scalar
from inductor.ir.buffer import Buffer, Kernel
from inductor.ir.index import coefficient
from inductor.ir.loops import Store
from inductor.ir.nodes import FLOATS, Node


def is_one_call(text: str) -> bool:
    """Whether the first parenthesis of the text is closed by its last."""
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == ")" and not depth:
            return k == len(text) - 1
    return False


class ValueWriter(Walk):
    """Writes nodes as `const auto tK = …;`. All values have L lanes; a value that is the same in all is splat."""

    buffers: dict[str, Buffer]
    lanes: int
    full = 0  # lanes that a register has of float32, where that is asked

    def __init__(self, kernel: Kernel, plan: Plan, ranges: dict):
        super().__init__(plan, ranges)
        self.kernel = kernel
        self.touched: dict[str, int] = {}
        self.column_results: dict[str, str] = {}
        self.named_rows: dict[str, str] = {}
        self.bytes: dict[str, str] = {}  # the bytes in memory that a bool was made of
        self.compared: dict[str, str] = {}  # the comparison in lanes of its operands' size that a bool was made of

    def expr(self, e: Expr | int, names: dict[str, str] | None = None) -> str:
        """C++ text of an integer expression."""
        return to_cpp(self.simplified(as_expr(e)), self.ranges, names)

    def address(self, index: Expr, names: dict[str, str] | None = None) -> str:
        return f"({to_cpp(index, self.ranges, names)})"

    def argument(self, buffer: str) -> int:
        """The number of a buffer in this function: in the order in which they are first named."""
        return self.touched.setdefault(buffer, len(self.touched))

    def store_line(self, s: Store, value: str, once: bool = False, lanes: str = "n") -> str:
        """The line that stores a value: `once` a single element, else that of every lane."""
        b = f"b{self.argument(s.buffer)}"
        if s.dtype == "bool" and not once:
            value = self.compared.get(value, value)
        if s.dtype == "bfloat16" and self.moves_bfloat16(s.value):
            b = f"(w_moved_bf16 *){b}"
        index = self.simplified(s.index)
        step = coefficient(index, self.plan.axis.name)
        if once:
            return f"w_store1({b} + {self.address(index)}, {value});"
        if step is None:
            return f"w_scatter_at({b}, {self.vector_index(index)}, {value}, {lanes});"
        if step.is_const and step.value == 1:
            store = "w_stream" if self.streams(s) else "w_store"
            return f"{store}({b} + {self.address(index)}, {value}, {lanes});"
        return f"w_scatter({b} + {self.address(index)}, {self.expr(step)}, {value}, {lanes});"

    def moves_bfloat16(self, n: Node) -> bool:
        """Whether the value is one that a bfloat16 holds exactly, since it comes from one."""
        if n.kind == "load":
            return self.buffers[n.buffer].dtype == "bfloat16"
        if n.kind == "masked" or (n.kind == "call" and n.name == "where"):
            return all(map(self.moves_bfloat16, n.args[1:]))
        if n.kind == "call" and n.name in _EXACT:
            return all(map(self.moves_bfloat16, n.args))
        return n.kind == "const" and n.value in (0, 1)

    def streams(self, s: Store) -> bool:
        """Whether the store goes past the caches."""
        return False

    def define(self, scope: Scope, text: str) -> str:
        name = self.fresh()
        scope.lines.append(f"const auto {name} = {text};")
        if text.startswith("w_mask(") and is_one_call(text):
            self.compared[name] = text[len("w_mask") :]
        return name

    # ---- leaves

    def write_const(self, n: Node, scope: Scope) -> str:
        return f"w_splat<{vector(n.dtype)}>({literal(n.value, n.dtype)})"

    def write_row(self, n: Node, scope: Scope) -> str:
        if n.name in self.named_rows:
            return self.named_rows[n.name]
        return self.column_results.get(n.name, n.name)

    def write_kept(self, n: Node, scope: Scope) -> str:
        return self.define(scope, f"w_read<{COMPUTED[n.dtype]}, L>({n.name} + at, w_all{{}})")

    def indirect(self, where: Iterable[Node]) -> dict[str, str] | None:
        """What the symbols of nodes in an index are called, as scalars; None if a lane has its own."""
        names = {}
        for w in where:
            name = self.emit(w)
            if self.varies(w):
                names = None
            elif names is not None:
                names[w.symbol.value] = self.first(w, name)
        return names

    def first(self, n: Node, name: str) -> str:
        """What a value is in all lanes, as a scalar."""
        return next((s.firsts[n] for s in self.scopes if n in s.firsts), f"{name}[0]")

    def write_load(self, n: Node, scope: Scope) -> str:
        b = f"b{self.argument(n.buffer)}"
        index = self.simplified(n.index)
        names = self.indirect(n.args)
        v = self.plan.axis.name
        if names is not None:
            step = coefficient(index, v)
            at = f"{b} + {self.address(index, names)}"
            if v not in index.free_symbols:
                return self.define(scope, self.one_for_all(n.buffer, f"w_load1<L>({at})", scope))
            if step is not None and step.is_const and step.value == 1:
                name = self.define(scope, f"w_load<L>({at}, {scope.lanes})")
                if n.dtype == "bool":
                    self.bytes[name] = f"w_read<unsigned char, L>({at}, {scope.lanes})"
                return name
            if step is not None and step.is_const and step.value == -1:
                return self.define(scope, f"w_load_back<L>({at}, {scope.lanes})")
            if step is not None and step.is_const and 2 <= step.value <= 4:
                return self.define(scope, f"w_every_nth<L, {step.value}>({at}, {scope.lanes})")
            if step is not None:
                return self.define(scope, f"w_gather<L>({at}, {self.expr(step)}, {scope.lanes})")
        return self.define(scope, f"w_gather_at<L>({b}, {self.vector_index(index, n.args)}, {scope.lanes})")

    def one_for_all(self, buffer: str, load: str, scope: Scope) -> str:
        """A load that may stand before a loop without turns: there is nothing to load from a buffer without elements."""
        bound = {v for s in self.scopes[: self.scopes.index(scope) + 1] for v in s.variables}
        if all(d.name in bound or bounds(d.size, self.ranges)[0] > 0 for d in self.plan.nest.dims):
            return load
        empty = [s for s in map(as_expr, self.buffers[buffer].sizes) if bounds(s, self.ranges)[0] <= 0]
        if not empty:
            return load
        known = {s.value for s in self.kernel.symbols}
        loops = [d.size for d in self.plan.nest.dims if bounds(d.size, self.ranges)[0] <= 0]
        some = [f"{self.expr(e)} > 0" for e in dict.fromkeys((*empty, *loops)) if e.free_symbols <= known]
        return f"b{self.argument(buffer)} && {' && '.join([*some, 'true'])} ? {load} : decltype({load}){{}}"

    def write_index(self, n: Node, scope: Scope) -> str:
        e = self.simplified(n.index)
        names = self.indirect(n.args)
        if names is not None and self.plan.axis.name not in e.free_symbols:
            text = to_cpp(e, self.ranges, names)
            if e.kind == "bool":
                return self.define(scope, f"w_splat<{vector('bool')}>(-(int)({text}))")
            return self.define(scope, f"w_splat<{vector(n.dtype)}>(({COMPUTED[n.dtype]})({text}))")
        text = self.vector_index(e, n.args, n.dtype)
        if e.kind == "bool":
            return self.define(scope, f"w_mask({text})")
        return self.define(scope, f"w_cast<{COMPUTED[n.dtype]}>({text})")

    # ---- indices that differ by lane

    def vector_index(self, e: Expr, where: Iterable[Node] = (), dtype: str = "int64") -> str:
        """Text of a vector of `e` in the lanes: 64-bit, or 32-bit for a truth value or an int32, where all its parts are
        known to fit."""
        lanes = {w.symbol.value: self.emit(w) for w in where}
        uniform = {w.symbol.value: self.first(w, self.emit(w)) for w in where if not self.varies(w)}
        varying = {w.symbol.value for w in where if self.varies(w)} | {self.plan.axis.name}
        narrow = (
            (e.kind == "bool" or dtype == "int32")
            and not lanes
            and all(a.kind == "int" and fits_int32(a, self.ranges) for a in _parts(e) if a.kind == "int")
        )
        near = not narrow and self.is_near(e, where)
        T = "int" if narrow or near else "long"

        def part(x: Expr) -> str:
            compared = self.comparison(x) if near else None
            if compared is not None:
                return compared
            if not varying & x.free_symbols:
                text = to_cpp(x, self.ranges, uniform)
                if x.kind == "bool":
                    return f"w_splat<w_vec<{T}, L>>(-({T})({text}))"
                return f"w_splat<w_vec<{T}, L>>(({T})({text}))"
            if x.op == "sym":
                if x.value in lanes:
                    return f"w_cast<{T}>({lanes[x.value]})"
                return f"(w_splat<w_vec<{T}, L>>(({T}){x.value}) + w_iota<{T}, L>())"
            args = [part(a) for a in x.args]
            if x.op in _INFIX:
                return "(" + f" {_INFIX[x.op]} ".join(args) + ")"
            if x.op in ("floordiv", "mod") and not varying & x.args[1].free_symbols:
                return f"{_CALLS[x.op]}({args[0]}, {self.divisor(x.args[1], args[1])})"
            if x.op in _CALLS:
                out = args[0]
                for a in args[1:]:
                    out = f"{_CALLS[x.op]}({out}, {a})"
                return out
            if x.op == "where":
                return f"({args[0]} ? {args[1]} : {args[2]})"
            if x.op == "not":
                return f"(~{args[0]})"
            raise NotImplementedError(f"index {x} by lane")

        return part(e)

    def divisor(self, size: Expr, text: str) -> str:
        """What divides indices by a size: computed once, in front of all loops, where it is made of sizes alone."""
        if not size.free_symbols <= {s.value for s in self.kernel.symbols}:
            return f"w_divisor_of({text})"
        scope = self.scopes[0]
        if text not in scope.divisors:
            scope.divisors[text] = self.fresh("divisor")
            scope.lines.append(f"const auto {scope.divisors[text]} = w_divisor_of({text});")
        return scope.divisors[text]

    def is_near(self, e: Expr, where: Iterable[Node] = ()) -> bool:
        """Whether a condition is made of comparisons that lanes differ in by small steps alone."""
        if e.kind != "bool" or where:
            return False
        if e.op in ("and", "or", "not"):
            return all(self.is_near(x, where) for x in e.args)
        return self.plan.axis.name not in e.free_symbols or self.comparison(e) is not None

    def comparison(self, e: Expr) -> str | None:
        """Text of a comparison in 32 bits: how far apart its sides are in the first lane, and by how much that changes from one to
        the next. None where that is not a small number."""
        v = self.plan.axis.name
        if e.op not in _NEAR or v not in e.free_symbols or any(a.kind != "int" for a in e.args):
            return None
        far = self.simplified(e.args[1] - e.args[0])
        step = coefficient(far, v)
        if step is None or not step.is_const or abs(step.value) > 64:
            return None
        return f"(w_splat<w_vec<int, L>>(w_near({self.expr(far)})) + w_iota<int, L>() * {step.value} {_NEAR[e.op]} 0)"

    # ---- functions

    def operands(self, n: Node) -> Sequence[Node]:
        return n.args[:-1] if runs(n, self.plan.axis.name, self.ranges) else super().operands(n)

    def write_call(self, n: Node, scope: Scope) -> str:
        if runs(n, self.plan.axis.name, self.ranges):
            args = [self.emit(a) for a in n.args[:-1]]
            start = self.expr(n.args[-1].index)
            return self.define(scope, scalar.table[n.name].run.format(*args, k=start, s=self.source(), V=vector(n.dtype)))
        if n.name == "cast" and n.dtype in FLOATS and (place := self.one_place(n.args[0])) is not None:
            return self.define(scope, f"w_splat<{vector(n.dtype)}>(({COMPUTED[n.dtype]})({place}))")
        args = [self.emit(a) for a in n.args]
        first = n.args[0].dtype
        if n.name == "where" and choices.expensive(n.args[0]):
            args[1:] = [text if a.kind == "const" else f"w_held({text})" for a, text in zip(n.args[1:], args[1:])]
        if n.name == "where" and WIDTH[n.dtype] <= 2:  # (masked_fill of bfloat16: by way of lanes of 32 bits 33 us instead of 22)
            args[0] = self.bytes.get(args[0], args[0])
        if n.name == "where" and WIDTH[n.dtype] == 8 == WIDTH[n.args[0].args[0].dtype if n.args[0].args else "bool"]:
            args[0] = self.compared.get(args[0], args[0])  # (relu of int64: by way of lanes of 32 bits 27 us instead of 23)
        if n.name in _DIVISIONS and n.dtype not in FLOATS and self.varies(n) and not self.varies(n.args[1]):
            args[1] = self.inverse(n.args[1], args[1])
        if settings.exact and n.dtype == first == "float32" and self.lanes < self.full and scalar.table[n.name].needs:
            wide = f"w_vec<float, {self.full}>"  # functions differ by width: eager's registers are full
            text = scalar.table[n.name].cpp(first).format(*(f"w_widened<{wide}>({a})" for a in args), V=wide, T="float", A=wide)
            return self.define(scope, f"w_narrowed<{vector(n.dtype)}>({text})")
        text = scalar.table[n.name].cpp(n.args[1].dtype if n.name == "where" else first)
        if n.name in _PLACES and n.dtype not in FLOATS and first not in FLOATS and not self.varies(n):
            return self.define(scope, f"w_splat<{vector(n.dtype)}>(({text.format(*(f'w_one({a})' for a in args))})[0])")
        name = self.define(scope, text.format(*args, V=vector(n.dtype), T=COMPUTED[n.dtype], A=vector(first)))
        if n.name in _OF_TRUTHS and n.dtype == first == "bool" and len({*map(compared_width, n.args)}) == 1:
            if all(a in self.compared for a in args):  # (logical_and of int64: by way of lanes of 32 bits 31 us instead of 23.5)
                self.compared[name] = f"({text.format(*(self.compared[a] for a in args))})"
        return name

    def one_place(self, n: Node) -> str | None:
        """Text of an integer that is known here and the same in all lanes: it is converted once, not by registers of 64 bits."""
        if n.kind == "const" and n.dtype == "int64":
            return literal(n.value, n.dtype)
        if n.kind == "index" and not n.args and n.index.kind == "int" and not self.varies(n):
            return self.expr(n.index)
        return None

    def source(self) -> str:
        """What a run of random numbers is taken from; see `scalar`."""
        return "vm_direct{}"

    def inverse(self, divisor: Node, name: str) -> str:
        """What one multiplies by instead of dividing integers by a number that is the same for a whole row, computed where that
        is. (Floats are divided: a product with the reciprocal misses the nearest quotient in one case of four.)"""
        for scope in self.scopes:
            if divisor in scope.inverses:
                return scope.inverses[divisor]
        scope = self.home(divisor)
        scope.inverses[divisor] = self.fresh("inverse")
        scope.lines.append(f"const auto {scope.inverses[divisor]} = w_divisor_of({name});")
        return scope.inverses[divisor]

    def write_checked(self, n: Node, scope: Scope) -> str:
        kind, size, check = n.fields
        value = self.emit(n.args[0])
        row = self.kernel.checks.index(check)
        uniform = not self.varies(n)
        some = self.some_points(scope)
        if kind == "bounds":
            limit = f"(long)({self.expr(size)})"
            bad = f"w_mask(({value} < 0) | ({value} >= {limit}))"
        else:
            limit, bad = "0", f"w_mask({value} == 0)"
        if uniform:  # (all lanes are the first)
            first = scope.firsts[n] = self.fresh("first")  # once: compilers take a lane of registers from memory, each time
            scope.lines.append(f"const auto {first} = {value}[0];")
            wrong = f"({first} < 0 || {first} >= {limit})" if kind == "bounds" else f"{first} == 0"
            wrong += some and f" && {some}"
            scope.lines.append(f"if (__builtin_expect({wrong}, 0)) return w_fail(frame, {row}, {first}, {limit});")
            return value
        lanes = scope.lanes
        lane = self.fresh("bad")
        scope.lines += [
            f"if (const unsigned {lane} = {some and f'!({some}) ? 0 : '}w_only({lanes}, {bad}).m)",
            f"  return w_fail(frame, {row}, {value}[__builtin_ctz({lane})], {limit});",
        ]
        if kind == "bounds":
            return value
        return self.define(scope, f"w_keep({lanes}, {value}, w_splat<{vector(n.dtype)}>(1))")

    def some_points(self, scope: Scope) -> str:
        """The condition that the loops within a scope have points, for those that may have none."""
        place = next(k for k, s in enumerate(self.scopes) if s is scope)
        inner = {v for s in self.scopes[place + 1 :] for v in s.variables}
        ends = [self.ranges[v][1] for v in sorted(inner) if v in self.ranges]
        return " && ".join(f"{self.expr(e)} >= 0" for e in ends if bounds(e, self.ranges)[0] < 0)

    def write_masked(self, n: Node, scope: Scope) -> str:
        condition, value, other = n.args
        c, o = self.emit(condition), self.emit(other)
        name, lanes = self.fresh(), self.fresh("n")
        uniform = not self.varies(condition)
        block = Scope(frozenset(), lanes=scope.lanes if uniform else lanes, guard=True)
        self.scopes.append(block)
        v = self.emit(value)
        self.scopes.pop()
        lines = ["  " + line for line in block.lines]
        scope.lines.append(f"{vector(n.dtype)} {name} = {o};")
        if uniform:
            scope.lines += [f"if ({c}[0]) {{", *lines, f"  {name} = {v};", "}"]
        else:
            scope.lines += [
                f"if (const w_some {lanes} = w_only({scope.lanes}, {c}); {lanes}.m) {{",
                *lines,
                f"  {name} = {self.select(c, v, name, n.dtype)};",
                "}",
            ]
        return name

    def select(self, c: str, a: str, b: str, dtype: str) -> str:
        return scalar.table["where"].cpp(dtype).format(c, a, b)


def compared_width(n: Node) -> int:
    """How many bytes what a truth value says of takes."""
    if n.kind == "call" and n.name in _OF_TRUTHS and n.dtype == n.args[0].dtype:
        return compared_width(n.args[0])
    return WIDTH[n.args[0].dtype] if n.args else 0


def runs(n: Node, axis: str, ranges: dict) -> bool:
    """Whether the last argument of a call is a number that counts up by one from lane to lane, which the function wants
    to know."""
    if n.kind != "call" or scalar.table[n.name].run is None or n.args[-1].kind != "index" or n.args[-1].args:
        return False
    step = coefficient(simplify(n.args[-1].index, ranges), axis)
    return step is not None and step.is_const and step.value == 1


# Arithmetic of places, which is done once where it is the same in all lanes: vectors of 64-bit integers take several registers
# (rows by an index that wraps: 66 us instead of 205, of 5000 by 50), and no lanes divide them at once (places of the largest
# of [60,60,60] in parts of 20: 21 ms before).
_DIVISIONS = ("floor_divide", "trunc_divide", "remainder", "fmod")
_PLACES = ("add", "sub", "mul", "neg", "where", "eq", "ne", "lt", "le", "gt", "ge", *_DIVISIONS)
_EXACT = ("neg", "abs", "maximum", "minimum", "relu")  # whose results are halves where their arguments are
_OF_TRUTHS = [f"{kind}_{name}" for kind in ("bitwise", "logical") for name in ("and", "or", "xor", "not")]
_NEAR = {"le": ">=", "lt": ">", "eq": "=="}  # a <= b is b - a >= 0
_INFIX = {"add": "+", "sub": "-", "mul": "*", "eq": "==", "le": "<=", "lt": "<", "and": "&", "or": "|"}
_CALLS = {"floordiv": "w_vfloordiv", "mod": "w_remainder", "min": "w_imin", "max": "w_imax"}


def _parts(e: Expr) -> list[Expr]:
    from aten.symbolic.expr import walk

    return walk(e)
