"""Whether a graph is well-formed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aten.fx.node import leaves
from aten.fx.symbols import binders, symbols_in
from aten.fx.targets import is_op

if TYPE_CHECKING:
    from aten.fx.graph import Graph


def lint(graph: Graph) -> None:
    """Raise RuntimeError at the first defect: order, names, users, arguments of ops, symbols that no input binds."""
    seen: set = set()
    names: set[str] = set()
    body = False
    last = None
    for node in graph.nodes:
        if last is not None and last.op == "output":
            raise RuntimeError(f"{node} follows the output")
        if node.graph is not graph:
            raise RuntimeError(f"{node} belongs to another graph")
        if node.name in names:
            raise RuntimeError(f"two nodes are called {node.name}")
        names.add(node.name)
        if node.op == "placeholder":
            if body:
                raise RuntimeError(f"the placeholder {node} follows other nodes")
        else:
            body = True
        for n in node.all_input_nodes:
            if n not in seen:
                raise RuntimeError(f"{node} uses {n} before it is computed")
            if node not in n.users:
                raise RuntimeError(f"{n} does not know its user {node}")
        for user in node.users:
            if user._erased or node not in user._inputs:
                raise RuntimeError(f"{node} lists {user} as a user, which it is not")
        if node.op == "call_function" and not callable(node.target):
            raise RuntimeError(f"the target of {node} cannot be called: {node.target!r}")
        if node.op == "call_function" and is_op(node.target):
            schema = node.target.schema
            spread = any(p.spread or p.variadic for p in schema.params)  # which takes what is left
            if len(node.args) > len(schema.params) and not spread:
                raise RuntimeError(f"{node} has more arguments than {node.target!r}")
        seen.add(node)
        last = node
    if last is None or last.op != "output":
        raise RuntimeError("the graph has no output")
    _lint_symbols(graph)


def _lint_symbols(graph: Graph) -> None:
    bound = binders(graph).keys()
    for node in graph.nodes:
        if node.op == "placeholder":
            continue
        for leaf in leaves((node.args, node.kwargs)):
            free = symbols_in(leaf) - bound
            if free and not all(name.startswith("u") for name in free):
                raise RuntimeError(f"{node} depends on the symbol {min(free)}, which no input binds")
