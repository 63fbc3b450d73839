"""`export`: a call of a module as an ExportedProgram, a graph with its state that needs no Python of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from aten import Tensor, pytree
from aten.errors import ConstraintViolationError
from aten.fx import traceback
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.meta import Meta
from aten.op import registry
from aten.symbolic.evaluate import evaluate
from aten.symbolic.nodes import as_expr
from aten.symbolic.symint import SYMBOLIC
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import opened
from dynamo.exc import UserError, UserErrorType
from weft.export import constraints
from weft.export.capture import capture
from weft.export.dynamic_shapes import Dim
from weft.export.exported_module import ExportedModule
from weft.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from weft.export.retraced import Retraced
from weft.nn.module import Module
from weft.nn.parameter import Parameter

STATE = {InputKind.PARAMETER, InputKind.BUFFER}


def export(
    mod: Module,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    preserve_module_call_signature: tuple[str, ...] = (),
) -> ExportedProgram:
    """The call mod(*args, **kwargs) as a graph that takes tensors of these sizes, or of those that dynamic_shapes says.

    dynamic_shapes: for each argument, by name or in order, the sizes that may differ: {dim: Dim("batch")} or a list with a
    Dim or None for each dimension; lists, tuples and dicts of tensors by the like. strict: both ways capture the bytecode.
    Raises UserError (CONSTRAINT_VIOLATION) where the program works for fewer sizes than was said, UserError (INVALID_INPUT)
    where dynamic_shapes does not match the arguments, Unsupported where it cannot be captured whole.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        text = f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        raise UserError(UserErrorType.INVALID_INPUT, text)
    kwargs = kwargs or {}
    try:
        made = capture(mod, args, kwargs, dynamic_shapes)
    except ConstraintViolationError as e:
        raise UserError(UserErrorType.CONSTRAINT_VIOLATION, str(e)) from e
    core = made.module.in_core_ops()
    return lifted(core, made.traced, made.sizes, (args, kwargs), mod)


export_for_training = export


def lifted(module: ExportedModule, traced: Any, sizes: list, example_inputs: tuple, mod: Module) -> ExportedProgram:
    """The program of a captured module: its tensors become inputs of the graph."""
    leaves = pytree.flatten(example_inputs)[0]
    graph, mapping, inputs = Graph(), {}, []
    graph.shape_env = module.graph.shape_env
    saved = set(mod.state_dict())
    parameters = {name for name, _ in mod.named_parameters(remove_duplicate=False)}
    buffers = {name for name, _ in mod.named_buffers(remove_duplicate=False)}
    state: dict[str, Any] = dict(sorted(mod.state_dict(keep_vars=True).items(), key=lambda item: item[0] not in parameters))
    constants: dict[str, Any] = {}
    attributes = sorted(
        [n for n in module.graph.nodes if n.op == "get_attr"],
        key=lambda n: (n.target not in parameters, n.target not in buffers),
    )
    for node in attributes:
        kind = InputKind.PARAMETER if node.target in parameters else InputKind.CONSTANT_TENSOR
        kind = InputKind.BUFFER if node.target in buffers else kind
        prefix = {InputKind.PARAMETER: "p_", InputKind.BUFFER: "b_", InputKind.CONSTANT_TENSOR: "c_"}[kind]
        mapping[node] = graph.placeholder(prefix + node.target.replace(".", "_"), val=node.meta["val"])
        persistent = node.target in saved if kind is InputKind.BUFFER else None
        inputs.append(InputSpec(kind, TensorArgument(mapping[node].name), node.target, persistent))
        if kind is InputKind.CONSTANT_TENSOR or persistent is False:
            constants[node.target] = attribute(module, node.target)
    for node, leaf in zip(module.graph.placeholders, leaves):
        mapping[node] = graph.placeholder(node.name, val=node.meta.get("val"))
        name = mapping[node].name
        given = TensorArgument(name) if isinstance(leaf, Tensor) else ConstantArgument(name, leaf)
        inputs.append(InputSpec(InputKind.USER_INPUT, given))
    outputs = tuple(graph.graph_copy(module.graph, mapping))
    graph.output(outputs)
    signature = ExportGraphSignature(inputs, [OutputSpec(OutputKind.USER_OUTPUT, _argument(o)) for o in outputs])
    ranges = {n: r for n, r in constraints.ranges(traced, sizes).items() if n in traced.shape_env.ranges}
    structure = module._in_spec, module._out_spec, module._names
    names = {s.symbol: repr(s.dim) for s in sizes if s.symbol is not None and isinstance(s.dim, Dim)}
    return ExportedProgram(graph, signature, state, constants, ranges, structure, names, example_inputs)


