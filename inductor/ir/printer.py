"""The loop IR as text, and back. `parse(str(nest))` is the nest.

    def nest(i0=8, r0=reduced(100)):
        with inner:
            m = reduce_max.f32(x.f32[100*i0 + r0])
        with inner:
            e = keep(exp.f32(sub.f32(x.f32[100*i0 + r0], row.m.f32)))
            s = reduce_sum.f32(kept.e.f32)
        with inner:
            out.f32[100*i0 + r0] = div.f32(kept.e.f32, row.s.f32)

A load or store is `buffer.dtype[index]`, a call `function.dtype(…)`, a constant `dtype(value)`, a number made of indices
`dtype[expression]`. What is used more than once has a line of its own (t0 = …); what an index depends on is j0, j1, ….
"""

from __future__ import annotations

import ast
from collections import Counter

from aten.symbolic.expr import Expr, parse as parse_expr, substitute, sym
from inductor.ir import nodes
from inductor.ir.buffer import Check
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Reduce, Running, Stage, Statement, Store
from inductor.ir.nodes import Node

SHORT = {"bool": "b8", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16",
         "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
LONG = {short: name for name, short in SHORT.items()}


def node_text(n: Node) -> str:
    """One node, in full."""
    return _Writer({}).text(n)


def nest_text(nest: Nest) -> str:
    """A nest, as this module's docstring shows."""
    values = [v for s in nest.statements for v in (s.value, *getattr(s, "where", ()))]
    uses = Counter(a for n in nodes.walk(values) for a in n.args)
    uses.update(values)
    writer = _Writer(uses)
    dims = ", ".join(f"{d.name}={f'reduced({d.size})' if d.reduced else d.size}" for d in nest.dims)
    lines = [f"def nest({dims}):"]
    for stage in nest.stages:
        lines.append(f"    with {'inner' if stage.inner else 'each'}:")
        for s in stage.body:
            text = writer.statement(s)
            lines += [f"        {line}" for line in (*writer.take(), text)]
    return "\n".join(lines)


class _Writer:
    """Text of nodes; those used more than once, and those that indices depend on, get names as they are met."""

    def __init__(self, uses: Counter | dict):
        self.uses = uses
        self.names: dict[Node, str] = {}
        self.indices: dict[Node, str] = {}
        self.pending: list[str] = []

    def take(self) -> list[str]:
        lines, self.pending = self.pending, []
        return lines

    def statement(self, s: Statement) -> str:
        if isinstance(s, Store):
            return f"{s.buffer}.{SHORT[s.dtype]}[{s.index}] = {self.text(s.value)}"
        if isinstance(s, Accumulate):
            return f"{s.buffer}.{SHORT[s.dtype]}[{self.index(s.index, s.where)}] += {self.text(s.value)}"
        if isinstance(s, Keep):
            return f"{s.name} = keep({self.text(s.value)})"
        what = "reduce" if isinstance(s, Reduce) else "running"
        return f"{s.name} = {what}_{s.kind}.{SHORT[s.dtype]}({self.text(s.value)})"

    def index(self, e: Expr, where: tuple[Node, ...]) -> str:
        for w in where:
            if w not in self.indices:
                text = self.text(w)
                self.indices[w] = f"j{len(self.indices)}"
                if self.uses:
                    self.pending.append(f"{self.indices[w]} = {text}")
        return str(substitute(e, {w.symbol.value: sym(self.indices[w]) for w in where}))

    def text(self, n: Node) -> str:
        if n in self.names:
            return self.names[n]
        text = self._text(n)
        if self.uses.get(n, 0) > 1 and n.kind in ("call", "load", "masked", "checked"):
            self.names[n] = f"t{len(self.names)}"
            self.pending.append(f"{self.names[n]} = {text}")
            return self.names[n]
        return text

    def _text(self, n: Node) -> str:
        dtype = SHORT[n.dtype]
        if n.kind == "const":
            plain = n.dtype not in nodes.FLOATS or abs(n.value) < float("inf")
            return f"{dtype}({n.value!r})" if plain else f'{dtype}("{n.value}")'
        if n.kind == "index":
            return f"{dtype}[{self.index(n.index, n.args)}]"
        if n.kind == "load":
            return f"{n.buffer}.{dtype}[{self.index(n.index, n.args)}]"
        if n.kind in ("row", "kept"):
            return f"{n.kind}.{n.name}.{dtype}"
        args = ", ".join(map(self.text, n.args))
        if n.kind == "call":
            return f"{n.name}.{dtype}({args})"
        if n.kind == "masked":
            return f"masked({args})"
        kind, size, check = n.fields
        bound = f", {size}" if kind == "bounds" else ""
        return f"{'in_bounds' if kind == 'bounds' else 'nonzero'}({args}{bound}, {check.op!r}, {check.argument!r}, {check.line!r})"


# ------------------------------------------------------------------------------------------------------------ reading


def parse(text: str) -> Nest:
    """The nest that `text` shows. Raises ValueError, naming the line, where it is not of the form above."""
    return _Reader().nest(ast.parse(text).body[0])


class _Reader:
    def __init__(self) -> None:
        self.named: dict[str, Node] = {}

    def nest(self, tree: ast.AST) -> Nest:
        if not isinstance(tree, ast.FunctionDef):
            raise ValueError("a nest begins with `def nest(…):`")
        dims = tuple(self.dim(a.arg, d) for a, d in zip(tree.args.args, tree.args.defaults))
        return Nest(dims, tuple(self.stage(w) for w in tree.body))

    def dim(self, name: str, size: ast.expr) -> Dim:
        if isinstance(size, ast.Call):
            return Dim(name, _expr(size.args[0]), True)
        return Dim(name, _expr(size))

    def stage(self, tree: ast.stmt) -> Stage:
        if not isinstance(tree, ast.With):
            raise ValueError(f"line {tree.lineno}: a nest consists of `with inner:` and `with each:`")
        statements = (self.statement(s) for s in tree.body)
        return Stage(tree.items[0].context_expr.id == "inner", tuple(s for s in statements if s is not None))

    def statement(self, tree: ast.stmt) -> Statement | None:
        """A statement; None for a line that names a node."""
        if isinstance(tree, ast.AugAssign):
            index, where = self.index(tree.target.slice)
            return Accumulate(tree.target.value.value.id, index, self.node(tree.value), LONG[tree.target.value.attr], where)
        if not isinstance(tree, ast.Assign):
            raise ValueError(f"line {tree.lineno}: {ast.unparse(tree)} is no statement of a nest")
        target, value = tree.targets[0], tree.value
        if isinstance(target, ast.Subscript):
            return Store(target.value.value.id, _expr(target.slice), self.node(value), LONG[target.value.attr])
        if isinstance(value, ast.Call):
            f = value.func
            if isinstance(f, ast.Name) and f.id == "keep":
                return Keep(target.id, self.node(value.args[0]))
            if isinstance(f, ast.Attribute) and f.value.id.startswith(("reduce_", "running_")):
                kind = Reduce if f.value.id.startswith("reduce_") else Running
                return kind(target.id, f.value.id.split("_", 1)[1], self.node(value.args[0]), LONG[f.attr])
        self.named[target.id] = self.node(value)
        return None

    def index(self, tree: ast.expr) -> tuple[Expr, tuple[Node, ...]]:
        """An index and the nodes that it depends on."""
        e = _expr(tree)
        used = [name for name in self.named if name in e.free_symbols]
        return substitute(e, {name: self.named[name].symbol for name in used}), tuple(self.named[n] for n in used)

    def node(self, tree: ast.expr) -> Node:
        if isinstance(tree, ast.Name):
            return self.named[tree.id]
        if isinstance(tree, ast.Subscript):
            index, where = self.index(tree.slice)
            if isinstance(tree.value, ast.Name):
                return nodes.index(index, LONG[tree.value.id], where)
            return nodes.load(tree.value.value.id, index, LONG[tree.value.attr], where)
        if isinstance(tree, ast.Attribute):
            make = nodes.row if tree.value.value.id == "row" else nodes.kept
            return make(tree.value.attr, LONG[tree.attr])
        if not isinstance(tree, ast.Call):
            raise ValueError(f"line {tree.lineno}: {ast.unparse(tree)} is no value")
        if isinstance(tree.func, ast.Attribute):
            return nodes.call(tree.func.value.id, tuple(map(self.node, tree.args)), LONG[tree.func.attr])
        name = tree.func.id
        if name == "masked":
            return nodes.masked(*map(self.node, tree.args))
        if name in ("in_bounds", "nonzero"):
            check = Check(*(a.value for a in tree.args[-3:]))
            value = self.node(tree.args[0])
            return nodes.in_bounds(value, _expr(tree.args[1]), check) if name == "in_bounds" else nodes.nonzero(value, check)
        return nodes.const(ast.literal_eval(tree.args[0]), LONG[name])


def _expr(tree: ast.expr) -> Expr:
    return parse_expr(ast.unparse(tree))
