"""Graphs from their text, as `printer.text` writes it."""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
from typing import Any

from aten import _native
from aten._native import Device
from aten.fx.graph import Graph
from aten.fx.node import Node, UserLine
from aten.fx.printer import SHORT
from aten.symbolic.text import parse as parse_expr

LONG = {short: name for name, short in SHORT.items()}
_TYPE = re.compile(
    r"(?:(?P<device>[a-z]+(?::\d+)?) )?(?P<dtype>[a-z]+\d+)\[(?P<sizes>[^\]]*)\](?:\{(?P<strides>[^}]*)\})?"
    r"(?:\+(?P<offset>\d+|\(.*\)))?(?P<grad> grad)?$"
)


def _attribute_path(n: ast.AST) -> str | None:
    """What `attribute_text` wrote, or None if `n` is anything else."""
    match n:
        case ast.Name(id="self"):
            return ""
        case (
            ast.Attribute(value=base, attr=name)
            | ast.Call(func=ast.Name(id="getattr"), args=[base, ast.Constant(value=str() as name)])
        ):
            path = _attribute_path(base)
            return None if path is None else f"{path}.{name}" if path else name
    return None


class _Reader:
    def __init__(self, shape_env: Any, namespace: dict[str, Any] | None):
        from aten.symbolic.shape_env import ShapeEnv

        self.graph = Graph()
        self.graph.shape_env = self.env = ShapeEnv() if shape_env is None else shape_env
        self.namespace = namespace or {}
        self.nodes: dict[str, Node] = {}

    def number(self, text: str) -> Any:
        from aten.symbolic.symint import wrap

        e = parse_expr(text)
        for name in e.free_symbols:
            self.env.declare(name)
        return wrap(e, self.env)

    def numbers(self, text: str) -> tuple:
        return tuple(self.number(part) for part in _split(text))

    def type(self, text: str, name: str = "") -> Any:
        from aten.meta import Meta

        text = text.strip()
        if not text or text == "None":
            return None
        if text == "Sym":
            return self.number(name)
        if text.startswith("Sym("):
            return self.number(text[4:-1])
        if text.startswith("("):
            return tuple(self.type(part) for part in _split(text[1:-1]))
        if text in ("int", "float", "bool", "str"):
            return {"int": 0, "float": 0.0, "bool": False, "str": ""}[text]
        found = _TYPE.match(text)
        if found is None:
            raise ValueError(f"not a type: {text!r}")
        device = Device(found["device"] or "cpu")
        dtype = _native.dtype_by_name(LONG[found["dtype"]])
        meta = Meta.contiguous(self.numbers(found["sizes"]), dtype, device)
        strides = meta.strides if found["strides"] is None else self.numbers(found["strides"])
        offset = self.number(found["offset"]) if found["offset"] else 0
        return Meta(dtype, device, meta.sizes, strides, offset, bool(found["grad"]))

    def arg(self, n: Any) -> Any:
        match n:
            case ast.Name(id=name) if name in self.nodes:
                return self.nodes[name]
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=items):
                return tuple(map(self.arg, items))
            case ast.List(elts=items):
                return list(map(self.arg, items))
            case ast.Dict(keys=keys, values=values):
                return {self.arg(k): self.arg(v) for k, v in zip(keys, values)}
            case ast.Call(func=ast.Name(id="slice"), args=args):
                return slice(*map(self.arg, args))
            case ast.Call(func=ast.Name(id="device"), args=[ast.Constant(value=name)]):
                return Device(name)
            case ast.Attribute(value=ast.Name(id="aten"), attr=name):
                return _native.dtype_by_name(name)
            case ast.Attribute(value=ast.Name(id="weft"), attr=name):
                return getattr(importlib.import_module("aten.layout"), name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return -value
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)]):
                return float(word)
        return self.number(ast.unparse(n))

    def target(self, n: ast.AST) -> Any:
        name = ast.unparse(n)
        if name in self.namespace:
            return self.namespace[name]
        module, _, attribute = name.rpartition(".")
        if module == "aten":
            import aten
            from aten.op import lookup

            return lookup(attribute) if aten else None
        found = importlib.import_module(module or "builtins")
        return getattr(found, attribute)

    def statement(self, n: ast.stmt, comment: str) -> None:
        if isinstance(n, ast.Return):
            self.graph.output(self.arg(n.value))
            return
        assert isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name), ast.unparse(n)
        name = n.targets[0].id
        type_part, _, line = comment.partition("   ")
        val = self.type(type_part)
        self.graph.line = _line(line)
        call: Any = n.value
        attribute = _attribute_path(call)
        if attribute is not None:
            node = self.graph.create_node("get_attr", attribute, name=name, val=val)
        else:
            args = tuple(map(self.arg, call.args))
            kwargs = {k.arg: self.arg(k.value) for k in call.keywords}
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            path = _attribute_path(call.func)
            if path is not None:
                node = self.graph.create_node("call_module", path, args, kwargs, name, val)
            elif isinstance(owner, ast.Name) and owner.id in self.nodes:
                node = self.graph.create_node("call_method", call.func.attr, (self.nodes[owner.id], *args), kwargs, name, val)
            else:
                node = self.graph.create_node("call_function", self.target(call.func), args, kwargs, name, val)
        self.nodes[name] = node


def _split(text: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _line(text: str) -> UserLine | None:
    where, _, source = text.strip().partition("  ")
    file, _, lineno = where.rpartition(":")
    return UserLine(file, int(lineno), "", source) if file else None


def parse(source: str, shape_env: Any = None, namespace: dict[str, Any] | None = None) -> Graph:
    """Read a graph's text back. Symbols are made in `shape_env` (a new one by default, without hints).

    `namespace` gives functions that are neither ops nor importable by their printed name.
    """
    import textwrap

    source = textwrap.dedent(source).strip() + "\n"
    comments = {
        t.start[0]: t.string[1:].strip()
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type == tokenize.COMMENT
    }
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    reader = _Reader(shape_env, namespace)
    for a in function.args.args:
        val = reader.type(str(a.annotation.value), a.arg) if isinstance(a.annotation, ast.Constant) else None
        node = reader.graph.create_node("placeholder", a.arg, name=a.arg, val=val)
        reader.nodes[a.arg] = node
    for n in function.body:
        reader.statement(n, comments.get(n.lineno, ""))
    reader.graph.line = None
    return reader.graph
