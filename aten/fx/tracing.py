"""symbolic_trace: the graph of a function, seen by running it on stand-ins that only note what is done to them.

Unlike make_fx it needs no example and knows no shapes: operators, methods and functions are recorded as they are written.
Modules are traced into, but for those of the library, whose calls are call_module nodes; parameters and buffers become
get_attr nodes.
"""

from __future__ import annotations

import contextlib
import dis
import inspect
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from aten import dispatch
from aten._native import Tensor
from aten.fx import traceback
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule, for_users
from aten.fx.interpreter import Interpreter
from aten.fx.node import Node, map_arg
from aten.fx.targets import is_op
from aten.fx.wrapped import kept
from aten.scalar.unpatched import functools
from aten.tensor import Parameter


class TraceError(ValueError):
    """The traced function needs to know something that does not exist while tracing."""


class Proxy:
    """Stands for a value of the graph being traced."""

    def __init__(self, node: Node, tracer: Tracer | None = None):
        """Without a tracer, what is done with it goes into the graph of its node."""
        self.__dict__["_node"] = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    @property
    def node(self) -> Node:
        return self._node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __iter__(self) -> Iterator[Any]:
        """Its elements where it is taken apart (`a, b = self`), for the instruction says how many there are."""
        caller = sys._getframe(1)
        instructions = dis.get_instructions(caller.f_code)
        now = next((i for i in instructions if i.offset == caller.f_lasti), None)
        if now is not None and now.opname == "UNPACK_SEQUENCE":
            return iter([operator.getitem(self, i) for i in range(now.arg or 0)])
        return self.tracer.iter(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Proxy:
        """A call of an op outside of a trace: into the graph of the first Proxy among its arguments."""
        found = next(a for a in _leaves((args, kwargs)) if isinstance(a, Proxy))
        return found.tracer.record("call_function", func, args, kwargs or {})

    def __len__(self) -> int:
        raise TraceError("'len' is not supported in symbolic tracing")

    def __index__(self) -> int:
        raise TraceError(f"the value of {self!r} is not known while tracing")


class Attribute(Proxy):
    """`proxy.name`: a method if it is called, else a node of its own."""

    def __init__(self, root: Proxy, name: str):
        self.__dict__["_node"] = None
        self.root, self.attr, self.tracer = root, name, root.tracer

    @property
    def node(self) -> Node:
        if self._node is None:
            self.__dict__["_node"] = self.tracer.graph.call_function(getattr, (self.root.node, self.attr))
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.record("call_method", self.attr, (self.root, *args), kwargs)


def _operator(fn: Callable, reflected: bool = False) -> Callable:
    def method(self: Proxy, *others: Any) -> Proxy:
        args = (*others, self) if reflected else (self, *others)
        return self.tracer.record("call_function", fn, args, {})

    return method


for (
    _name
) in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift eq ne lt le gt ge neg pos invert abs getitem".split():
    _fn = getattr(operator, _name + "_" if _name in ("and", "or") else _name)
    setattr(Proxy, f"__{_name}__", _operator(_fn))
for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    _fn = getattr(operator, _name + "_" if _name in ("and", "or") else _name)
    setattr(Proxy, f"__r{_name}__", _operator(_fn, reflected=True))
Proxy.__hash__ = object.__hash__


class Tracer:
    """Records into `graph`; a mode of dispatch, so that it sees the calls of ops before their arguments are read. Subclasses say
    which modules are leaves, and may change what is recorded."""

    def __init__(self, autowrap_modules: Any = (), autowrap_functions: Any = (), param_shapes_constant: bool = False):
        self.graph = Graph()
        self.graph.kept = traceback.kept()
        self.module: Any = None
        self.constants: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._paths: dict[int, str] = {}
        self._attributes: dict[str, Node] = {}

    @property
    def root(self) -> Any:
        """What get_attr and call_module nodes refer to."""
        return _Root(self.constants, self.module) if self.constants else self.module

    # ------------------------------------------------------------------------------------ for subclasses
    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a call of the module is one node: of those of the library, but for Sequential."""
        ours = type(m).__module__.startswith(("weft.nn", "torch.nn"))
        return ours and not any(cls.__name__ == "Sequential" for cls in type(m).__mro__)

    def path_of_module(self, mod: Any) -> str:
        """Where a module is in the root. Raises NameError if it is not there."""
        path = self._paths.get(id(mod))
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Any, forward: Callable, args: tuple, kwargs: dict) -> Any:
        """What a call of a module gives; `forward` is what it does."""
        path = self.path_of_module(m)
        if not self.is_leaf_module(m, path):
            return forward(*args, **kwargs)
        return self.create_proxy("call_module", path, args, kwargs)

    def to_bool(self, obj: Proxy) -> bool:
        raise TraceError(f"symbolically traced variables cannot be used as inputs to control flow: {obj!r}")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        raise TraceError(f"{obj!r} cannot be iterated: how many elements it has is not known while tracing")

    def create_node(
        self, kind: str, target: Any, args: tuple, kwargs: dict, name: str | None = None, type_expr: Any = None
    ) -> Node:
        return self.graph.create_node(kind, target, args, kwargs, name)

    def create_proxy(
        self, kind: str, target: Any, args: tuple, kwargs: dict, name: str | None = None, type_expr: Any = None
    ) -> Proxy:
        """A new node, as a Proxy."""
        return self.proxy(self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr))

    def create_arg(self, a: Any) -> Any:
        """An argument with nodes for Proxies and for tensors from outside."""
        return self.argument(a)

    def proxy(self, node: Node) -> Proxy:
        return Proxy(node, self)

    # ------------------------------------------------------------------------------------ recording
    def handle(self, op: Any, args: tuple, kwargs: dict) -> Any:
        """What dispatch asks of a mode."""
        if not any(isinstance(a, Proxy) for a in _leaves((args, kwargs))):
            return NotImplemented
        return self.record("call_function", op, args, kwargs)

    def record(self, kind: str, target: Any, args: tuple, kwargs: dict) -> Proxy:
        if is_op(target) and (at := target.schema.variadic) == len(args) - 1 >= 0 and type(args[at]) in (list, tuple):
            if target.schema.params[at].type != "int":  # (sizes stay in their list)
                args = (*args[:at], *args[at])  # as a graph has it, however the program gave it
        return self.create_proxy(kind, target, args, kwargs)

    def argument(self, a: Any) -> Any:
        """An argument with nodes for Proxies and for tensors from outside."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, Tensor):
            return self._tensor(a)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple([self.argument(x) for x in a]), {})
        if type(a) in (list, tuple):
            return type(a)([self.argument(x) for x in a])
        if type(a) is dict:
            return {k: self.argument(v) for k, v in a.items()}
        if type(a) is slice:
            return slice(self.argument(a.start), self.argument(a.stop), self.argument(a.step))
        return a

    def _tensor(self, tensor: Tensor) -> Node:
        name = self._names.get(id(tensor))
        if name is None:
            name = self._names[id(tensor)] = f"_tensor_constant{len(self.constants)}"
            self.constants[name] = tensor
        if name not in self._attributes:
            self._attributes[name] = self.graph.get_attr(name)
        return self._attributes[name]

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Run the root, a function or a Module, on Proxies; arguments named in concrete_args are these values."""
        self.module, concrete_args = root, concrete_args or {}
        of_modules = contextlib.nullcontext()
        if hasattr(root, "named_parameters"):
            for name, tensor in (*root.named_parameters(), *root.named_buffers()):
                self._names[id(tensor)] = name
            self._paths = {id(module): path for path, module in root.named_modules()}
            of_modules = self._calls_of_modules(root)
        fn = root.written() if isinstance(root, GraphModule) else root.forward if hasattr(root, "forward") else root
        args, kwargs = [], {}
        for p in inspect.signature(fn).parameters.values():
            if p.name in concrete_args:
                value: Any = self._fixed(p.name, concrete_args[p.name])
            elif p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            else:
                default = () if p.default is p.empty else (p.default,)
                value = self.proxy(self.graph.placeholder(p.name, None, *default))
            if p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            else:
                args.append(value)
        dispatch.push_mode(self)
        try:
            with kept(Proxy, self.record), of_modules:
                result = fn(*args, **kwargs)
        finally:
            dispatch.pop_mode()
        self.graph.output(self.create_arg(result))
        return self.graph

    def _fixed(self, name: str, value: Any) -> Any:
        """An argument that stands for one value: an input all the same, of which the graph asserts it."""
        node = self.graph.placeholder(name)
        if isinstance(value, (bool, int, float)):
            same = self.graph.call_function(operator.eq, (node, value))
            self.graph.call_function(_assert, (same, f"{name} has been specialized to have value {value} but got another value"))
        return value

    @contextlib.contextmanager
    def _calls_of_modules(self, root: Any) -> Iterator[None]:
        """Within the block calls of modules go to `call_module`, and their Parameters are read as Proxies."""
        bases = {_class_of_modules(type(module)): None for _, module in root.named_modules()}
        before = {base: (base.__call__, base.__getattr__) for base in bases}
        for base, (call, attribute) in before.items():
            base.__call__, base.__getattr__ = self._watched(call), self._read(attribute)
        try:
            yield
        finally:
            for base, (call, attribute) in before.items():
                base.__call__, base.__getattr__ = call, attribute

    def _read(self, attribute: Callable) -> Callable:
        """Attributes of modules as what is traced sees them: Parameters of the root are nodes, and what is done to them is too."""

        def read(module: Any, name: str) -> Any:
            value = attribute(module, name)
            return self.proxy(self._tensor(value)) if isinstance(value, Parameter) and id(value) in self._names else value

        return read

    def _watched(self, call: Callable) -> Callable:
        @functools.wraps(call)
        def watched(module: Any, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(module, functools.partial(call, module), args, kwargs)

        return watched


class GraphAppendingTracer(Tracer):
    """Records what is done with its Proxies into a graph that there is: `Proxy(graph.placeholder("x"), tracer)`."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph


