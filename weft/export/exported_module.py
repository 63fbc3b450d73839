"""A captured program as a module: its graph, its tensors, and the structure of its arguments and result."""

from __future__ import annotations

import copy
import keyword
from collections.abc import Callable
from typing import Any

from aten import Tensor, pytree
from aten.fx import printer, reader, traceback
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.meta import Meta
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import opened
from dynamo import trace_rules
from weft.export.retraced import Retraced
from weft.nn.module import Module
from weft.nn.parameter import Parameter


class ExportedModule(Module):
    """`module(*args, **kwargs)` runs the graph: the arguments have the structure of those it was captured with.

    Parameters and buffers are those of the module that was captured, under their names; `constants` are other tensors of
    its world. `graph` can be changed; then `recompile()`.
    """

    def __init__(self, name: str = "exported"):
        super().__init__()
        self.constants: dict[str, Tensor] = {}
        self.meta: dict[str, Any] = {}
        self.flat = False
        self._check: Callable | None = None
        self._class_name = name

    def put(self, name: str, tensor: Tensor, is_buffer: bool, saved: bool) -> None:
        """Store a tensor under its dotted name."""
        owner: Module = self
        *path, leaf = name.split(".")
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, Module())
            owner = owner._modules[part]  # type: ignore[assignment]
        if isinstance(tensor, Parameter):
            owner.register_parameter(leaf, tensor)
        elif is_buffer:
            owner.register_buffer(leaf, tensor, persistent=saved)
        else:
            object.__setattr__(owner, leaf, tensor)

    def finish(self, graph: Graph, in_spec: pytree.Spec, out_spec: pytree.Spec, names: list[str]) -> None:
        """Give the module its graph and the structure of its arguments and result."""
        object.__setattr__(self, "_graph_module", GraphModule(self, graph))
        self._in_spec, self._out_spec, self._names = in_spec, out_spec, list(names)
        forward = _with_names(self._names, len(in_spec.children[0].children))
        if forward is not None:
            self.__class__ = type(type(self).__name__, (type(self),), {"forward": forward, "__module__": __name__})

    @property
    def graph(self) -> Graph:
        return self._graph_module.graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self._graph_module.graph = graph

    @property
    def code(self) -> str:
        """The generated Python of the graph."""
        return self._graph_module.code

    def recompile(self) -> None:
        """Forget the generated code: the graph has changed."""
        self._graph_module.recompile()

    def print_readable(self, print_output: bool = True) -> str:
        """The graph as text, with types and the user's lines; printed unless told otherwise."""
        return self._graph_module.print_readable(print_output)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the program. Raises ValueError for arguments that are not nested as those of the capture."""
        names = self._names
        if not self.flat and (len(args) + len(kwargs) != len(names) or any(name not in names[len(args) :] for name in kwargs)):
            raise ValueError(f"The program takes the arguments {names}, and was given {len(args)} and the keywords {list(kwargs)}")
        return super().__call__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.flat:
            return self._run(*args)
        return self._result(self._run(*self._leaves(args, kwargs)))

    def _leaves(self, args: tuple, kwargs: dict) -> list:
        """What the graph takes, of the arguments."""
        leaves, spec = pytree.flatten((args, kwargs))
        if spec != self._in_spec:
            leaves = self._reordered(args, kwargs)
        if self._check is not None:
            self._check(leaves)
        return leaves

    def _run(self, *leaves: Any) -> Any:
        return self._graph_module(*leaves)

    def _result(self, outputs: Any) -> Any:
        """What the graph gave, in the structure of the result."""
        return pytree.unflatten(list(outputs), self._out_spec)

    def _reordered(self, args: tuple, kwargs: dict) -> list:
        """The leaves of arguments given in another way: keywords in another order, or positional ones by name."""
        positional, keywords = self._in_spec.children
        top = self._names
        given = dict(zip(top, args))
        for key, value in kwargs.items():
            if key in given or key not in top:
                raise ValueError(f"an unexpected keyword argument '{key}': the program takes {top}")
            given[key] = value
        if len(args) > len(top) or set(given) != set(top):
            raise ValueError(f"the exported program takes {len(top)} arguments {top}, and was given {len(args) + len(kwargs)}")
        specs = [*positional.children, *keywords.children]
        leaves: list = []
        for name, spec in zip(top, specs):
            found, shape = pytree.flatten(given[name])
            if shape != spec:
                raise ValueError(f"the argument {name} has the structure {shape}, and was exported with {spec}")
            leaves += found
        return leaves

    def in_core_ops(self, decompositions: dict | None = None) -> ExportedModule:
        """The same program in core ops (and what `decompositions` make of those)."""
        level = TraceLevel(Graph(), decompositions, functionalize=False)
        level.graph.shape_env = self.graph.shape_env
        old = self.graph
        inputs = []
        for node in old.placeholders:
            val = node.meta.get("val")
            tracer = level.placeholder(node.name, val) if type(val) is Meta else level.graph.placeholder(node.name, val=val)
            inputs.append(tracer)
        with opened(level), traceback.preserve_node_meta():
            outputs = Retraced(self._graph_module, level, names=True).run(*inputs)
        level.graph.output(tuple([level.payload_of(o) if isinstance(o, Tensor) else o for o in outputs]))
        made = ExportedModule(self._class_name)
        made.__dict__["_parameters"], made.__dict__["_buffers"] = self._parameters, self._buffers
        made.__dict__["_modules"], made.constants = self._modules, dict(self.constants)
        made.__dict__["_non_persistent_buffers_set"] = self._non_persistent_buffers_set
        for name, tensor in {**self.constants, **level.constants}.items():
            made.constants[name] = tensor
            object.__setattr__(made, name, tensor)
        made.finish(level.graph, self._in_spec, self._out_spec, self._names)
        made._check = self._check
        return made

    def _get_name(self) -> str:
        return self._class_name

    def __deepcopy__(self, memo: dict) -> ExportedModule:
        made = memo[id(self)] = ExportedModule(self._class_name)
        graph = Graph()
        graph.shape_env = self.graph.shape_env
        graph.output(graph.graph_copy(self.graph, {}))
        made.__dict__.update(copy.deepcopy(self._state(), memo))
        made._check = self._check
        made.finish(graph, self._in_spec, self._out_spec, self._names)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _made_again, (printer.text(self.graph), self._in_spec, self._out_spec, self._names, self._state())

    def _state(self) -> dict[str, Any]:
        """All but the graph, and the check, which belongs to an ExportedProgram."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_graph_module", "_check")}


