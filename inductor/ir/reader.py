"""Loops from their text, as `loops.nest_text` writes it.

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

from aten.symbolic.expr import Expr, parse, substitute
from inductor.ir import nodes
from inductor.ir.buffer import Check
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Statement, Store
from inductor.ir.nodes import Node


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
            return Accumulate(buffer, self.index(index), value, path[1], tuple(where), path[0])
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
