"""make_fx: run a function on Tracers that write what happens to them into a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from aten import _native, dispatch, pytree
from aten._native import Tensor
from aten.autograd import function
from aten.derivative import Missing, is_lost, is_of_missing
from aten.dispatch import needs_of
from aten.fx import traceback
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.meta import Meta
from aten.on_device import beside
from aten.op import Op, registry
from aten.symbolic.shape_env import ShapeEnv
from aten.symbolic.symint import SymInt
from aten.transforms.recorded import Edge, RecordingLevel
from aten.transforms.tracer import CUT, Cell, Tracer, any_wrapper, meta_argument, meta_of_call, opened, public, writes_of


class GraphTracer(Tracer):
    """Its payload is the Node."""

    __slots__ = ()
    transform = "make_fx"


class TraceLevel(RecordingLevel):
    """Records every core op in its extent into `graph`, and makes Nodes of those that depend on what requires grad.

    decompositions: {op: function of its core arguments} for ops that are to be recorded in smaller ones.
    functionalize: in-place ops become functional ones; without it they are recorded as they are.
    joint: gradients are of its Tracers alone, whatever tensors from outside require.
    """

    tracer_type = GraphTracer

    def __init__(
        self,
        graph: Graph,
        decompositions: dict[Op, Callable] | None = None,
        functionalize: bool = True,
        joint: bool = False,
    ):
        self.graph = graph
        graph.kept = traceback.kept()
        self.decompositions = {} if decompositions is None else decompositions
        self.functionalize = functionalize
        self.joint = joint
        self.history: dict[Any, Edge] = {}  # of payloads
        self.leaves: list[Tracer] = []
        self.derives = False  # whether backward is written into the graph now, with the lines of what it is of
        self.rng: Rng | None = None
        self.own_derivatives = False  # whether an autograd.Function was recorded
        # whether gradients are asked for that do not exist, or are of what a Node had kept and the program has written since
        self.refused = False
        self.constants: dict[str, Tensor] = {}
        self._lifted: dict[int, Tracer] = {}

    def wants(self, args: tuple) -> bool:
        return not any_wrapper(args)

    # ------------------------------------------------------------------------------------ history

    @property
    def line(self) -> Any:  # type: ignore[override]
        return self.graph.line

    def at(self, line: Any) -> None:
        if self.derives:
            self.graph.line = line

    def edge_of(self, payload: Any) -> Edge | None:
        return self.history.get(payload)

    def set_edge(self, payload: Any, edge: Edge | None) -> None:
        if edge is None:
            self.history.pop(payload, None)
        else:
            self.history[payload] = edge

    def takes(self, value: Any) -> bool:
        return self.own(value) if self.joint else isinstance(value, Tensor)

    def kept(self, saved: Any, node: Any) -> Tensor:
        self.refused = self.refused or saved.written() > 0
        return super().kept(saved, node)

    def derive(self, backward: Any, g: Any, saved: tuple) -> tuple:
        if not self.derives:
            return super().derive(backward, g, saved)
        try:
            found = super().derive(backward, g, saved)
        except (RuntimeError, NotImplementedError) as e:
            if not is_of_missing(e):
                raise
            self.refused = True
            return (None,) * len(backward.plan.wanted)
        lost = [type(x) is Missing for x in found]
        self.refused = self.refused or any(lost)
        return tuple([None if gone else x for gone, x in zip(lost, found)]) if any(lost) else found

    def leaf(self, t: Tracer) -> None:
        """Let the tensor be one that gradients are asked for."""
        self.set_edge(self.read(t), _native.gradient_edge(t.requires_grad_()))

    def _put(self, cell: Cell, chain: tuple, new: Tracer) -> Any:
        payload = super()._put(cell, chain, new)
        if any(op.name in CUT for op, _ in chain) and payload is not self.read(new):  # (the write is none of its history)
            self.set_edge(payload, self.edge_of(cell.payload))
        return payload

    def replaced_leaf(self, leaf: Tracer) -> None:
        edge, payload = self.history[leaf.payload], self.read(leaf)
        leaf._grad_fn = None
        leaf.requires_grad_()
        self.set_edge(payload, edge)

    # ------------------------------------------------------------------------------------ what is traced

    def placeholder(self, name: str, meta: Meta, requires_grad: bool = False) -> Tracer:
        """A new input."""
        return self.make(self.graph.placeholder(name, val=meta), meta, requires_grad)

    def lift(self, tensor: Tensor) -> Tracer:
        """A tensor from outside becomes an attribute of the GraphModule."""
        found = self._lifted.get(id(tensor))
        if found is None:
            name = f"_tensor_constant{len(self.constants)}"
            self.constants[name] = tensor
            meta = Meta.of(tensor)
            found = self._lifted[id(tensor)] = self.make(self.graph.get_attr(name, val=meta), meta)
        return found

    def payload_of(self, a: Any) -> Any:
        """An argument as it stands in a node: Nodes for tensors."""
        if isinstance(a, Tensor):
            if isinstance(a, Tracer) and a.level is self:
                return self.read(a)
            return self.lift(a).payload
        if type(a) is list or type(a) is tuple:
            return type(a)([self.payload_of(x) for x in a])
        return a

    def process(self, op: Op, args: tuple) -> Any:
        if op.name == "philox_reserve" and self.rng is not None:
            return self.rng.reserve(self.graph, *args)
        if op.traced_fn is not None:
            args = op.traced_fn(self, *args)
        metas = tuple([meta_argument(a) for a in args])
        if op.vjp_fn is None and op.decompose_fn is not None and self._differentiates(op, args, metas):
            with opened(self), beside(args):
                return op.decompose_fn(*args)  # whose ops have derivatives
        fn = self.decompositions.get(op)
        if fn is not None:
            result = self._decompose(op, fn, args, metas)
            if result is not NotImplemented:
                return result
        out_meta = op.rule(*metas)
        values = tuple([self.payload_of(a) for a in args])
        positional, keywords = op.split(values)
        node = self.graph.create_node("call_function", op, positional, keywords, None, out_meta)
        if type(out_meta) is tuple:
            out: Any = tuple(
                [
                    self.graph.create_node("call_function", operator.getitem, (node, i), None, None, m)
                    for i, m in enumerate(out_meta)
                ]
            )
            result = tuple([self.make(o, m) for o, m in zip(out, out_meta)])
        else:
            out, result = node, self.make(node, out_meta)
        if _native.is_grad_enabled():
            self.record(op, args, result)
        return public(op, result)

    def _differentiates(self, op: Op, args: tuple, metas: tuple) -> bool:
        return _native.is_grad_enabled() and needs_of(op, args, self.takes) is not None and is_lost(op, op.rule(*metas))

    def _decompose(self, op: Op, fn: Callable, args: tuple, metas: tuple) -> Any:
        """Trace smaller ops; the op itself is what is recorded, so that its own derivative is taken."""
        # (Views of what was written since are made again here, where that is recorded, not by the first of the smaller ops.)
        values = tuple([self.payload_of(a) for a in args])
        recording = _native.set_grad_enabled(False)
        try:
            with opened(self):
                result = fn(*args)
                if result is not NotImplemented:
                    result = _laid_out(result, op.rule(*metas))
                    if recording:  # (what was an argument has a history of its own)
                        result = pytree.map_leaves(lambda r: registry["alias"](r) if self.payload_of(r) in values else r, result)
        finally:
            _native.set_grad_enabled(recording)
        if result is not NotImplemented and recording:
            self.record(op, args, result)
        return result

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        if op.kind == "composite" and self.rng is None and "random" in op.tags:
            return self._random(op, op.join(args, kwargs))
        return super().handle(op, args, kwargs)

    def _random(self, op: Op, args: tuple) -> Any:
        """A random op stays whole where nobody gives the graph a seed and an offset."""
        meta = meta_of_call(op, args)
        positional, keywords = op.split(tuple([self.payload_of(a) for a in args]))
        return self.make(self.graph.create_node("call_function", op, positional, keywords, None, meta), meta)

    def call_function(self, cls: Any, args: tuple, kwargs: dict, asked: tuple, place: int) -> Any:
        """In a joint graph the Function itself is recorded, so that its own backward is taken."""
        tracked = tuple([self.joint and self.own(a) and a.requires_grad for a in args])
        if not (_native.is_grad_enabled() and any(tracked)):
            return NotImplemented
        result, ctx = function.forward(cls, args, kwargs, tuple([a or t for a, t in zip(asked, tracked)]))
        given = result if isinstance(result, tuple) else (result,)
        # (An output may be an argument as it came: its history is the call's from now on.)
        outputs = tuple([registry["alias"](o) if isinstance(o, Tensor) and any(o is a for a in args) else o for o in given])
        outputs = tuple([self.lift(o) if isinstance(o, Tensor) and not self.own(o) else o for o in outputs])
        self.own_derivatives = True
        self.record_function(cls, ctx, args, args, given, outputs)
        return (outputs if isinstance(result, tuple) else outputs[0]), ctx

    def write_op(self, op: Op, args: tuple) -> Any:
        target = args[0]
        if self.functionalize or not self.own(target):
            if not self.own(target) and isinstance(target, Tensor):
                raise RuntimeError(f"{op.name}: a tensor that is not an input of the traced function cannot be written in place")
            result = super().write_op(op, args)
            return result
        self.check_write(op, target)
        positional, keywords = op.split(tuple([self.payload_of(a) for a in args]))
        target.payload = self.graph.create_node("call_function", op, positional, keywords, None, target.meta)
        if target.cell is None:
            writes_of(target).count += 1
        return target


def _laid_out(result: Any, meta: Any) -> Any:
    """The results of a decomposition, row-major where the op's own are: what it is made of may keep another order."""
    if isinstance(result, tuple):
        return tuple([_laid_out(r, m) for r, m in zip(result, meta, strict=True)])
    return result.contiguous() if meta.is_contiguous() else result


