"""Run a graph node by node."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from aten import _native
from aten.fx import traceback
from aten.fx.graph import Graph
from aten.fx.node import Node
from aten.fx.symbols import bind, binders_within, resolve
from aten.symbolic.symint import SYMBOLIC


class Ambient:
    """Within a `with` block, these bits of the thread's ambient word are as said."""

    __slots__ = ("mask", "value", "before")

    def __init__(self, mask: int, value: int):
        self.mask = mask
        self.value = value
        self.before = 0

    def __enter__(self) -> None:
        self.before = _native.set_ambient_bits(self.mask, self.value)

    def __exit__(self, *exc: Any) -> None:
        _native.set_ambient_bits(self.mask, self.before)


def grad_mode(mode: bool) -> Ambient:
    """Gradients are recorded or not: what `node.meta["grad"]` asks for."""
    return Ambient(1, int(mode))


def default_dtype(dtype: Any) -> Ambient:
    """The default dtype is another one: what `node.meta["default_dtype"]` asks for."""
    return Ambient(DEFAULT_DTYPE, dtype.code << 8)


MODES = {"grad": grad_mode, "default_dtype": default_dtype}  # by what a node's meta asks for
DEFAULT_DTYPE = 0xFF << 8  # of the ambient word
_NO_MODES: dict[str, Any] = {}


def modes_of(n: Node) -> dict[str, Any]:
    """The modes that a node asks for, where they are others than those of the call."""
    meta = n.meta
    if "grad" not in meta and "default_dtype" not in meta:  # most do not
        return _NO_MODES
    return {name: said for name in MODES if (said := meta.get(name)) is not None}


class Interpreter:
    """Runs a GraphModule (or Graph) on values; subclasses override what a kind of node does, as in PyTorch:
    `placeholder`, `get_attr`, `call_function`, `call_method`, `call_module`, `output`, each (target, args, kwargs), or `run_node`.

    `env` holds the values of nodes; they are dropped after their last use.
    """

    def __init__(self, module: Any, garbage_collect_values: bool = True):
        self.module = module
        self.graph: Graph = module if isinstance(module, Graph) else module.graph
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.symbols: dict[str, Any] = {}
        self.args_iter: Iterator[Any] = iter(())

    def run(self, *inputs: Any, initial_env: dict[Node, Any] | None = None) -> Any:
        """The graph's output for these inputs, one per placeholder. `initial_env` gives values of nodes not to be run.

        Raises TypeError for another number of inputs.
        """
        placeholders = self.graph.placeholders
        left = placeholders[len(inputs) :]
        if left and all(n.args for n in left):
            inputs = (*inputs, *[n.args[0] for n in left])
        if len(inputs) != len(placeholders):
            raise TypeError(f"the graph takes {len(placeholders)} inputs, not {len(inputs)}")
        self.env = dict(initial_env) if initial_env else {}
        self.symbols = bind(self.graph, inputs)
        self.args_iter = iter(inputs)
        last = last_uses(self.graph) if self.garbage_collect_values else {}
        binds = binders_within(self.graph)
        env = self.env
        for node in self.graph.nodes:
            if node not in env:
                env[node] = self.run_node(node)
                if binds:
                    for symbol, dim in binds.get(node, ()):
                        self.symbols[symbol] = env[node] if dim is None else env[node].shape[dim]
            if node.op == "output":
                return env[node]
            for dead in last.get(node, ()):
                del env[dead]
        raise RuntimeError("the graph has no output")

    def run_node(self, n: Node) -> Any:
        """The value of one node, whose arguments are in `env`."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        run = getattr(self, n.op)
        asked, preserves = modes_of(n), traceback.has_preserved_node_meta()
        if not asked and not preserves:
            return run(n.target, args, kwargs)
        with contextlib.ExitStack() as modes:
            if preserves:
                modes.enter_context(traceback.set_current_meta(n))
            for name, said in asked.items():
                modes.enter_context(MODES[name](said))
            return run(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict]:
        """The node's arguments with nodes and symbols replaced by their values."""
        env = self.env
        args = tuple([env[a] if type(a) is Node else self.value(a) for a in n._args])
        return args, {k: self.value(v) for k, v in n._kwargs.items()} if n._kwargs else {}

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """`args` with nodes replaced by their values."""
        return self.value(args)

    def fetch_attr(self, target: str) -> Any:
        """The attribute of the module that a get_attr names."""
        out = self.module
        for part in target.split("."):
            out = getattr(out, part)
        return out

    def value(self, arg: Any) -> Any:
        """An argument with nodes replaced by their values and symbols by theirs."""
        t = type(arg)
        if t is Node:
            return self.env[arg]
        if t is tuple or t is list:
            return t([self.value(a) for a in arg])
        if t in SYMBOLIC:
            return resolve(arg, self.symbols)
        if t is dict:
            return {k: self.value(v) for k, v in arg.items()}
        if t is slice:
            return slice(self.value(arg.start), self.value(arg.stop), self.value(arg.step))
        return arg

    def placeholder(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return next(self.args_iter)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return self.fetch_attr(target)(*args, **kwargs)

    def get_attr(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return self.fetch_attr(target)

    def output(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return args[0]


def last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node the nodes whose value is not needed after it."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        dead: list[Node] = []
        for n in node._inputs:
            if n not in seen:
                seen.add(n)
                dead.append(n)
        if node not in seen and node.op != "output":
            seen.add(node)
            dead.append(node)
        if dead:
            last[node] = dead
    return last
