"""Find sub-graphs and replace them.

rewrite(graph, p.mm(p.permute(ANY.a, [1, 0]), ANY.b), lambda a, b: mm_transposed(a, b))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aten.fx.graph import Graph
from aten.fx.node import Node, leaves
from aten.fx.targets import is_op


@dataclass(frozen=True)
class Any_:
    """Matches anything, and calls it `name`. Used twice, both must be the same."""

    name: str
    test: Callable[[Any], bool] | None = None

    def where(self, test: Callable[[Any], bool]) -> Any_:
        """Only what `test` holds for."""
        return Any_(self.name, test)


class _Names:
    def __getattr__(self, name: str) -> Any_:
        return Any_(name)


@dataclass(frozen=True)
class Call:
    """Matches a call of `target` (an op by name, or a function) whose arguments match.

    `...` as the last argument stands for all further ones. Inner calls must have no other users.
    """

    target: Any
    args: tuple
    kwargs: dict

    def matches(self, node: Any) -> bool:
        if type(node) is not Node or node.op != "call_function":
            return False
        return (is_op(node.target) and node.target.name == self.target) or node.target is self.target


class _Calls:
    def __getattr__(self, name: str) -> Callable[..., Call]:
        return lambda *args, **kwargs: Call(name, args, kwargs)

    def __call__(self, function: Callable, *args, **kwargs) -> Call:
        """A call of a function that is not an op."""
        return Call(function, args, kwargs)


ANY = _Names()
p = _Calls()


def match(pattern: Any, value: Any) -> dict[str, Any] | None:
    """What the names of the pattern stand for if `value` (a node or argument) matches, else None."""
    found: dict[str, Any] = {}
    inner: list[Node] = []
    return found if _match(pattern, value, found, inner, root=True) else None


def _match(pattern: Any, value: Any, found: dict[str, Any], inner: list[Node], root: bool = False) -> bool:
    if type(pattern) is Any_:
        if pattern.name in found:
            return found[pattern.name] is value or (type(value) is not Node and found[pattern.name] == value)
        if pattern.test is not None and not pattern.test(value):
            return False
        found[pattern.name] = value
        return True
    if type(pattern) is Call:
        if not pattern.matches(value) or (not root and len(value.users) > 1):
            return False
        inner.append(value)
        args = pattern.args
        if args and args[-1] is ...:
            args = args[:-1]
        elif len(args) != len(value.args):
            return False
        if len(args) > len(value.args) or not pattern.kwargs.keys() <= value.kwargs.keys():
            return False
        pairs = [*zip(args, value.args), *((v, value.kwargs[k]) for k, v in pattern.kwargs.items())]
        return all(_match(a, b, found, inner) for a, b in pairs)
    if type(pattern) in (list, tuple):
        if type(value) not in (list, tuple) or len(pattern) != len(value):
            return False
        return all(_match(a, b, found, inner) for a, b in zip(pattern, value))
    return type(pattern) is type(value) and pattern == value


def rewrite(graph: Graph, pattern: Call, replacement: Callable[..., Any], where: Callable[..., bool] | None = None) -> Graph:
    """Replace every match of `pattern`, in place; returns the graph.

    `replacement` and `where` are called with what the pattern's names matched, by name. The replacement runs on
    tracers in place of the matched node: the ops it calls are added to the graph. `where` sees nodes, and False keeps
    the match.
    """
    from aten.transforms.trace import inserting

    for node in graph.nodes:
        found = match(pattern, node)
        if found is None or (where is not None and not where(**found)):
            continue
        with inserting(graph, before=node) as tracers:
            new = tracers.node(replacement(**{k: tracers.value(v) for k, v in found.items()}))
        inputs = [n for n in leaves(node.args) if type(n) is Node]
        node.replace_all_uses_with(new)
        graph.erase_node(node)
        for n in inputs:
            _erase_dead(graph, n)
    return graph


def _erase_dead(graph: Graph, node: Node) -> None:
    """Erase `node` and then its arguments, as far as nobody uses them."""
    if node.users or node._erased or node.op == "placeholder":
        return
    inputs = node.all_input_nodes
    graph.erase_node(node)
    for n in inputs:
        _erase_dead(graph, n)
