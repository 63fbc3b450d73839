"""Graphs as Python text and back.

    def graph(x: "f32[s0, 4]", s0: "Sym"):
        mul = aten.mul(x, 2)                      # f32[s0, 4]   file.py:2  x * 2
        return (mul,)

A type is dtype[sizes], then {strides} unless row-major, +offset unless 0, `grad` if it requires grad; other devices
than the CPU stand in front: `cuda:0 f32[4]`.
"""

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
from aten.fx.node import Node, UserLine, is_op
from aten.symbolic.symint import SYMBOLIC, SymInt
from aten.symbolic.text import parse as parse_expr

_COMMENT = 46  # the column of a line's comment

SHORT = {
    "bool": "b8", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip
LONG = {short: name for name, short in SHORT.items()}


def type_text(val: Any, name: str = "") -> str:
    """The type of a node's meta["val"]: "f32[s0, 4]", "Sym(s0*2)", "(f32[4], i64[4])", "int"."""
    if val is None:
        return ""
    if type(val) in SYMBOLIC:
        return "Sym" if str(val) == name else f"Sym({val})"
    if isinstance(val, (tuple, list)):
        return f"({', '.join(type_text(v) or 'None' for v in val)}{',' * (len(val) == 1)})"
    if not hasattr(val, "sizes"):
        return type(val).__name__
    out = f"{SHORT[val.dtype.name]}[{', '.join(map(str, val.sizes))}]"
    if not val.is_contiguous():
        out += f"{{{', '.join(map(str, val.strides))}}}"
    if type(val.offset) is not int or val.offset:
        out += f"+({val.offset})" if type(val.offset) is not int else f"+{val.offset}"
    if val.requires_grad:
        out += " grad"
    device = str(val.device)
    return out if device == "cpu" else f"{device} {out}"


def target_text(target: Any) -> str:
    """How a call_function's target is written."""
    if is_op(target):
        return f"aten.{target.name}"
    module = getattr(target, "__module__", None) or ""
    module = {"_operator": "operator", "builtins": ""}.get(module, module)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or type(target).__name__
    return f"{module}.{name}" if module else name


def arg_text(arg: Any) -> str:
    """An argument as Python text."""
    t = type(arg)
    if t is Node:
        return arg.name
    if t is tuple:
        return f"({', '.join(map(arg_text, arg))}{',' * (len(arg) == 1)})"
    if t is list:
        return f"[{', '.join(map(arg_text, arg))}]"
    if t is dict:
        return "{" + ", ".join(f"{k!r}: {arg_text(v)}" for k, v in arg.items()) + "}"
    if t is slice:
        return f"slice({arg_text(arg.start)}, {arg_text(arg.stop)}, {arg_text(arg.step)})"
    if t in SYMBOLIC:
        return str(arg)
    if t is float and (arg != arg or arg in (float("inf"), float("-inf"))):
        return f"float('{arg}')"
    if hasattr(arg, "itemsize") and hasattr(arg, "is_floating_point") and hasattr(arg, "name"):
        return f"aten.{arg.name}"
    if hasattr(arg, "type") and hasattr(arg, "index") and t.__name__.lower() == "device":
        return f"device('{arg}')"
    return repr(arg)


def attribute_text(target: str) -> str:
    """The attribute of the module that a get_attr names: `self.a.weight`, `getattr(self, '0').weight`."""
    out = "self"
    for part in target.split("."):
        out = f"{out}.{part}" if part.isidentifier() else f"getattr({out}, {part!r})"
    return out


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


def call_text(node: Node) -> str:
    """The right-hand side of a node's line."""
    if node.op == "get_attr":
        return attribute_text(node.target)
    parts = [arg_text(a) for a in node.args] + [f"{k}={arg_text(v)}" for k, v in node.kwargs.items()]
    if node.op == "call_method":
        return f"{parts[0]}.{node.target}({', '.join(parts[1:])})"
    return f"{target_text(node.target)}({', '.join(parts)})"


def node_line(node: Node, lines: bool = True) -> str:
    """One node as a line of text, with its type and the user's line as a comment."""
    if node.op == "output":
        value = node.args[0]
        return f"return {arg_text(tuple(value) if isinstance(value, list) else value)}"
    if node.op == "placeholder":
        return f"{node.name}: {_quote(type_text(node.meta.get('val'), node.name))}"
    text = f"{node.name} = {call_text(node)}"
    comment = type_text(node.meta.get("val"))
    line = node.meta.get("line")
    if line is not None and lines:
        comment = f"{comment}   {line}  {line.text}"
    if not comment:
        return text
    return f"{text:<{_COMMENT - 6}}  # {comment}"


def _quote(text: str) -> str:
    return f'"{text}"'


def text(graph: Graph, name: str = "graph", lines: bool = True) -> str:
    """The whole graph. `lines` False leaves out the user's lines (for cache keys)."""
    params = [node_line(n) if n.meta.get("val") is not None else n.name for n in graph.placeholders]
    head = f"def {name}({', '.join(params)}):"
    if len(head) > 120:
        head = f"def {name}(\n" + "".join(f"    {p},\n" for p in params) + "):"
    body = [node_line(n, lines) for n in graph.nodes if n.op != "placeholder"]
    return "\n".join([head, *(f"    {line}" for line in body)]) + "\n"


def table(graph: Graph) -> str:
    """One row a node: op, name, target, args, kwargs."""
    rows = [("opcode", "name", "target", "args", "kwargs")]
    for n in graph.nodes:
        target = n.target if isinstance(n.target, str) else target_text(n.target)
        rows.append((n.op, n.name, target, arg_text(n.args), arg_text(n.kwargs)))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    rows.insert(1, tuple("-" * w for w in widths))
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)


# ------------------------------------------------------------------------------------------- reading

_TYPE = re.compile(
    r"(?:(?P<device>[a-z]+(?::\d+)?) )?(?P<dtype>[a-z]+\d+)\[(?P<sizes>[^\]]*)\](?:\{(?P<strides>[^}]*)\})?"
    r"(?:\+(?P<offset>\d+|\(.*\)))?(?P<grad> grad)?$"
)


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
            if isinstance(owner, ast.Name) and owner.id in self.nodes:
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


__all__ = ["SymInt", "arg_text", "call_text", "node_line", "parse", "target_text", "text", "type_text"]