def attribute(module: Any, name: str) -> Any:
    """The value under a dotted name."""
    for part in name.split("."):
        module = getattr(module, part)
    return module


def _argument(value: Any) -> TensorArgument | ConstantArgument:
    return TensorArgument(value.name) if isinstance(value, Node) else ConstantArgument("", value)


class UnexpectedInput(RuntimeError, AssertionError):
    """An argument that is not what the program was exported for."""


class ModuleCallSignature(NamedTuple):
    """How the arguments and the result of a module's call were nested."""

    inputs: list
    outputs: list
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = None


class ModuleCallEntry(NamedTuple):
    """A call of the module at the path `fqn`. `signature`: that of the program, for the outermost."""

    fqn: str
    signature: ModuleCallSignature | None = None


class ExportedProgram:
    """A graph of core ops, with the state and the constants that it takes before the arguments.

    graph_signature: what each input and output is. state_dict: parameters and buffers. constants: other tensors.
    range_constraints: symbol of a size → (least, greatest). example_inputs: (args, kwargs) of the captured call.
    """

    def __init__(
        self,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        constants: dict[str, Any],
        range_constraints: dict[str, tuple],
        structure: tuple[pytree.Spec, pytree.Spec, list[str]],
        symbol_names: dict[str, str] | None = None,
        example_inputs: tuple | None = None,
    ):
        self.graph_module = GraphModule(None, graph)
        self.graph_signature = graph_signature
        self.state_dict = state_dict
        self.constants = constants
        self.range_constraints = range_constraints
        self.structure = structure
        self.symbol_names = symbol_names or {}
        self.example_inputs = example_inputs

    @property
    def graph(self) -> Graph:
        return self.graph_module.graph

    @property
    def tensor_constants(self) -> dict[str, Any]:
        return self.constants

    @property
    def call_spec(self) -> pytree.Spec:
        """How the arguments were nested: (args, kwargs)."""
        return self.structure[0]

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The calls of modules that have operations in the graph, the program's own first."""
        in_spec, out_spec, names = self.structure
        specs = self.graph_signature.input_specs
        inputs = [s.arg for s in specs if s.kind is InputKind.USER_INPUT]
        outputs = [s.arg for s in self.graph_signature.output_specs if s.kind is OutputKind.USER_OUTPUT]
        calls = dict.fromkeys(key for n in self.graph.nodes for key in list(n.meta.get("nn_module_stack", {}))[1:])
        own = ModuleCallSignature(inputs, outputs, in_spec, out_spec, list(names))
        return [ModuleCallEntry("", own), *[ModuleCallEntry(key) for key in calls]]

    def validate(self) -> None:
        """Raise ValueError where the graph is not well formed, or does not fit the signature and the state."""
        self.graph.lint()
        specs = self.graph_signature.input_specs
        given = [n.name for n in self.graph.placeholders]
        if [s.arg.name for s in specs] != given:
            raise ValueError(f"the inputs of the graph are {given}, and the signature names {[s.arg.name for s in specs]}")
        for spec in specs:
            if spec.target is not None and spec.target not in self.state_dict and spec.target not in self.constants:
                raise ValueError(f"{spec.target} is an input of the graph, and neither in the state nor a constant")
        if len(self.graph_signature.output_specs) != len(self.graph.outputs):
            raise ValueError(f"the graph has {len(self.graph.outputs)} outputs, not those of the signature")

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) in the order of the graph's inputs."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def parameters(self) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) in the order of the graph's inputs."""
        for name in self.graph_signature.buffers:
            yield name, self.value(name)

    def buffers(self) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers():
            yield buffer

    def value(self, name: str) -> Any:
        """The parameter, buffer or constant of that name."""
        return self.state_dict[name] if name in self.state_dict else self.constants[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Unable to call ExportedProgram directly. You should use `exported_program.module()` instead.")

    def __str__(self) -> str:
        named = [(self.symbol_names.get(n, n), n, *ends) for n, ends in self.range_constraints.items()]
        ranges = ", ".join([f"{name} ({n}): {low} … {high}" for name, n, low, high in named])
        return f"ExportedProgram:\n{self.graph_module}\nRange constraints: {{{ranges}}}"

    __repr__ = __str__

    # ---------------------------------------------------------------------------------------------------- running
    def module(self, check_guards: bool = True) -> ExportedModule:
        """The program as a module: it has the parameters and buffers, and writes the buffers that the program writes.

        check_guards: calls raise UnexpectedInput (a RuntimeError) for tensors of other sizes than the program was exported for.
        """
        made = ExportedModule("ExportedModule")
        graph, mapping = Graph(), {}
        graph.shape_env = self.graph.shape_env
        specs = self.graph_signature.input_specs
        for node, spec in zip(self.graph.placeholders, specs):
            if spec.kind is InputKind.USER_INPUT:
                mapping[node] = graph.placeholder(node.name, val=node.meta.get("val"))
        for node, spec in zip(self.graph.placeholders, specs):
            if spec.kind is not InputKind.USER_INPUT:
                name = str(spec.target)
                made.put(name, self.value(name), spec.kind is InputKind.BUFFER, spec.persistent is not False)
                mapping[node] = graph.get_attr(name, val=node.meta.get("val"))
        for name, tensor in self.state_dict.items():  # what the program has no use for stays in the state
            made.put(name, tensor, not isinstance(tensor, Parameter), True)
        outputs = graph.graph_copy(self.graph, mapping)
        by_name = {n.name: n for n in self.graph.placeholders}
        targets = {str(s.target): n for n, s in zip(self.graph.placeholders, specs) if s.target is not None}
        result = []
        for value, output in zip(outputs, self.graph_signature.output_specs):
            if output.kind is OutputKind.USER_OUTPUT:
                result.append(value)
                continue
            target = targets[str(output.target)] if output.kind is OutputKind.BUFFER_MUTATION else by_name[str(output.target)]
            graph.call_function(registry["copy_"], (mapping[target], value), val=target.meta.get("val"))
        graph.output(tuple(result))
        in_spec, out_spec, names = self.structure
        made.finish(graph, in_spec, out_spec, names)
        if check_guards:
            made._check = self.check_inputs
        return made

    def check_inputs(self, leaves: list) -> None:
        """Raise UnexpectedInput where leaves of the arguments are not what the program was exported for."""
        nodes = [n for n, s in zip(self.graph.placeholders, self.graph_signature.input_specs) if s.kind is InputKind.USER_INPUT]
        specs = [s for s in self.graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
        symbols: dict[str, int] = {}
        for node, spec, leaf in zip(nodes, specs, leaves):
            meta = node.meta.get("val")
            if isinstance(spec.arg, ConstantArgument):
                if leaf is not spec.arg.value and leaf != spec.arg.value:
                    raise UnexpectedInput(f"Expected input {node.name} to be equal to {spec.arg.value!r}, but got {leaf!r}")
            elif type(meta) is Meta:
                self._check_tensor(node.name, meta, leaf, symbols)
        for guard in getattr(self.graph.shape_env, "guards", ()):
            if guard.expr.free_symbols <= symbols.keys() and not evaluate(guard.expr, symbols):
                raise UnexpectedInput(f"Expected sizes for which {guard.expr} holds, but got {symbols}")

    def _check_tensor(self, name: str, meta: Meta, leaf: Any, symbols: dict[str, int]) -> None:
        if not isinstance(leaf, Tensor):
            raise UnexpectedInput(f"Expected input {name} to be a tensor, but got {type(leaf).__name__}")
        if leaf.dtype is not meta.dtype or leaf.ndim != len(meta.sizes):
            wanted = f"{meta.dtype} with {len(meta.sizes)} dimensions"
            raise UnexpectedInput(f"Expected input {name} to be of {wanted}, but got {leaf.dtype} with {leaf.ndim}")
        for d, (size, given) in enumerate(zip(meta.sizes, leaf.shape)):
            where = f"input {name}.shape[{d}]"
            if type(size) not in SYMBOLIC:
                if size != given:
                    raise UnexpectedInput(f"Expected {where} to be equal to {size}, but got {given}")
                continue
            e = as_expr(size.expr)
            if e.op == "sym" and e.name not in symbols:
                low, high = self.range_constraints.get(e.name, (0, float("inf")))
                if not low <= given <= high:
                    limit = f">= {low}" if given < low else f"<= {high}"
                    raise UnexpectedInput(f"Expected {where} to be {limit}, but got {given}")
                symbols[e.name] = given
            elif e.free_symbols <= symbols.keys() and evaluate(e, symbols) != given:
                raise UnexpectedInput(f"Expected {where} to be equal to {evaluate(e, symbols)}, but got {given}")

    # ------------------------------------------------------------------------------------------- another program
    def run_decompositions(self, decomp_table: dict | None = None) -> ExportedProgram:
        """The same program without writes: new values of buffers and arguments are outputs of their own.

        decomp_table: {op: function} of ops to write in smaller ones.
        """
        level = TraceLevel(Graph(), decomp_table, functionalize=True)
        level.graph.shape_env = self.graph.shape_env
        inputs, before = [], []
        for node in self.graph.placeholders:
            val = node.meta.get("val")
            if type(val) is Meta:
                inputs.append(level.placeholder(node.name, val))
                before.append(inputs[-1].payload)
            else:
                inputs.append(level.graph.placeholder(node.name, val=val))
                before.append(inputs[-1])
        with opened(level), traceback.preserve_node_meta():
            outputs = Retraced(self.graph_module, level).run(*inputs)
        specs = self.graph_signature.input_specs
        found: list[tuple[Any, OutputSpec]] = []
        for spec, old, tracer in zip(specs, before, inputs):
            new = level.read(tracer) if isinstance(tracer, Tensor) else tracer
            if new is old:
                continue
            buffer = spec.kind is InputKind.BUFFER
            kind = OutputKind.BUFFER_MUTATION if buffer else OutputKind.USER_INPUT_MUTATION
            found.append((new, OutputSpec(kind, _argument(new), spec.target if buffer else spec.arg.name)))
        for o, spec in zip(outputs, self.graph_signature.output_specs):
            value = level.payload_of(o) if isinstance(o, Tensor) else o
            target = spec.target if spec.kind is not OutputKind.USER_OUTPUT else None
            found.append((value, OutputSpec(spec.kind, _argument(value), target)))
        level.graph.output(tuple([value for value, _ in found]))
        signature = ExportGraphSignature(self._renamed(specs, level.graph), [spec for _, spec in found])
        constants = {**self.constants, **level.constants}
        if level.constants:
            raise UserError(UserErrorType.INVALID_INPUT, "a decomposition brings tensors of its own")
        return ExportedProgram(
            level.graph, signature, self.state_dict, constants, self.range_constraints, self.structure, self.symbol_names,
            self.example_inputs,
        )  # fmt: skip

    def _renamed(self, specs: list[InputSpec], graph: Graph) -> list[InputSpec]:
        return [
            InputSpec(s.kind, s.arg._replace(name=node.name), s.target, s.persistent) for s, node in zip(specs, graph.placeholders)
        ]


__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "UnexpectedInput", "export", "export_for_training"]
