"""Capturing a call whole: `capture`, and `weft._dynamo.export`, which gives the graph as a module."""

from __future__ import annotations

import builtins
import functools
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from aten import Tensor, pytree
from aten.collection import paused_collection
from aten.errors import ConstraintViolationError
from aten.fx.graph import Graph
from aten.fx.node import Node
from aten.meta import Meta, contiguous_strides
from aten.symbolic.symint import SYMBOLIC
from dynamo import config
from dynamo._eval_frame import CompiledFunction
from dynamo.exc import TorchRuntimeError, UserError, UserErrorType
from dynamo.options import Options
from dynamo.outcome import Traced
from dynamo.source import Scope, Size
from weft.export import constraints
from weft.export.dynamic_shapes import Dim
from weft.export.exported_module import ExportedModule
from weft.export.recipes import Evaluator, Leaf, Out
from weft.export.trees import in_order, leaf_names, said_of_tensors
from weft.nn.module import Module


class ExportResult(NamedTuple):
    """What `weft._dynamo.export(f)(*args)` gives."""

    graph_module: ExportedModule
    guards: list


class Captured(NamedTuple):
    """A call captured whole: `module(*args, **kwargs)` runs it. `sizes`: what was said of sizes, by symbol."""

    module: ExportedModule
    traced: Traced
    sizes: list[constraints.Sized]


