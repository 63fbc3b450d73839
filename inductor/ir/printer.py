"""Loops as text, and back.

    nest(i0=6, r0=50):
        inner:
            t0 = load.float32("x", "i0*50 + r0")
            m = reduce.max.float32(t0)
        outer:
            t1 = row.float32("m")
            store.float32("out", "i0", t1)

A value has one line; an index that depends on data names it (`"t0*4 + i1"`). `parse_nest(nest_text(n)) == n`.
"""

from __future__ import annotations

import ast
from typing import Any

from aten.symbolic.expr import Expr, parse, substitute, sym
from inductor.ir import nodes
from inductor.ir.buffer import Check
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Statement, Store
from inductor.ir.nodes import Node, walk


class _Writer:
    """Names for nodes, and their lines."""

    def __init__(self):
        self.names: dict[Node, str] = {}

    def index(self, e: Expr, where: tuple[Node, ...]) -> str:
        return repr(str(substitute(e, {w.symbol.value: sym(self.names[w]) for w in where})))

    def define(self, roots) -> list[str]:
        """Lines for what of `roots` has no name yet."""
        lines = []
        for n in walk(roots):
            if n not in self.names:
                text = self.text(n)
                self.names[n] = f"t{len(self.names)}"
                lines.append(f"{self.names[n]} = {text}")
        return lines

    def text(self, n: Node) -> str:
        args = [self.names[a] for a in n.args]
        if n.kind == "load":
            parts = [repr(n.buffer), self.index(n.index, n.args), *args]
        elif n.kind == "index":
            parts = [self.index(n.index, n.args), *args]
        elif n.kind == "const":
            parts = [repr(n.value) if isinstance(n.value, bool | int) else repr(n.fields[1])]
        elif n.kind == "call":
            parts = [repr(n.name), *args]
        elif n.kind == "checked":
            kind, size, check = n.fields
            parts = [repr(kind), repr(str(size)), *(repr(x) for x in (check.op, check.argument, check.line)), *args]
        elif n.kind == "masked":
            parts = args
        else:
            parts = [repr(n.name)]
        return f"{n.kind}.{n.dtype}({', '.join(parts)})"

    def statement(self, s: Statement) -> list[str]:
        where = s.where if isinstance(s, Accumulate) else ()
        lines = self.define([*where, s.value])
        value = self.names[s.value]
        if isinstance(s, Reduce | Running):
            kind = "reduce" if isinstance(s, Reduce) else "running"
            return [*lines, f"{s.name} = {kind}.{s.kind}.{s.dtype}({value})"]
        if isinstance(s, Keep):
            return [*lines, f"{s.name} = keep({value})"]
        kind = "store" if isinstance(s, Store) else "accumulate"
        parts = [repr(s.buffer), self.index(s.index, where), value, *(self.names[w] for w in where)]
        return [*lines, f"{kind}.{s.dtype}({', '.join(parts)})"]


def nest_text(nest: Nest) -> str:
    """The nest as text; see the module."""
    dims = ", ".join(f"{d.name}={str(d.size)!r}" if not d.size.is_const else f"{d.name}={d.size}" for d in nest.dims)
    writer, lines = _Writer(), [f"nest({dims}):"]
    for stage in nest.stages:
        lines.append("    inner:" if stage.inner else "    outer:")
        for s in stage.body:
            lines += ["        " + line for line in writer.statement(s)]
    return "\n".join(lines)


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


def operation_text(op) -> str:
    """A lowered operation in a few lines."""
    from inductor.lowering.graph import Computed, Product

    line = f"    # {'; '.join(op.lines)}" if op.lines else ""
    if isinstance(op, Computed):
        loops = op.loops
        sizes = ", ".join(f"i{d}:{s}{'*' if d in loops.reduced else ''}" for d, s in enumerate(loops.sizes))
        kind = type(loops).__name__.lower() + (f" {loops.kind}" if hasattr(loops, "kind") else "")
        body = node_text(loops.body) if sum(1 for _ in walk([loops.body])) < 200 else "…"
        return f"{op.buffer}[{op.store}] = {kind} [{sizes}] {body}{line}"
    if isinstance(op, Product):
        return f"{op.buffer} = {op.a.buffer} @ {op.b.buffer}  [{', '.join(map(str, op.sizes))}] over {op.k}{line}"
    return f"{', '.join(op.outputs)} = {op.op}({', '.join(map(str, op.args))}){line}"


# ------------------------------------------------------------------------------------------------------------- reading


class _Reader:
    def __init__(self):
        self.values: dict[str, Node] = {}

    def index(self, text: str) -> Expr:
        e = parse(text)
        own = {name: self.values[name].symbol for name in e.free_symbols if name in self.values}
        return substitute(e, own)

    def call(self, node: ast.Call):
        path = []
        f: Any = node.func
        while isinstance(f, ast.Attribute):
            path.append(f.attr)
            f = f.value
        path.append(f.id)
        args = [self.values[a.id] if isinstance(a, ast.Name) else ast.literal_eval(a) for a in node.args]
        return path[::-1], args

    def node(self, kind: str, dtype: str, args: list) -> Node:
        if kind == "load":
            return nodes.load(args[0], self.index(args[1]), dtype, tuple(args[2:]))
        if kind == "index":
            return nodes.index(self.index(args[0]), dtype, tuple(args[1:]))
        if kind == "const":
            return nodes.const(float.fromhex(args[0]) if isinstance(args[0], str) else args[0], dtype)
        if kind == "call":
            return nodes.call(args[0], tuple(args[1:]), dtype)
        if kind == "masked":
            return nodes.masked(*args)
        if kind == "checked":
            check = Check(*args[2:5])
            return (
                nodes.in_bounds(args[5], parse(args[1]), check)
                if args[0] == "bounds"
                else nodes.nonzero(args[5], check)
            )
        return nodes.row(args[0], dtype) if kind == "row" else nodes.kept(args[0], dtype)

    def line(self, text: str) -> Statement | None:
        tree: Any = ast.parse(text).body[0]
        path, args = self.call(tree.value)
        if isinstance(tree, ast.Expr):
            buffer, index, value, *where = args
            if path[0] == "store":
                return Store(buffer, self.index(index), value, path[1])
            return Accumulate(buffer, self.index(index), value, path[1], tuple(where))
        name = tree.targets[0].id
        if path[0] in ("reduce", "running"):
            return (Reduce if path[0] == "reduce" else Running)(name, path[1], args[0], path[2])
        if path[0] == "keep":
            return Keep(name, args[0])
        self.values[name] = self.node(path[0], path[1], args)
        return None


def parse_nest(text: str) -> Nest:
    """The nest that `nest_text` printed. Raises SyntaxError or KeyError for other text."""
    head, *lines = text.strip().splitlines()
    call: Any = ast.parse(head.rstrip(":"), mode="eval").body
    dims = tuple(Dim(k.arg, parse(str(ast.literal_eval(k.value))), k.arg.startswith("r")) for k in call.keywords)
    reader, stages = _Reader(), []
    for line in lines:
        line = line.strip()
        if line in ("inner:", "outer:"):
            stages.append((line == "inner:", []))
        elif (s := reader.line(line)) is not None:
            stages[-1][1].append(s)
    return Nest(dims, tuple(Stage(inner, tuple(body)) for inner, body in stages))
