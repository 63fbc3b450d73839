"""Symbolic sizes in graphs: where their values come from, and how arguments are resolved with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aten.fx.node import Node, map_values
from aten.fx.targets import WHOLE
from aten.meta import Meta
from aten.symbolic.evaluate import evaluate
from aten.symbolic.nodes import Expr, as_expr, substitute
from aten.symbolic.symint import SYMBOLIC, env_of, wrap

if TYPE_CHECKING:
    from aten.fx.graph import Graph

_NONE: frozenset[str] = frozenset()
_WITHOUT_PARTS = frozenset({Node, int, float, bool, str, type(None)})


def symbols_in(x: Any) -> frozenset[str]:
    """The names of the symbols of a number (none for anything else)."""
    return x.expr.free_symbols if type(x) in SYMBOLIC else _NONE


def binders(graph: Graph) -> dict[str, tuple[int, str, int]]:
    """For each symbol the input that gives its value: (index of the placeholder, "value" | "size" | "stride", dim).

    An input that is the number itself goes before sizes, a size before a stride.
    """
    found: dict[str, tuple[int, str, int]] = {}
    values: list[Any] = [n.meta.get("val") for n in graph.placeholders]
    for i, val in enumerate(values):
        if type(val) in SYMBOLIC and val.expr.op == "sym":
            found.setdefault(val.expr.name, (i, "value", 0))
    for what, attribute in (("size", "sizes"), ("stride", "strides")):
        for i, val in enumerate(values):
            for dim, size in enumerate(getattr(val, attribute, ())):
                if type(size) in SYMBOLIC and size.expr.op == "sym":
                    found.setdefault(size.expr.name, (i, what, dim))
    return found


def bound_by(node: Node) -> Iterator[tuple[str, int | None]]:
    """The symbols whose values a node gives, if nothing before it does: (name, None) as the number that it is, as one that reads
    a tensor's value; (name, dim) as a size of the tensor that it makes."""
    val = node.meta.get("val") if node.op == "call_function" else None
    if type(val) in SYMBOLIC:
        if val.expr.op == "sym":
            yield val.expr.name, None
    else:
        for dim, size in enumerate(getattr(val, "sizes", ())):
            if type(size) in SYMBOLIC and size.expr.op == "sym":
                yield size.expr.name, dim


def binders_within(graph: Graph) -> dict[Node, list[tuple[str, int | None]]]:
    """The nodes by which symbols get values that no input gives, the first of each symbol."""
    found: dict[Node, list[tuple[str, int | None]]] = {}
    bound: set[str] | None = None
    for node in graph.nodes:
        if node.op != "call_function" or has_known_sizes(node.meta.get("val")):
            continue
        for name, dim in bound_by(node):
            if bound is None:
                bound = set(binders(graph))
            if name not in bound:
                bound.add(name)
                found.setdefault(node, []).append((name, dim))
    return found


def has_known_sizes(val: Any) -> bool:
    """Whether what a node gives is a tensor all of whose sizes are known."""
    if type(val) is not Meta:
        return False
    for size in val.sizes:
        if type(size) is not int:
            return False
    return True


def runs_whole(graph: Graph) -> bool:
    """Whether the graph is run as it was captured: some of its numbers are known only once a part has run, say."""
    marked = any(
        node.meta.get("grad") or node.meta.get("whole") or any(node.target is target for target in WHOLE) for node in graph.nodes
    )
    return marked or bool(binders_within(graph))


def free_symbols(graph: Graph) -> set[str]:
    """The symbols that occur in the arguments of any node."""
    found: set[str] = set()
    for node in graph.nodes:
        for arg in node.args:
            if type(arg) not in _WITHOUT_PARTS:
                _collect(arg, found)
        if node.kwargs:
            _collect(node.kwargs, found)
    return found


def _collect(arg: Any, found: set[str]) -> None:
    t = type(arg)
    if t is tuple or t is list:
        for part in arg:
            _collect(part, found)
    elif t in SYMBOLIC:
        found |= arg.expr.free_symbols
    elif t is dict:
        for part in arg.values():
            _collect(part, found)
    elif t is slice:
        _collect((arg.start, arg.stop, arg.step), found)


def bind(graph: Graph, inputs) -> dict[str, Any]:
    """The values of the symbols that the graph uses, read from its inputs."""
    used = free_symbols(graph)
    where = binders(graph) if used else {}
    return {name: read(inputs, where[name]) for name in used if name in where}


def read(inputs, where: tuple[int, str, int]) -> Any:
    i, what, dim = where
    x = inputs[i]
    return x if what == "value" else x.shape[dim] if what == "size" else x.stride()[dim]


def resolve(x: Any, values: dict[str, Any]) -> Any:
    """A symbolic number for these values of its symbols (which may be symbolic themselves)."""
    return resolve_expr(x.expr, values)


def resolve_expr(e: Expr, values: dict[str, Any]) -> Any:
    env = env_of(*(values[n] for n in e.free_symbols if n in values))
    if env is None:
        return evaluate(e, values)
    return wrap(substitute(e, {n: as_expr(values[n]) for n in e.free_symbols}), env)


def map_symbols(arg: Any, fn) -> Any:
    """`arg` with every SymInt, SymFloat, SymBool in it replaced by fn(it)."""
    return map_values(arg, SYMBOLIC, fn)
