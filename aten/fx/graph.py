"""A graph: a list of nodes in execution order."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aten.fx import printer
from aten.fx.lint import lint
from aten.fx.node import OPS, Node, UserLine, has_effect, map_arg, may_raise

# Names that generated code gives another meaning.
_RESERVED = frozenset(
    {"aten", "self", "operator", "math", "device", "min", "max", "float", "int", "sqrt", "floor", "slice", "graph"}
    | set(keyword.kwlist)
)
_NO_DEFAULT = object()
_SUFFIX = re.compile(r"(.*?)_(\d+)$")


class NodeList:
    """The nodes of a graph, in order. Nodes may be added and erased while it is walked."""

    __slots__ = ("_root", "_graph")

    def __init__(self, graph: Graph, root: Node):
        self._graph, self._root = graph, root

    def __iter__(self) -> Iterator[Node]:
        node = self._root._next
        while node is not self._root:
            if not node._erased:
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._root._prev
        while node is not self._root:
            if not node._erased:
                yield node
            node = node._prev

    def __len__(self) -> int:
        return self._graph._len


class _InsertPoint:
    def __init__(self, graph: Graph, before: Node):
        self.graph, self.outer = graph, graph._before
        graph._before = before

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc) -> None:
        self.graph._before = self.outer


class Graph:
    """Nodes in order, ending in one output node. `line` (a UserLine or None) is given to nodes as they are made."""

    def __init__(self, owning_module: Any = None):
        self._root = Node(self, "root", "", (), {}, "")
        self._last_placeholder = self._root
        self._before = self._root  # new nodes go in front of this one
        self._len = 0
        self._names: dict[str, int] = {}
        self.line: UserLine | None = None
        self.owning_module = owning_module
        self.shape_env: Any = None
        self.kept: dict[str, Any] | None = None  # what the meta of nodes made meanwhile has besides (aten/fx/traceback.py)
        self.default_dtype: Any = None  # nodes made meanwhile run with it as the default (None: with that of the call)

    @property
    def nodes(self) -> NodeList:
        return NodeList(self, self._root)

    @property
    def placeholders(self) -> list[Node]:
        """The inputs, in order."""
        found = []
        for n in self.nodes:
            if n.op != "placeholder":
                break
            found.append(n)
        return found

    @property
    def output_node(self) -> Node:
        """The output node. Raises RuntimeError if the graph has none yet."""
        last = self._root._prev
        if last.op != "output":
            raise RuntimeError("the graph has no output yet")
        return last

    @property
    def outputs(self) -> tuple:
        """What the graph returns: the elements of the output node's tuple."""
        value = self.output_node.args[0]
        return tuple(value) if isinstance(value, (tuple, list)) else (value,)

    # ------------------------------------------------------------------------------------ making nodes

    def name_for(self, candidate: str) -> str:
        """A name that no node has, made from `candidate` by a suffix _1, _2, ... if it is taken."""
        names = self._names
        if candidate[0].isdigit():
            candidate = "_" + candidate
        if candidate not in names and candidate not in _RESERVED:
            names[candidate] = 0
            return candidate
        base = candidate
        if candidate in names:
            found = _SUFFIX.match(candidate)
            if found is not None:
                base = found[1]
        n = names.get(base, 0)
        while True:
            n += 1
            name = f"{base}_{n}"
            if name not in names:
                names[base] = n
                names[name] = 0
                return name

    def reserve(self, names: Iterable[str]) -> None:
        """Keep these names (of symbols) from being given to nodes."""
        for name in names:
            self._names.setdefault(name, 0)

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple = (),
        kwargs: dict | None = None,
        name: str | None = None,
        val: Any = None,
        *,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the insertion point. `val` becomes meta["val"], `type_expr` the node's `type`. Raises AssertionError for
        an op that there is not."""
        if op not in OPS:
            raise AssertionError(f"op {op!r} is not one of {', '.join(OPS)}")
        if name is None:
            name = target if isinstance(target, str) else getattr(target, "__name__", None) or type(target).__name__
            if not name.isidentifier():
                name = re.sub(r"\W+", "_", name).strip("_") or "node"
            name = name.rstrip("_") or name
        node = Node(self, op, target, tuple(args or ()), kwargs or {}, self.name_for(name))
        if type_expr is not None:
            node.type = type_expr
        node.meta = {"val": val, "line": self.line}
        if self.default_dtype is not None:
            node.meta["default_dtype"] = self.default_dtype
        if self.kept is not None and op not in ("placeholder", "get_attr", "output"):
            node.meta.update(self.kept)
        before = self._before
        prev = before._prev
        prev._next, node._prev = node, prev
        node._next, before._prev = before, node
        self._len += 1
        if op == "placeholder":
            self._last_placeholder = node
        return node

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = _NO_DEFAULT, *, val: Any = None
    ) -> Node:
        """A new input, after the existing ones, with the value that it has where none is given, if there is one."""
        default = () if default_value is _NO_DEFAULT else (default_value,)
        with self.inserting_before(self._last_placeholder._next):
            node = self.create_node("placeholder", name, default, None, name, val, type_expr=type_expr)
        node.target = node.name
        return node

    def call_function(
        self,
        the_function: Callable,
        args: tuple = (),
        kwargs: dict | None = None,
        type_expr: Any = None,
        name: str | None = None,
        *,
        val: Any = None,
    ) -> Node:
        """A call of an op (or operator.getitem, or an op over sub-graphs)."""
        return self.create_node("call_function", the_function, args, kwargs, name, val, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: tuple = (), kwargs: dict | None = None, type_expr: Any = None, *, val: Any = None
    ) -> Node:
        """args[0].method_name(*args[1:]); only in graphs made by others."""
        return self.create_node("call_method", method_name, args, kwargs, None, val, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: tuple = (), kwargs: dict | None = None, type_expr: Any = None, *, val: Any = None
    ) -> Node:
        """A call of the module that the GraphModule has at this path; only in graphs made by others."""
        return self.create_node("call_module", module_name, args, kwargs, None, val, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None, *, val: Any = None) -> Node:
        """The attribute of the GraphModule at this path: a sub-graph, a parameter."""
        return self.create_node("get_attr", qualified_name, name=qualified_name.replace(".", "_"), type_expr=type_expr, val=val)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Return `result` (a tuple of nodes and constants)."""
        return self.create_node("output", "output", (result,), name="output", type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """A copy of a node of another graph; `arg_transform` gives this graph's node for each of its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        new = self.create_node(node.op, node.target, args, kwargs, node.name)
        new.meta = dict(node.meta)
        return new

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy all nodes of `g` here, filling `val_map`; returns the value of its output (no output is made), with the output
        itself if that is asked for."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # ------------------------------------------------------------------------------------ changing

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go in front of `n` (at the start of the graph if None); a context manager."""
        return _InsertPoint(self, self._root._next if n is None else n)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """New nodes go behind `n`, in order (at the end if None); a context manager."""
        return _InsertPoint(self, self._root if n is None else n._next)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node without users. Raises RuntimeError if it has some."""
        node = to_erase
        if node.users:
            raise RuntimeError(f"{node} is used by {list(node.users)}")
        if node._erased:
            return
        if self._before is node:
            self._before = node._next
        if self._last_placeholder is node:
            self._last_placeholder = node._prev
        node._set((), {})
        node._unlink()
        node._erased = True
        self._len -= 1

    def eliminate_dead_code(self, checks: bool = False) -> bool:
        """Erase nodes without users and without effects; with `checks` only those that cannot fail (`may_raise`).
        Returns whether any was erased."""
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not has_effect(node) and not (checks and may_raise(node)):
                self.erase_node(node)
                changed = True
        return changed

    def find_nodes(self, *, op: str, target: Any = None) -> list[Node]:
        """The nodes with this op and target."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target is target or n.target == target)]

    def lint(self) -> None:
        """Raise RuntimeError, saying where, if the graph is not well-formed."""
        lint(self)

    def print_tabular(self) -> None:
        """Print op, name, target, args and kwargs of every node as a table."""
        print(printer.table(self))

    def __str__(self) -> str:
        return printer.text(self)

    __repr__ = object.__repr__
