"""A graph with the things it refers to, callable through generated Python."""

from __future__ import annotations

import copy
import itertools
import linecache
import operator
import sys
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from aten import errors
from aten._native import Tensor
from aten.fx import printer
from aten.fx.graph import Graph
from aten.fx.interpreter import MODES, Interpreter, last_uses, modes_of
from aten.fx.node import Node
from aten.fx.symbols import binders, binders_within, free_symbols, resolve
from aten.scalar.unpatched import math
from aten.symbolic.symint import SYMBOLIC
from aten.tensor import Parameter

_numbers = itertools.count(1)
RUNS_AS_IT_IS = 8  # calls of a GraphModule that run node by node, before its text is compiled


class Generated:
    """The Python of a graph: one object until the graph changes. `forward` is compiled at the first call."""

    __slots__ = ("code", "scope", "forward", "__weakref__")

    def __init__(self, code: str, scope: dict[str, Any]):
        self.code = code
        self.scope = scope
        self.forward: Callable | None = None

    def compile(self) -> Callable:
        name = f"<weft graph {next(_numbers)}>"
        linecache.cache[name] = (len(self.code), None, self.code.splitlines(True), name)
        scope = {**self.scope, errors.HEARER: _told}
        exec(compile(self.code, name, "exec"), scope)
        self.forward = forward = scope["forward"]
        return forward


class GraphModule:
    """Callable: gm(*inputs) runs the graph.

    `root` gives the attributes that get_attr nodes name: a dict, or an object that has them. `code` is the generated
    Python. It is compiled after some calls, again after `recompile()`: many graphs run a few times, and a run node by node takes a
    twentieth of text and its compilation.
    """

    class_name: str
    meta: dict[str, Any]
    _graph: Graph
    _generated: Generated | None
    _runs: int

    def __init__(self, root: Any, graph: Graph, shape_env: Any = None, class_name: str = "GraphModule"):
        graph.owning_module = self
        if shape_env is not None:
            graph.shape_env = shape_env
        # (Past the `__setattr__` of Modules, which has nothing to file here.)
        self.__dict__.update(
            _root=root if root is not None else {}, class_name=class_name, _graph=graph, meta={}, _generated=None, _runs=0
        )

    @property
    def graph(self) -> Graph:
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"the graph of a GraphModule must be a Graph, not {type(graph).__name__}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def shape_env(self) -> Any:
        """The ShapeEnv of the graph's symbols, or None."""
        return self._graph.shape_env

    def __getattr__(self, name: str) -> Any:
        root = self.__dict__.get("_root", {})
        if isinstance(root, dict):
            if name in root:
                return root[name]
        elif hasattr(root, name):
            return getattr(root, name)
        raise AttributeError(f"this GraphModule has no attribute {name!r}")

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The graphs and modules that are attributes, by name."""
        root = self.__dict__["_root"]
        if isinstance(root, dict):
            yield from ((name, value) for name, value in root.items() if hasattr(value, "forward"))
        else:
            yield from root.named_children()

    def children(self) -> Iterator[Any]:
        """The same without names."""
        return (child for _, child in self.named_children())

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "") -> Iterator[tuple[str, Any]]:
        """This module, then those that can be reached from it, by their paths; each once."""
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, child in self.named_children():
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Any]:
        """The same without paths."""
        return (module for _, module in self.named_modules())

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Any]]:
        """The Parameters that are attributes of it, or of modules in it, by their paths."""
        return self._tensors(prefix, recurse, lambda value: isinstance(value, Parameter))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Any]]:
        """The other tensors, by their paths."""
        return self._tensors(prefix, recurse, lambda value: isinstance(value, Tensor) and not isinstance(value, Parameter))

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        return (value for _, value in self.named_parameters("", recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        return (value for _, value in self.named_buffers("", recurse))

    def _tensors(self, prefix: str, recurse: bool, wanted: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
        root = self.__dict__["_root"]
        if not isinstance(root, dict):
            found = [*root.named_parameters(prefix, recurse), *root.named_buffers(prefix, recurse)]
            yield from ((name, value) for name, value in found if wanted(value))
            return
        for name, value in root.items():
            path = f"{prefix}.{name}" if prefix else name
            if wanted(value):
                yield path, value
            elif recurse and isinstance(value, GraphModule):
                yield from value._tensors(path, recurse, wanted)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        graph, root = Graph(), self.__dict__["_root"]
        graph.shape_env = self.shape_env
        graph.output(graph.graph_copy(self._graph, {}))
        made = memo[id(self)] = GraphModule(copy.deepcopy(root, memo), graph, class_name=self.class_name)
        made.meta = dict(self.meta)
        return made

    def recompile(self) -> None:
        """Forget the generated code: the graph has changed."""
        self._generated = None
        self._runs = 0

    @property
    def code(self) -> str:
        """The generated Python of `forward`."""
        return self.generated().code

    def generated(self) -> Generated:
        """The generated Python."""
        generated = self._generated
        if generated is None:
            generated = self._generated = Generated(*_generate(self._graph))
        return generated

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Run the graph on one value per placeholder, in order or by name."""
        if self._runs < RUNS_AS_IT_IS and not named:
            self.__dict__["_runs"] += 1
            return Interpreter(self).run(*inputs)
        run = self._function()
        return run(self, *inputs, **named) if named else run(self, *inputs)

    def _function(self) -> Callable:
        """The generated `forward`, whose first argument is this module."""
        generated = self._generated or self.generated()
        return generated.forward or generated.compile()

    def written(self) -> Callable:
        """`forward` with the parameters that it has by name."""
        return types.MethodType(self._function(), self)

    __call__ = forward

    def train(self, mode: bool = True) -> GraphModule:
        """Puts the modules in it into training, or out of it."""
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> GraphModule:
        return self.train(False)

    def print_readable(self, print_output: bool = True) -> str:
        """The graph as text, with types and the user's lines; printed unless told otherwise."""
        text = str(self)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return printer.text(self._graph)

    def __repr__(self) -> str:
        return f"{self.class_name}({len(self._graph.nodes)} nodes)"