class Rng:
    """Seed and offset of a graph's random ops: SymInt inputs, made when first needed. `counters`: those used so far."""

    def __init__(self, shape_env: Any):
        self.shape_env = shape_env
        self.seed: Any = None
        self.offset: Any = None
        self.counters: Any = 0

    def _symbol(self, name: str) -> Any:
        env = self.shape_env  # (which knows the name if the graph was traced before)
        return env.declare(name) if name in env.ranges else env.symbol(name, 0)

    def reserve(self, graph: Graph, counters: Any) -> tuple[Any, Any]:
        """(seed, first counter) of the next `counters` counters."""
        if self.seed is None:
            self.seed, self.offset = map(self._symbol, ("seed", "offset"))
            for value in (self.seed, self.offset):
                graph.placeholder(str(value), val=value)
        first = self.offset + self.counters
        self.counters = self.counters + counters
        return self.seed, first


class Symbols:
    """Gives sizes names: equal sizes share one, 0 and 1 stay numbers."""

    def __init__(self, shape_env: ShapeEnv | None = None):
        self.shape_env = ShapeEnv() if shape_env is None else shape_env
        self._by_value: dict[int, SymInt] = {}

    def size(self, value: int) -> Any:
        """The symbol of a size."""
        if type(value) is not int or value < 2:
            return value
        found = self._by_value.get(value)
        if found is None:
            found = self._by_value[value] = self.shape_env.symbol(f"s{len(self._by_value)}", value, lo=2)
        return found

    def meta(self, tensor: Tensor) -> Meta:
        """The Meta of a tensor with symbolic sizes; strides are products of sizes where they are so in the tensor."""
        meta = Meta.of(tensor)
        sizes = tuple(map(self.size, meta.sizes))
        strides: list[Any] = list(meta.strides)
        known: dict[int, Any] = {1: 1, 0: 0}
        for d in sorted(range(len(sizes)), key=lambda d: (meta.strides[d], -d)):
            value = meta.strides[d]
            strides[d] = known.get(value, value)
            known[value * meta.sizes[d]] = strides[d] * sizes[d]
        return Meta(meta.dtype, meta.device, sizes, strides, meta.offset, meta.requires_grad)


