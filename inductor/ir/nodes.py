"""What a loop computes for one point: hash-consed immutable trees over loads, constants and scalar functions.

A node's `dtype` is the one it is computed in: "bool", an integer, "float32" or "float64". float16 and bfloat16 exist in
memory only: loads widen them to float32, stores round them once. Equal nodes of a graph are the same object, so a walk
that remembers nodes computes a common subexpression once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Container, Iterable, Iterator

from aten.scalar.unpatched import itertools, math
from aten.symbolic.expr import Expr, as_expr, substitute, sym
from inductor.ir.buffer import Check

HALF = ("float16", "bfloat16")
FLOATS = ("float32", "float64")


def compute_dtype(dtype: str) -> str:
    """The dtype in which values of `dtype` are computed."""
    return "float32" if dtype in HALF else dtype


class Node:
    """One node: `kind` names its class below, `args` are the nodes that it depends on.

    `fields` holds what else tells it from others; the functions of this module make nodes, nothing else does.
    """

    __slots__ = ("kind", "dtype", "args", "fields", "uid", "symbols", "_loads", "_checks")

    kind: str  # load const index call masked checked row kept
    dtype: str
    args: tuple[Node, ...]
    fields: tuple
    uid: int
    symbols: frozenset[str]  # the names of all loop variables and sizes that its value depends on
    _loads: tuple[Node, ...] | None  # what `loads` and `checks` have found under it
    _checks: tuple[Check, ...] | None

    def __repr__(self) -> str:
        return node_text(self)

    @property
    def symbol(self) -> Expr:
        """The symbol that stands for this value in the index of a load (see `load`)."""
        return sym(f"j{self.uid}")

    @property
    def buffer(self) -> str:
        return self.fields[0]

    @property
    def index(self) -> Expr:
        """Of a load: the element, from the buffer's first. Of an index: the number."""
        return self.fields[1] if self.kind == "load" else self.fields[0]

    @property
    def name(self) -> str:
        """Of a call: the scalar function. Of a row or kept value: which."""
        return self.fields[0]

    @property
    def value(self):
        """Of a constant."""
        return self.fields[0]


class _Table(threading.local):
    """The nodes that exist, by what they are. Each thread has its own: a graph is compiled in one."""

    def __init__(self) -> None:
        self.nodes: dict[tuple, Node] = {}
        self.count = itertools.count()


_table = _Table()


@contextlib.contextmanager
def fresh_table() -> Iterator[None]:
    """Nodes made within are forgotten at the end, and numbered from 0: a graph becomes the same text each time."""
    outer = _table.nodes, _table.count
    _table.nodes, _table.count = {}, itertools.count()
    try:
        yield
    finally:
        _table.nodes, _table.count = outer


def _node(kind: str, dtype: str, args: tuple[Node, ...], fields: tuple, exprs: Iterable[Expr] = ()) -> Node:
    key = (kind, dtype, args, fields)
    n = _table.nodes.get(key)
    if n is None:
        n = Node.__new__(Node)
        n.kind, n.dtype, n.args, n.fields = kind, dtype, args, fields
        n._loads = n._checks = None
        n.uid = next(_table.count)
        inner = {a.symbol.value for a in args} if kind in ("load", "index") and args else ()
        free = set().union(*(e.free_symbols for e in exprs)) - set(inner)
        n.symbols = frozenset(free.union(*(a.symbols for a in args)))
        _table.nodes[key] = n
    return n


def load(buffer: str, index: Expr | int, dtype: str, where: tuple[Node, ...] = ()) -> Node:
    """The element of `buffer` at flat `index` (in elements); `dtype` is the computed one.

    An index that depends on data mentions the symbols of nodes: `where` lists those nodes.
    """
    index = as_expr(index)
    where = tuple(dict.fromkeys(w for w in where if w.symbol.value in index.free_symbols))
    return _node("load", dtype, where, (buffer, index), (index,))


def const(value: float | int | bool, dtype: str) -> Node:
    """A number, read in `dtype`."""
    if dtype == "bool":
        value = bool(value)
    elif dtype in FLOATS:
        value = float(value)
    else:
        value = int(value)
    key = value.hex() if isinstance(value, float) else value
    return _node(
        "const", dtype, (), (math.nan if value != value else value, key)
    )  # one NaN object: equal to itself in a tuple


def index(value: Expr | int | bool, dtype: str = "int64", where: tuple[Node, ...] = ()) -> Node:
    """A number made of loop variables and sizes, as data. A bool Expr makes a "bool"."""
    value = as_expr(value)
    if value.is_const:
        return const(value.value, dtype)
    where = tuple(dict.fromkeys(w for w in where if w.symbol.value in value.free_symbols))
    return _node("index", dtype, where, (value,), (value,))


def call(name: str, args: tuple[Node, ...], dtype: str) -> Node:
    """The scalar function `name` of `inductor.ir.scalar`."""
    return _node("call", dtype, args, (name,))


def masked(condition: Node, value: Node, other: Node) -> Node:
    """`value` where the condition holds, else `other`. Loads in `value` happen only where it holds."""
    if condition.kind == "const":
        return value if condition.value else other
    return value if value is other else _node("masked", value.dtype, (condition, value, other), ())


def in_bounds(value: Node, size: Expr | int, check: Check) -> Node:
    """The int64 `value`, verified to be in [0, size): where it is not, the kernel reports `check`."""
    size = as_expr(size)
    return _node("checked", value.dtype, (value,), ("bounds", size, check), (size,))


def nonzero(value: Node, check: Check) -> Node:
    """The integer `value`, verified not to be 0."""
    if value.kind == "const" and value.value:
        return value
    return _node("checked", value.dtype, (value,), ("nonzero", as_expr(0), check))