def _made_again(text: str, in_spec: pytree.Spec, out_spec: pytree.Spec, names: list[str], state: dict) -> ExportedModule:
    """What a pickled ExportedModule is read back by."""
    made = ExportedModule()
    made.__dict__.update(state)
    made.finish(reader.parse(text), in_spec, out_spec, names)
    return made


def _with_names(names: list[str], positional: int) -> Callable | None:
    """A `forward` whose parameters have the names of the arguments; None where they are no names."""
    if len(set(names)) < len(names) or any(not n.isidentifier() or keyword.iskeyword(n) or n == "self" for n in names):
        return None
    args = "".join(f"{n}, " for n in names[:positional])
    kwargs = ", ".join(f"{n!r}: {n}" for n in names[positional:])
    text = (
        f"def forward(self, {', '.join(names)}):\n"
        f"    if self.flat:\n        return self._run({', '.join(names)})\n"
        f"    return self._result(self._run(*self._leaves(({args}), {{{kwargs}}})))\n"
    )
    scope: dict[str, Any] = {"__name__": __name__}
    exec(text, scope)
    return scope["forward"]


# ------------------------------------------------ while something is captured: the graph goes into the new one
@trace_rules.handle(ExportedModule._leaves)
def _traced_leaves(frame: Any, args: list, kwargs: dict) -> Any:
    from dynamo.higher_order import flatten  # (tracing loads when something is traced)

    me = args[0].realize(frame)
    leaves, spec = flatten(frame, frame.values.tuple_(args[1:]))
    if spec != me.value._in_spec:
        raise me.unsupported("a call with arguments of another structure than it was exported with,")
    return frame.values.list_(leaves)


@trace_rules.handle(ExportedModule._run)
def _traced_run(frame: Any, args: list, kwargs: dict) -> Any:
    generated = args[0].realize(frame).value._graph_module.generated()
    return frame.world.known(generated.forward or generated.compile()).call(frame, args, {})


@trace_rules.handle(ExportedModule._result)
def _traced_result(frame: Any, args: list, kwargs: dict) -> Any:
    from dynamo.higher_order import unflatten

    return unflatten(frame, args[1].unpack(frame), args[0].realize(frame).value._out_spec)
