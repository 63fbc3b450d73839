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
    ) -> Node:
        """A new node at the insertion point. `val` becomes meta["val"]. Raises AssertionError for an op that there is not."""
        if op not in OPS:
            raise AssertionError(f"op {op!r} is not one of {', '.join(OPS)}")
        if name is None:
            name = target if isinstance(target, str) else getattr(target, "__name__", None) or type(target).__name__
            if not name.isidentifier():
                name = re.sub(r"\W+", "_", name).strip("_") or "node"
            name = name.rstrip("_") or name
        node = Node(self, op, target, tuple(args), kwargs or {}, self.name_for(name))
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

    def placeholder(self, name: str, val: Any = None, default: tuple = ()) -> Node:
        """A new input, after the existing ones; `default` holds the value it has where none is given."""
        with self.inserting_before(self._last_placeholder._next):
            node = self.create_node("placeholder", name, default, name=name, val=val)
        node.target = node.name
        return node

    def call_function(
        self, target: Callable, args: tuple = (), kwargs: dict | None = None, val: Any = None, name: str | None = None
    ):
        """A call of an op (or operator.getitem, or an op over sub-graphs)."""
        return self.create_node("call_function", target, args, kwargs, name, val)

    def call_method(self, name: str, args: tuple = (), kwargs: dict | None = None, val: Any = None) -> Node:
        """args[0].name(*args[1:]); only in graphs made by others."""
        return self.create_node("call_method", name, args, kwargs, None, val)

    def call_module(self, name: str, args: tuple = (), kwargs: dict | None = None, val: Any = None) -> Node:
        """A call of the module that the GraphModule has at this path; only in graphs made by others."""
        return self.create_node("call_module", name, args, kwargs, None, val)

    def get_attr(self, name: str, val: Any = None) -> Node:
        """The attribute `name` of the GraphModule: a sub-graph."""
        return self.create_node("get_attr", name, name=name.replace(".", "_"), val=val)

    def output(self, value: Any) -> Node:
        """Return `value` (a tuple of nodes and constants)."""
        return self.create_node("output", "output", (value,), name="output")

    def node_copy(self, node: Node, fn: Callable[[Node], Any]) -> Node:
        """A copy of a node of another graph; fn gives this graph's node for each of its arguments."""
        new = self.create_node(
            node.op, node.target, map_arg(node.args, fn), map_arg(node.kwargs, fn), node.name, node.meta.get("val")
        )
        new.meta = dict(node.meta)
        return new

    def graph_copy(self, other: Graph, mapping: dict[Node, Any]) -> Any:
        """Copy all nodes of `other` here, filling `mapping`; returns the value of its output (no output is made)."""
        for node in other.nodes:
            if node in mapping:
                continue
            if node.op == "output":
                return map_arg(node.args[0], mapping.__getitem__)
            mapping[node] = self.node_copy(node, mapping.__getitem__)
        return None

    # ------------------------------------------------------------------------------------ changing

    def inserting_before(self, node: Node | None = None) -> _InsertPoint:
        """New nodes go in front of `node` (at the start of the graph if None); a context manager."""
        return _InsertPoint(self, self._root._next if node is None else node)

    def inserting_after(self, node: Node | None = None) -> _InsertPoint:
        """New nodes go behind `node`, in order (at the end if None); a context manager."""
        return _InsertPoint(self, self._root if node is None else node._next)

    def erase_node(self, node: Node) -> None:
        """Remove a node without users. Raises RuntimeError if it has some."""
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
