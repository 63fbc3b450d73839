"""Graphs as pictures, by Graphviz: a pydot.Dot for a GraphModule and for each that it calls."""

from __future__ import annotations

import types
from typing import Any

from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.meta import Meta

__all__ = ["FxGraphDrawer"]

_COLORS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_attr": "LightYellow2", "output": "PowderBlue"}
_OTHER = ("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "Khaki1", "LavenderBlush1", "LightSkyBlue", "MistyRose1")


class FxGraphDrawer:
    """Draws `graph_module` under `name`: FxGraphDrawer(gm, "net").get_dot_graph().write_svg("net.svg").

    ignore_getattr: without nodes that read attributes. skip_node_names_in_args: arguments that are nodes are not written, as the
    arrows show them. parse_stack_trace: with the user's lines. dot_graph_shape: the shape of nodes, "record" by default.
    ignore_parameters_and_buffers, normalize_args: taken, and change nothing here. Raises RuntimeError where there is no pydot.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ):
        try:
            import pydot  # here: a library that is asked for by this class alone
        except ImportError:
            raise RuntimeError("FXGraphDrawer requires the pydot package to be installed. Please install pydot.") from None
        self._pydot: Any = pydot
        self._name = name
        self._ignore_getattr = ignore_getattr
        self._skip_names = skip_node_names_in_args
        self._lines = parse_stack_trace
        self._shape = dot_graph_shape or "record"
        self._dot_graphs = {name: self._drawn(graph_module, name)}
        for node in graph_module.graph.nodes:
            if node.op == "call_module" and isinstance(part := graph_module.get_submodule(node.target), GraphModule):
                self._dot_graphs[f"{name}_{node.target}"] = self._drawn(part, f"{name}_{node.target}")

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture of the whole, or of the GraphModule that it calls under that name."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """{name: picture}"""
        return self._dot_graphs

    def _drawn(self, gm: GraphModule, name: str) -> Any:
        dot = self._pydot.Dot(name, rankdir="TB")
        shown = [n for n in gm.graph.nodes if not (self._ignore_getattr and n.op == "get_attr")]
        for node in shown:
            style = {"shape": self._shape, "fillcolor": _color(node), "style": '"filled,rounded"', "fontcolor": "#000000"}
            dot.add_node(self._pydot.Node(node.name, label=self._label(node), **style))
        for node in shown:
            for user in node.users:
                dot.add_edge(self._pydot.Edge(node.name, user.name))
        return dot

    def _label(self, node: Node) -> str:
        rows = [f"name=%{node.name}", f"op_code={node.op}", f"target={_target(node.target)}"]
        for title, given in (("args", node.args), ("kwargs", node.kwargs)):
            if given and not (self._skip_names and _only_nodes(given)):
                rows.append(f"{title}={self._text(given)}")
        rows.append(f"num_users={len(node.users)}")
        val = node.meta.get("val")
        if isinstance(val, Meta):
            rows.append(f"dtype={val.dtype}, shape={tuple(val.sizes)}, stride={tuple(val.strides)}")
        if self._lines and node.meta.get("line") is not None:
            rows.append(str(node.meta["line"]))
        return '"{' + "|".join(map(_escaped, rows)) + '}"'

    def _text(self, value: Any) -> str:
        if isinstance(value, Node):
            return "" if self._skip_names else f"%{value.name}"
        if isinstance(value, (list, tuple)):
            inner = ", ".join(filter(None, map(self._text, value)))
            return f"[{inner}]" if isinstance(value, list) else f"({inner})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k}: {self._text(v)}" for k, v in value.items()) + "}"
        return repr(value)


def _only_nodes(given: Any) -> bool:
    return all(isinstance(v, Node) for v in (given.values() if isinstance(given, dict) else given))


def _target(target: Any) -> str:
    if isinstance(target, str):
        return target
    if isinstance(target, (types.FunctionType, types.BuiltinFunctionType)):
        return f"{target.__module__}.{target.__name__}"
    return str(target)


def _color(node: Node) -> str:
    """Calls of one function have one color."""
    known = _COLORS.get(node.op)
    return known or _OTHER[sum(map(ord, _target(node.target))) % len(_OTHER)]


def _escaped(text: str) -> str:
    """As records of Graphviz have it, where these characters part fields."""
    return "".join("\\" + c if c in '{}|<>"\\' else c for c in text)