def _class_of_modules(cls: type) -> Any:
    """The class from which a class of modules has its `__call__`: Module."""
    return next(base for base in reversed(cls.__mro__) if "__call__" in vars(base) and "named_modules" in vars(base))


def _leaves(tree: Any) -> Iterator[Any]:
    if type(tree) in (list, tuple):
        for x in tree:
            yield from _leaves(x)
    elif type(tree) is dict:
        for x in tree.values():
            yield from _leaves(x)
    else:
        yield tree


class _Root:
    """Where get_attr nodes look: the constants of the trace, then the module."""

    def __init__(self, constants: dict[str, Any], module: Any):
        self.constants, self.module = constants, module

    def __getattr__(self, name: str) -> Any:
        constants = self.__dict__["constants"]
        return constants[name] if name in constants else getattr(self.__dict__["module"], name)


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError unless the condition holds."""
    assert condition, message


class ProxyableClassMeta(type):
    """The metaclass of classes whose objects nodes make, where a function that is traced makes one of Proxies."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = next((a for a in _leaves((args, kwargs)) if isinstance(a, Proxy)), None)
        return super().__call__(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_function", cls, args, kwargs)


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The GraphModule of a function or Module. Raises TraceError where it decides by a value or a size."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return for_users(tracer.root, graph, _name_of(root))


def _name_of(root: Any) -> str:
    return type(root).__name__ if hasattr(root, "forward") else getattr(root, "__name__", "GraphModule")


class Transformer(Interpreter):
    """An Interpreter on Proxies: `transform()` gives a new GraphModule, with whatever its methods do differently."""

    def __init__(self, module: GraphModule):
        super().__init__(module, garbage_collect_values=False)
        self.tracer = Tracer()
        self.new_graph = self.tracer.graph
        self.new_graph.shape_env = self.graph.shape_env

    def run_node(self, n: Node) -> Any:
        self.new_graph.line = n.meta.get("line")
        result = super().run_node(n)
        if type(result) is Proxy and result.node.meta.get("val") is None:
            result.node.meta["val"] = n.meta.get("val")
        return result

    def value(self, arg: Any) -> Any:
        return map_arg(arg, self.env.__getitem__)

    def placeholder(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return Proxy(self.new_graph.placeholder(target, None, *args), self.tracer)

    def get_attr(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return Proxy(self.new_graph.get_attr(target), self.tracer)

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return self.tracer.record("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return self.tracer.record("call_method", target, args, kwargs)

    def call_module(self, target: Any, args: tuple, kwargs: dict) -> Any:
        return self.tracer.record("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Run the methods over all nodes; the new GraphModule refers to the old one's attributes."""
        for node in self.graph.nodes:
            self.env[node] = self.run_node(node)
        self.new_graph.output(self.tracer.argument(self.env[self.graph.output_node]))
        return for_users(self.module, self.new_graph)