def make_fx(
    fn: Callable, decompositions: dict[Op, Callable] | None = None, symbolic: bool = False, functionalize: bool = False
) -> Callable[..., GraphModule]:
    """make_fx(fn)(*args) is the GraphModule of the core ops that fn runs on tensors like these.

    Tensors in `args` (nested in tuples, lists and dicts) become placeholders, in order; other arguments are kept as
    they are. With `symbolic` sizes other than 0 and 1 become symbols, and what fn decides by them is in
    `shape_env.guards`; ints among the arguments become SymInts too.
    """

    def trace(*args: Any) -> GraphModule:
        graph = Graph()
        level = TraceLevel(graph, decompositions, functionalize)
        symbols = Symbols() if symbolic else None
        graph.shape_env = symbols.shape_env if symbols else None
        leaves, spec = pytree.flatten(args)
        inputs = []
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                meta = symbols.meta(leaf) if symbols else Meta.of(leaf)
                leaf = level.placeholder(f"arg{i}", meta, leaf.requires_grad and leaf.is_leaf)
            elif symbols and type(leaf) is int:
                leaf = symbols.size(leaf)
                graph.placeholder(f"arg{i}", val=leaf)
            inputs.append(leaf)
        with opened(level):
            result = fn(*pytree.unflatten(inputs, spec))
        outputs, out_spec = pytree.flatten(result)
        values = [level.payload_of(r) for r in outputs]
        graph.output(values[0] if out_spec == pytree.LEAF else pytree.unflatten(values, out_spec))
        graph.eliminate_dead_code()
        return GraphModule(level.constants, graph)

    return trace


class inserting:
    """Within it ops on its tracers are added to `graph` in front of `before`.

    with inserting(graph, before=node) as tracers: new = tracers.node(aten.mul(tracers.value(a), 2))
    """

    def __init__(self, graph: Graph, before: Node | None = None, decompositions: dict[Op, Callable] | None = None):
        self.graph, self.before = graph, before
        self.level = TraceLevel(graph, decompositions)

    def __enter__(self) -> inserting:
        self.point = self.graph.inserting_before(self.before) if self.before is not None else None
        self.line, self.graph.line = self.graph.line, None
        if self.before is not None:
            self.graph.line = self.before.meta.get("line")
        dispatch.push_level(self.level)
        return self

    def __exit__(self, *exc: Any) -> None:
        dispatch.pop_level()
        self.graph.line = self.line
        if self.point is not None:
            self.point.__exit__(*exc)

    def value(self, a: Any) -> Any:
        """The Tracer of a node (in lists and tuples too); anything else as it is."""
        if type(a) is Node:
            val = a.meta["val"]
            return self.level.make(a, val) if type(val) is Meta else val
        if type(a) in (list, tuple):
            return type(a)(map(self.value, a))
        return a

    def node(self, a: Any) -> Any:
        """The inverse: the node of a Tracer."""
        return self.level.payload_of(a)