def _caller(fn: Callable) -> types.FunctionType:
    def exported(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return exported


def innermost(fn: Any) -> Any:
    """The function or module itself, where it is compiled."""
    if isinstance(fn, CompiledFunction):
        return fn.__wrapped__
    return getattr(fn, "_orig_mod", fn) if isinstance(fn, Module) else fn


def capture(
    fn: Any, args: tuple, kwargs: dict, dynamic_shapes: Any = None, static: bool = True, keep_empty: bool = True
) -> Captured:
    """fn(*args, **kwargs) as one graph.

    static: sizes of which nothing is said are constants; else all sizes but 0 and 1 are symbols. Raises Unsupported where
    the program cannot be captured whole, ConstraintViolationError where it works for fewer sizes than was said.
    """
    fn = innermost(fn)
    if not callable(fn):
        raise TypeError(f"export takes a function or Module, not {type(fn).__name__}")
    said = said_of_tensors(fn, args, kwargs, dynamic_shapes)
    caller = _caller(fn)
    marks = _marks(said)
    traced = _trace(fn, caller, args, kwargs, marks, static)
    if traced.graph is None and not keep_empty:
        why = "no tensor operations were found and same_signature is False."
        raise AssertionError(f"Failed to produce a graph during tracing as {why}")
    scope = Scope.of_function(caller, {"args": args, "kwargs": kwargs})
    sizes = _sized(traced, said, scope, fn, args, kwargs)
    constraints.check(traced, sizes)
    return Captured(_module(fn, caller, traced, args, kwargs, marks), traced, sizes)


def _marks(said: list[tuple[Tensor, dict]]) -> dict[int, dict[int, tuple]]:
    """id of a tensor → {dim: (least, greatest size)} of the sizes that are to be symbols."""
    found: dict[int, dict[int, tuple]] = {}
    for tensor, dims in said:
        marks = found.setdefault(id(tensor), {})
        for d, dim in dims.items():
            if dim is not Dim.STATIC:
                marks[d] = (0, None)
    return found


def _trace(fn: Any, caller: types.FunctionType, args: tuple, kwargs: dict, marks: dict, static: bool) -> Traced:
    from dynamo.interpreter import trace_frame  # (the tracer loads when something is traced)

    options = Options(fullgraph=True, dynamic=None if static else True, keep_empty=True, export=True)
    owner = fn if isinstance(fn, Module) else getattr(fn, "__self__", None)
    modules = list(owner.named_modules(remove_duplicate=False)) if isinstance(owner, Module) else []
    state: dict[str, Any] = {"marks": marks, "modules": {id(module): path for path, module in reversed(modules)}}
    with config.patch(specialize_int=True, specialize_float=True), paused_collection():
        traced = trace_frame(
            caller.__code__, caller, {"args": args, "kwargs": kwargs}, caller.__globals__, builtins.__dict__,
            caller.__closure__ or (), options, state,
        )  # fmt: skip
    if not isinstance(traced, Traced):
        raise TorchRuntimeError(f"the program cannot be exported: {traced.reason}")
    traced.shape_env.user_line = None
    return traced


def _sized(traced: Traced, said: list, scope: Scope, fn: Any, args: tuple, kwargs: dict) -> list[constraints.Sized]:
    names = leaf_names(fn, args, kwargs)
    leaves = pytree.flatten((args, kwargs))[0]
    found = []
    for tensor, dims in said:
        name = next((n for n, leaf in zip(names, leaves) if leaf is tensor), "tensor")
        for d, dim in dims.items():
            if dim is not Dim.STATIC:
                symbol = constraints.symbol_of(traced, tensor, d, scope)
                used = symbol is not None or _is_read(traced, tensor)
                hint = int(tensor.shape[d])
                if used:
                    found.append(constraints.Sized(dim, symbol, hint, f"{name}.shape[{d}]"))
    return found


def _is_read(traced: Traced, tensor: Any) -> bool:
    return any(value is tensor for value in traced.example_inputs)


# -------------------------------------------------------------------------------------------- from outcome to module
def _module(fn: Any, caller: types.FunctionType, traced: Traced, args: tuple, kwargs: dict, marks: dict) -> ExportedModule:
    """The captured graph with a placeholder for each leaf of (args, kwargs) and attributes for all other inputs."""
    leaves, in_spec = pytree.flatten((args, kwargs))
    stand_ins = pytree.unflatten([Leaf(i) for i in range(len(leaves))], in_spec)
    scope = Scope.of_function(caller, {"args": stand_ins[0], "kwargs": stand_ins[1]})
    result = Evaluator(scope).result(traced)
    found, out_spec = pytree.flatten(result)
    module = ExportedModule(type(fn).__name__ if isinstance(fn, Module) else getattr(fn, "__name__", "exported"))
    graph = Graph()
    graph.shape_env = traced.shape_env
    captured = traced.graph.graph if traced.graph is not None else None
    inputs = _inputs_by_leaf(traced, scope, leaves)
    metas = {i: node.meta.get("val") for node, i in inputs.items()}
    names = leaf_names(fn, args, kwargs)
    unused = UnusedInputs(traced, scope, marks)
    nodes = []
    for i, (name, leaf) in enumerate(zip(names, leaves)):
        nodes.append(graph.placeholder(name, val=metas[i] if i in metas else unused.meta(i, leaf)))
    attributes = Attributes(fn, module, graph)
    mapping: dict[Node, Any] = {}
    outputs: tuple = ()
    if captured is not None:
        for node, value in zip(captured.placeholders, traced.example_inputs):
            mapping[node] = nodes[inputs[node]] if node in inputs else attributes.node(value, node)
        outputs = tuple(graph.graph_copy(captured, mapping))
        for name, inner in traced.graph.named_children():  # what cond and the like choose from
            object.__setattr__(module, name, inner)
    given = [_output(part, nodes, outputs, attributes) for part in found]
    graph.output(tuple(given))
    module.finish(graph, in_spec, out_spec, in_order(fn, args, kwargs))
    return module


class UnusedInputs:
    """What is known of leaves that are no inputs of the captured graph: sizes may have been read, or may differ all the same."""

    def __init__(self, traced: Traced, scope: Scope, marks: dict):
        self.env, self.marks = traced.shape_env, marks
        self.symbols: dict[tuple[int, int], str] = {}  # (leaf, dim) → symbol
        for name, source in traced.symbols.items():
            stand_in = source.base.get(scope) if isinstance(source, Size) else None
            if isinstance(stand_in, Leaf):
                self.symbols[stand_in.index, source.key] = name

    def meta(self, index: int, leaf: Any) -> Meta | None:
        if not isinstance(leaf, Tensor):
            return None
        sizes: list[Any] = list(leaf.shape)
        for d in range(leaf.ndim):
            name = self.symbols.get((index, d))
            if name is None and d in self.marks.get(id(leaf), ()):
                name = f"s{len(self.env.ranges)}"
                self.env.symbol(name, sizes[d])
            if name is not None:
                sizes[d] = self.env.declare(name)
        strides = contiguous_strides(sizes) if leaf.is_contiguous() else leaf.stride()
        return Meta(leaf.dtype, leaf.device, tuple(sizes), tuple(strides), leaf.storage_offset(), leaf.requires_grad)


def _inputs_by_leaf(traced: Traced, scope: Scope, leaves: list) -> dict[Node, int]:
    """Placeholders of the captured graph that are leaves of the arguments."""
    found: dict[Node, int] = {}
    if traced.graph is None:
        return found
    for node, source, value in zip(traced.graph.graph.placeholders, traced.inputs, traced.example_inputs):
        try:
            stand_in = source.get(scope)
        except (AttributeError, TypeError, KeyError, IndexError):  # it is made of a leaf
            stand_in = None
        if isinstance(stand_in, Leaf):
            found[node] = stand_in.index
        elif not isinstance(value, Tensor):
            raise UserError(
                UserErrorType.INVALID_INPUT,
                f"{source} is of type {type(value).__name__}: an exported program takes tensors, constants, and tuples, lists, "
                "dicts and registered dataclasses of them",
            )
    return found


def _output(part: Any, nodes: list[Node], outputs: tuple, attributes: Attributes) -> Any:
    if isinstance(part, Leaf):
        return nodes[part.index]
    if isinstance(part, Out):
        return outputs[part.index]
    if isinstance(part, Tensor):
        return attributes.node(part, None)
    if part is None or type(part) in (bool, int, float, complex, str, bytes) or type(part) in SYMBOLIC:
        return part
    if getattr(type(part), "__module__", "").partition(".")[0] in ("aten", "weft"):  # dtypes, devices
        return part
    raise UserError(
        UserErrorType.INVALID_OUTPUT,
        f"it found a {type(part)} in the result, which is not a known type: an exported program returns tensors, constants, and "
        "tuples, lists, dicts and registered dataclasses of them",
    )


class Attributes:
    """The tensors that a captured graph finds in the module or in the world: attributes of the exported one."""

    def __init__(self, fn: Any, module: ExportedModule, graph: Graph):
        self.module, self.graph = module, graph
        self.nodes: dict[int, Node] = {}
        self.names: dict[int, str] = {}
        owner = fn if isinstance(fn, Module) else getattr(fn, "__self__", None)
        if isinstance(owner, Module):
            for named in (owner.named_buffers, owner.named_parameters):
                self.names.update({id(t): name for name, t in named(remove_duplicate=False)})
            self.buffers = {id(t) for t in owner.buffers()}
            self.saved = set(owner.state_dict(keep_vars=True)) if self.names else set()
        else:
            self.buffers, self.saved = set(), set()

    def node(self, tensor: Any, placeholder: Node | None) -> Node:
        known = self.nodes.get(id(tensor))
        if known is not None:
            return known
        if not isinstance(tensor, Tensor):
            raise UserError(UserErrorType.INVALID_INPUT, f"a {type(tensor).__name__} from outside of the exported program")
        name = self.names.get(id(tensor))
        if name is None:
            name = f"_tensor_constant{sum(n.startswith('_tensor_constant') for n in self.module.constants)}"
            self.module.constants[name] = tensor
        self.module.put(name, tensor, id(tensor) in self.buffers, name in self.saved)
        val = placeholder.meta.get("val") if placeholder is not None else Meta.of(tensor)
        with self.graph.inserting_after(self.last_input()):
            made = self.nodes[id(tensor)] = self.graph.get_attr(name, val=val)
        return made

    def last_input(self) -> Node | None:
        inputs = [n for n in self.graph.nodes if n.op in ("placeholder", "get_attr")]
        return inputs[-1] if inputs else None


# -------------------------------------------------------------------------------------------------- weft._dynamo.export
def export(
    f: Callable,
    *extra_args: Any,
    aten_graph: bool = False,
    pre_dispatch: bool = False,
    decomposition_table: dict | None = None,
    tracing_mode: str = "symbolic",
    dynamic_shapes: Any = None,
    specialize_float: bool = True,
    assume_static_by_default: bool = False,
    same_signature: bool = True,
    disable_constraint_solver: bool = False,
    **extra_kwargs: Any,
) -> Any:
    """export(f)(*args, **kwargs) → (graph_module, guards): the call captured whole, as a module of the same signature.

    Sizes are symbols (not with assume_static_by_default); of those that dynamic_shapes names, by argument, the program may
    take none for granted. aten_graph: in core ops (decomposition_table: {op: function} on top), whatever the tracing_mode.
    Without same_signature the module takes the leaves of the arguments and gives those of the result.
    Raises Unsupported where the program cannot be captured whole, ConstraintViolationError where it works for fewer sizes
    than dynamic_shapes says, AssertionError where it changes a module's attributes.
    """
    if decomposition_table is not None and not aten_graph:
        raise AssertionError("Specifying a decomposition_table table or tracing mode is illegal without setting aten_graph=True")
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Unexpected tracing type: {tracing_mode}")
    if pre_dispatch and not aten_graph:
        raise AssertionError("pre_dispatch=True can only be used when aten_graph=True")

    def exported(*args: Any, **kwargs: Any) -> ExportResult:
        made = capture(f, args, kwargs, dynamic_shapes, assume_static_by_default, keep_empty=same_signature)
        module = made.module
        if aten_graph:
            module = module.in_core_ops(decomposition_table)
        if not same_signature:
            module.flat = True
        return ExportResult(module, list(made.traced.guards) + list(made.traced.shape_env.guards))

    if extra_args or extra_kwargs:
        warnings.warn("export(f, *args) is deprecated: write export(f)(*args)", FutureWarning, stacklevel=2)
        return exported(*extra_args, **extra_kwargs)
    return functools.wraps(f, updated=())(exported) if isinstance(f, types.FunctionType) else exported


__all__ = ["Captured", "ConstraintViolationError", "ExportResult", "capture", "export"]