def row(name: str, dtype: str) -> Node:
    """The result of the reduction (or the running value of the scan) `name` of the same nest."""
    return _node("row", dtype, (), (name,))


def kept(name: str, dtype: str) -> Node:
    """The value that an earlier stage of the nest has kept under `name` for this point."""
    return _node("kept", dtype, (), (name,))


# ------------------------------------------------------------------------------------------------------------- walks


def walk(roots: Iterable[Node], seen: set[Node] | None = None) -> Iterator[Node]:
    """Every distinct node under `roots`, arguments first."""
    seen = set() if seen is None else seen
    stack = [(n, False) for n in reversed(list(roots))]
    while stack:
        n, done = stack.pop()
        if done:
            yield n
        elif n not in seen:
            seen.add(n)
            stack.append((n, True))
            stack.extend((a, False) for a in reversed(n.args) if a not in seen)


def unknown(root: Node, known: Container[Node], parts: Callable[[Node], Iterable[Node]] | None = None) -> Iterator[Node]:
    """The distinct nodes under `root` that are not in `known`, what each depends on first; the caller makes each known
    before it asks for the next. `parts(n)` says what a node depends on: its arguments."""
    stack = [root]
    while stack:
        n = stack[-1]
        if n in known:
            stack.pop()
            continue
        missing = [a for a in (n.args if parts is None else parts(n)) if a not in known]
        if missing:
            stack.extend(reversed(missing))
        else:
            stack.pop()
            yield n


def rewrite(
    n: Node,
    leaf: Callable[[Node], Node | None],
    values: dict | None = None,
    memo: dict | None = None,
    where: tuple[Node, ...] = (),
) -> Node:
    """`n` with the nodes for which `leaf` returns one replaced, and the symbols in `values` substituted.

    `leaf` sees nodes before their indices are substituted; what it returns is final. `where` are nodes whose symbols
    stand in `values`.
    """
    values = values or {}
    memo = {} if memo is None else memo
    for x in walk([n]):
        if x not in memo:
            done = leaf(x)
            memo[x] = _rebuilt(x, values, memo, where) if done is None else done
    return memo[n]


def _rebuilt(x: Node, values: dict, memo: dict, where: tuple[Node, ...]) -> Node:
    args = tuple(memo[a] for a in x.args)
    if args == x.args and not values.keys() & x.symbols:
        return x
    if x.kind in ("load", "index"):
        swap = dict(values)
        swap.update({a.symbol.value: b.symbol for a, b in zip(x.args, args)})
        if x.kind == "load":
            return load(x.buffer, substitute(x.index, swap), x.dtype, args + where)
        return index(substitute(x.index, swap), x.dtype, args + where)
    if x.kind == "call":
        return call(x.name, args, x.dtype)
    if x.kind == "masked":
        return masked(*args)
    if x.kind == "checked":
        kind, size, check = x.fields
        size = substitute(size, values)
        return _node("checked", x.dtype, args, (kind, size, check), (size,))
    return x


def replace(n: Node, values: dict[str, Expr | int | Node], memo: dict | None = None) -> Node:
    """`n` with symbols replaced in every index: by Exprs, or by int64 nodes. `memo` may be shared between calls with
    the same values."""
    where = tuple(v for v in values.values() if isinstance(v, Node))
    exprs = {k: v.symbol if isinstance(v, Node) else as_expr(v) for k, v in values.items()}
    return rewrite(n, lambda _: None, exprs, memo, where)


def rewrite_indices(root: Node, change: Callable[[Expr], Expr], memo: dict[Node, Node]) -> Node:
    """`root` with every index mapped."""
    for n in walk([root]):
        if n in memo:
            continue
        args = tuple(memo[a] for a in n.args)
        if n.kind in ("load", "index"):
            swap = {a.symbol.value: b.symbol for a, b in zip(n.args, args)}
            e = change(substitute(n.index, swap) if swap else n.index)
            memo[n] = load(n.buffer, e, n.dtype, args) if n.kind == "load" else index(e, n.dtype, args)
        elif args == n.args and n.kind != "checked":
            memo[n] = n
        elif n.kind == "call":
            memo[n] = call(n.name, args, n.dtype)
        elif n.kind == "masked":
            memo[n] = masked(*args)
        else:
            kind, size, check = n.fields
            memo[n] = in_bounds(args[0], change(size), check) if kind == "bounds" else nonzero(args[0], check)
    return memo[root]


def loads(roots: Iterable[Node]) -> list[Node]:
    """The loads under `roots`, in a fixed order."""
    return list(dict.fromkeys(n for root in roots for n in _loads_under(root)))


def checks(roots: Iterable[Node]) -> list[Check]:
    """The checks under `roots`, in a fixed order."""
    return list(dict.fromkeys(c for root in roots for c in _checks_under(root)))


def _loads_under(root: Node) -> tuple[Node, ...]:
    if root._loads is None:
        root._loads = tuple(n for n in walk([root]) if n.kind == "load")
    return root._loads


def _checks_under(root: Node) -> tuple[Check, ...]:
    if root._checks is None:
        root._checks = tuple(n.fields[2] for n in walk([root]) if n.kind == "checked")
    return root._checks


# ---------------------------------------------------------------------------------------------------- text
def node_text(n: Node) -> str:
    """One value as a line a person reads."""
    if n.kind == "load":
        return f"{n.buffer}[{n.index}]"
    if n.kind == "index":
        return f"({n.index})"
    if n.kind == "const":
        return repr(n.value)
    if n.kind in ("row", "kept"):
        return n.name
    name = {"call": lambda: n.name, "masked": lambda: "masked", "checked": lambda: n.fields[0]}[n.kind]()
    return f"{name}({', '.join(map(node_text, n.args))})"
