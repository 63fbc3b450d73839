"""Graphs as Python text (`reader` reads it back).

    def graph(x: "f32[s0, 4]", s0: "Sym"):
        mul = aten.mul(x, 2)                      # f32[s0, 4]   file.py:2  x * 2
        return (mul,)

A type is dtype[sizes], then {strides} unless row-major, +offset unless 0, `grad` if it requires grad; other devices
than the CPU stand in front: `cuda:0 f32[4]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aten._native import dtypes
from aten.fx.targets import is_op
from aten.symbolic.symint import SYMBOLIC

if TYPE_CHECKING:
    from aten.fx.graph import Graph
    from aten.fx.node import Node

_COMMENT = 46  # the column of a line's comment

SHORT = {dtype.name: dtype.short_name for dtype in dtypes}


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
    if hasattr(target, "graphs"):
        return str(target.__name__)
    module = getattr(target, "__module__", None) or ""
    module = {"_operator": "operator", "builtins": ""}.get(module, module)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None) or type(target).__name__
    return f"{module}.{name}" if module else name


def arg_text(arg: Any) -> str:
    """An argument as Python text."""
    t = type(arg)
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


def call_text(node: Node) -> str:
    """The right-hand side of a node's line."""
    if node.op == "get_attr":
        return attribute_text(node.target)
    parts = [arg_text(a) for a in node.args] + [f"{k}={arg_text(v)}" for k, v in node.kwargs.items()]
    if node.op == "call_method":
        return f"{parts[0]}.{node.target}({', '.join(parts[1:])})"
    if node.op == "call_module":
        return f"{attribute_text(node.target)}({', '.join(parts)})"
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
    """The whole graph, and those of the functions that its nodes call. `lines` False leaves out the user's lines."""
    params = [node_line(n) if n.meta.get("val") is not None else n.name for n in graph.placeholders]
    head = f"def {name}({', '.join(params)}):"
    if len(head) > 120:
        head = f"def {name}(\n" + "".join(f"    {p},\n" for p in params) + "):"
    body = [node_line(n, lines) for n in graph.nodes if n.op != "placeholder"]
    whole = "\n".join([head, *(f"    {line}" for line in body)]) + "\n"
    for node in graph.nodes:  # what functions of functions call
        for part, inner in getattr(node.target, "graphs", {}).items():
            whole += "\n" + text(inner.graph, f"{node.name}_{part}", lines)
        inner = getattr(graph.owning_module, node.target, None) if node.op == "get_attr" else None
        if hasattr(inner, "graph"):
            whole += "\n" + text(inner.graph, node.target, lines)
    return whole


def table(graph: Graph) -> str:
    """One row a node: op, name, target, args, kwargs."""
    rows = [("opcode", "name", "target", "args", "kwargs")]
    for n in graph.nodes:
        target = n.target if isinstance(n.target, str) else target_text(n.target)
        rows.append((n.op, n.name, target, arg_text(n.args), arg_text(n.kwargs)))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    rows.insert(1, tuple("-" * w for w in widths))
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)