def _told(forward: types.FrameType, *warning: Any) -> bool:
    """Whether the warnings of a graph's ops are given by who runs it: a captured program gives them itself."""
    return "warnings_told" in forward.f_locals["self"].meta


errors.hearers[GraphModule.forward.__code__] = _told


def for_users(root: Any, graph: Graph, class_name: str = "GraphModule") -> GraphModule:
    """A GraphModule that is a Module too, if Modules were imported."""
    where = sys.modules.get("weft.nn.module") and import_module("weft.graph_modules")
    return (where.GraphModule if where else GraphModule)(root, graph, class_name=class_name)


class _Text:
    """What the text of a graph says of its values, and the globals it needs for that."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.scope: dict[str, Any] = {"sqrt": math.sqrt, "floor": math.floor}
        self.names: dict[int, str] = {}  # id of a global object → its name

    def constant(self, value: Any, hint: str) -> str:
        name = self.names.get(id(value))
        if name is None:
            name = self.names[id(value)] = self.graph.name_for(f"_{hint}")
            self.scope[name] = value
        return name

    def arg(self, a: Any) -> str:
        t, arg = type(a), self.arg
        if t is Node:
            return a.name
        if t is int or t is bool or t is str or a is None:
            return repr(a)
        if t is tuple:
            return f"({', '.join(map(arg, a))}{',' * (len(a) == 1)})"
        if t is list:
            return f"[{', '.join(map(arg, a))}]"
        if t is slice:
            return f"slice({arg(a.start)}, {arg(a.stop)}, {arg(a.step)})"
        if t is dict:
            return "{" + ", ".join(f"{k!r}: {arg(v)}" for k, v in a.items()) + "}"
        if t in SYMBOLIC:
            free = ", ".join(f"{n!r}: {n}" for n in sorted(a.expr.free_symbols))
            if a.expr.op == "sym":
                return a.expr.name
            # Text where it means the same for SymInts as for ints; min, max and conditions would guard.
            plain = all(x.op in ("sym", "const", "add", "mul", "floordiv", "mod") for x in _walk(a.expr))
            return f"({a})" if plain else f"{self.constant(resolve, 'resolve')}({self.constant(a, 'expr')}, {{{free}}})"
        if t is float and a == a and abs(a) != float("inf"):
            return repr(a)
        return self.constant(a, getattr(a, "name", None) or t.__name__)

    def value(self, node: Node) -> str:
        """The expression whose value the node is."""
        parts = [self.arg(a) for a in node.args] + [f"{k}={self.arg(v)}" for k, v in node.kwargs.items()]
        if node.op == "get_attr":
            return printer.attribute_text(node.target)
        if node.op == "call_method":
            return f"{parts[0]}.{node.target}({', '.join(parts[1:])})"
        if node.target is operator.getitem and type(node.args[0]) is Node and not node.kwargs:
            return f"{parts[0]}[{parts[1]}]"
        if node.op == "call_module":
            return f"{printer.attribute_text(node.target)}({', '.join(parts)})"
        return f"{self.constant(node.target, getattr(node.target, '__name__', 'function'))}({', '.join(parts)})"

    def block(self, modes: dict[str, Any]) -> str:
        """The `with` of nodes that run in other modes than those of the call."""
        entered = [f"{self.constant(MODES[name], MODES[name].__name__)}({self.arg(said)})" for name, said in modes.items()]
        return f"    with {', '.join(entered)}:"


def _generate(graph: Graph) -> tuple[str, dict[str, Any]]:
    """(text of `def forward(self, ...)`, the globals it needs)"""
    text = _Text(graph)
    placeholders = graph.placeholders
    parameters = [n.name + "".join(f"={text.arg(a)}" for a in n.args) for n in placeholders]
    lines = [f"def forward({', '.join(['self', *parameters])}):"]
    used = free_symbols(graph)
    graph.reserve(used)
    where = binders(graph) if used else {}
    for name in sorted(used & where.keys()):
        i, what, dim = where[name]
        source = placeholders[i].name
        value = {"value": source, "size": f"{source}.shape[{dim}]", "stride": f"{source}.stride()[{dim}]"}[what]
        if value != name:
            lines.append(f"    {name} = {value}")
    last = last_uses(graph)
    binds = binders_within(graph)
    modes: dict[str, Any] = {}  # of recording gradients, and the default dtype, where they are others than those of the call
    for node in graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            lines.append(f"    return {text.arg(node.args[0])}")
            continue
        asked = modes_of(node)
        if asked != modes:
            modes = asked
            if modes:
                lines.append(text.block(modes))
        value = text.value(node)
        dead = last.get(node, ())
        free = ";  " + " = ".join(n.name for n in dead) + " = None" if dead else ""
        name, sizes = node.name, ""
        for symbol, dim in binds.get(node, ()):
            if dim is None:
                name = f"{symbol} = {node.name}"
            elif symbol in used:
                sizes += f";  {symbol} = {node.name}.shape[{dim}]"
        lines.append(f"    {'    ' if modes else ''}{name} = {value}{sizes}{free}")
    return "\n".join(lines) + "\n", text.scope


def _walk(e):
    from aten.symbolic.nodes import walk

    return walk(e)
