"""Run a captured graph on Tracers: a functional graph of core ops, with its gradients behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, settings
from aten._native import Tensor
from aten.aot.data import Constant, Fresh, InputAlias, Output, OutputView, Size, ViewOf, tangent_strides
from aten.aot.exact import ExactLevel
from aten.aot.form import Form
from aten.aot.replay import differentiates, replay
from aten.aot.simplify import simplify
from aten.fx.cleanup import cleanup, dce
from aten.fx.emit import emit
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.fx.targets import is_op
from aten.meta import Meta, dense_strides
from aten.op import Op
from aten.records import field, record
from aten.symbolic.nodes import Expr, as_expr
from aten.symbolic.shape_env import ShapeEnv
from aten.symbolic.symint import SYMBOLIC
from aten.transforms.trace import Rng, TraceLevel
from aten.transforms.tracer import CUT, Tracer, opened


@record
class Joint:
    """One graph: placeholders (primals, seed and offset, tangents) → ((fresh...), (new values...), (gradients...))."""

    graph: Graph
    constants: dict[str, Tensor]
    outputs: tuple[Output, ...]
    mutated: tuple[int, ...]
    writes: tuple[int, ...] = ()
    grad_inputs: tuple[int, ...] = ()
    differentiable: tuple[int, ...] = ()
    n_primals: int = 0
    tangents: list[Node] = field(default_factory=list)
    rng_counters: Expr | int = 0
    own_derivatives: bool = False  # whether an autograd.Function gave gradients that are not those of its operations
    refused: bool = False  # whether eager refuses to give some of its gradients

    def parts(self) -> tuple[tuple, tuple, tuple]:
        """(fresh outputs, new values, gradients) as nodes."""
        return self.graph.output_node.args[0]


def trace_joint(
    gm: GraphModule,
    needs_grad: Sequence[bool],
    decompositions: dict[Op, Callable] | None,
    metas: Sequence[Any],
    forms: Sequence[Form | None] | None = None,
    plain: bool = True,
) -> Joint:
    """The joint graph of `gm` for inputs with these Metas (or numbers); needs_grad says which inputs want gradients.

    forms: of each differentiable output the form of its gradient, None for one that gets none; by default each has one
    that is laid out as the output. plain: False where ops may mean something else (those of wrappers), so that none is
    left out or replaced.
    """
    graph = Graph()
    graph.shape_env = gm.shape_env or ShapeEnv()
    training = any(needs_grad) or differentiates(gm.graph)
    level = (ExactLevel if settings.exact else TraceLevel)(graph, decompositions, functionalize=True, joint=True)
    level.rng = Rng(graph.shape_env)
    inputs: list[Any] = []
    for ph, meta in zip(gm.graph.placeholders, metas):
        if type(meta) is Meta:
            tracer = level.placeholder(ph.name, Meta(meta.dtype, meta.device, meta.sizes, meta.strides, meta.offset))
            tracer.payload.meta["val"] = meta
            inputs.append(tracer)
        else:
            graph.placeholder(ph.name, val=meta)
            inputs.append(meta)
    first = [t.payload if isinstance(t, Tracer) else None for t in inputs]
    if training:
        for tracer, need in zip(inputs, needs_grad):
            if need and isinstance(tracer, Tracer):
                level.leaf(tracer)
    before = _native.set_grad_enabled(training)
    try:
        with opened(level):
            results = replay(gm, inputs, level)
    finally:
        _native.set_grad_enabled(before)
    graph.line = None
    mutated = tuple([i for i, t in enumerate(inputs) if first[i] is not None and level.read(t) is not first[i]])
    plan = _OutputPlan(level, inputs, results)
    outputs = tuple(map(plan.output, results))
    fresh = plan.fresh
    new_values = [level.read(inputs[i]) for i in mutated]
    writes = tuple([inputs[i]._version for i in mutated])
    joint = Joint(
        graph,
        level.constants,
        outputs,
        mutated,
        writes,
        n_primals=len(first),
        rng_counters=as_expr(level.rng.counters) if level.rng.seed is not None else 0,
        own_derivatives=level.own_derivatives,
    )
    grads: list[Any] = []
    if training:
        captured = set(graph.nodes)
        grads = _backward(joint, level, first, needs_grad, [*fresh, *new_values], forms)
        for node in graph.nodes:
            if node not in captured:
                node.meta["derived"] = True
    joint.refused = level.refused
    level.history.clear()
    graph.output((tuple(fresh), tuple(new_values), tuple(grads)))
    dce(graph)
    made = [_made(n) if training else None for n in fresh]
    unread = {n for n in made if n is not None and _only_given(graph, n)}
    if plain:
        cleanup(graph)
        if not settings.exact and simplify(graph):
            cleanup(graph)
    _separate_outputs(graph, made, unread)
    return joint


_OVERLAPPING = frozenset({"expand", "as_strided", "unfold"})  # views whose elements may share memory


class _OutputPlan:
    """Says of each result of the captured graph where a caller gets it from; `fresh` are the forward's own outputs."""

    def __init__(self, level: TraceLevel, inputs: list[Any], results: Sequence[Any]):
        self.level = level
        tensors = {id(t): t for t in results if isinstance(t, Tracer) and level.own(t)}.values()
        self.shared = Counter(id(t.cell) for t in tensors)
        self.inputs = {id(t): i for i, t in enumerate(inputs) if isinstance(t, Tracer)}
        self.cells: dict[int, tuple[Fresh | InputAlias, Tracer]] = {
            id(t.cell): (InputAlias(i), t) for i, t in enumerate(inputs) if isinstance(t, Tracer) and t.cell
        }
        self.seen: dict[int, Output] = {}
        self.fresh: list[Node] = []
        self.alive: list[Any] = inputs

    def output(self, value: Any) -> Output:
        """The plan of one result."""
        if type(value) in SYMBOLIC:
            return Size(value.expr)
        if not isinstance(value, Tensor):
            return Constant(value)
        if id(value) in self.inputs:
            return InputAlias(self.inputs[id(value)])
        found = self.seen.get(id(value))
        if found is None:
            self.alive.append(value)
            found = self.seen[id(value)] = self._tensor(value)
        return found

    def _tensor(self, value: Tensor) -> Output:
        if not self.level.own(value):  # a constant of the graph
            return self._add(self.level.payload_of(value))
        cell = value.cell
        if cell is None:
            return self._add(self.level.read(value))
        base = self.cells.get(id(cell))
        if base is None and self.shared[id(cell)] == 1 and not any(op.name in _OVERLAPPING for op, _ in value.chain):
            return self._add(self.level.read(value))  # a view, but nobody else sees its memory
        requires_grad = self.level.edge_of(self.level.read(value)) is not None
        if base is None and requires_grad and self.level.edge_of(cell.payload) is None:
            return self._add(self.level.read(value))  # a view of what an op made within, which has the op's history alone
        if base is None:
            made = self._add(cell.payload)
            base = self.cells[id(cell)] = (made, self.level.make(cell.payload, cell.meta))
            self.alive.append(cell)
        where, tensor = base
        if not value.chain:
            return where
        meta = value.meta
        if requires_grad and any(op.name in CUT for op, _ in value.chain):  # the history is not that of the memory
            return self._add(self.level.read(value))
        layout = (meta.sizes, meta.strides, meta.offset - tensor.meta.offset, value.chain, requires_grad)
        return ViewOf(where.input, *layout) if isinstance(where, InputAlias) else OutputView(where.index, *layout)

    def _add(self, node: Node) -> Fresh:
        self.fresh.append(node)
        return Fresh(len(self.fresh) - 1)


def _backward(
    joint: Joint,
    level: TraceLevel,
    first: list[Any],
    needs_grad: Sequence[bool],
    outputs: list[Node],
    forms: Sequence[Form | None] | None,
) -> list:
    """Write the backward walk into the graph: the gradients of the inputs, as nodes or None."""
    graph, history = joint.graph, level.history
    joint.grad_inputs = tuple([i for i, need in enumerate(needs_grad) if need])
    # An input whose writes are not recorded keeps its history: its new value is no output of autograd's.
    leaves = {node: history[node] for node in first if node in history}
    kept = {node for node in outputs[len(outputs) - len(joint.mutated) :] if history.get(node) in leaves.values()}
    joint.differentiable = tuple([i for i, node in enumerate(outputs) if node in history and node not in kept])
    pairs = []
    for k, i in enumerate(joint.differentiable):
        meta, form = outputs[i].meta["val"], forms[k] if forms is not None else None
        if form is None and forms is not None:
            continue
        strides = tangent_strides(meta, meta.sizes) if form is None else form.strides(meta.sizes)
        tangent = level.placeholder(f"tangent_{i}", Meta(meta.dtype, meta.device, meta.sizes, strides))
        joint.tangents.append(tangent.payload)
        pairs.append((outputs[i], tangent))

    before = _native.set_grad_enabled(False)
    level.derives = True
    try:
        with opened(level):
            grads = level.gradients(pairs, [first[i] for i in joint.grad_inputs], False)
    finally:
        _native.set_grad_enabled(before)
        graph.line = None
    return [None if g is None else level.payload_of(g) for g in grads]


def _root(node: Node) -> Node:
    """The node whose memory `node` shows."""
    while node.op == "call_function" and is_op(node.target) and node.target.kind == "view":
        node = node.args[0]
    return node


def _made(node: Node) -> Node:
    """The node that made the memory which `node` shows, past what gives its argument itself."""
    while True:
        node = _root(node)
        if not (is_op(node.target) and node.target.name in ("cast", "row_major") and node.meta["val"] == node.args[0].meta["val"]):
            return node
        node = node.args[0]


def _only_given(graph: Graph, node: Node) -> bool:
    """Whether nobody reads the node's memory but who gets the results."""
    pending = [node]
    while pending:
        for user in pending.pop().users:
            if user.op == "call_function" and is_op(user.target) and user.target.kind == "view":
                pending.append(user)
            elif user is not graph.output_node:
                return False
    return True


def _separate_outputs(graph: Graph, made: list[Node | None], unread: set[Node]) -> None:
    """No two outputs of the forward may share memory, nor share it with an input: the second is a clone, laid out as what
    it copies. So is one that has become another value, which backward may read: the caller may write into its own. (`made`: what
    made the memory of each as it was captured; `unread`: those that nobody read.)
    """
    fresh, new_values, grads = graph.output_node.args[0]
    taken: set[Node] = set()
    left = set(graph.nodes)

    def own(node: Node, made: Node | None = None) -> Node:
        root = _root(node)
        other = made is not None and (made not in left or made in unread) and not _only_given(graph, root)
        if root.op not in ("placeholder", "get_attr") and root not in taken and not other:
            taken.add(root)
            return node
        with graph.inserting_before(graph.output_node):
            copy = emit(graph, "clone", node, line=node.meta.get("line"))
        copy.meta["val"] = copy.meta["val"].like(strides=dense_strides(node.meta["val"]))
        return copy

    graph.output_node.args = ((tuple(map(own, fresh, made)), tuple(map(own, new_values)), grads),)


__all__ = ["Joint", "trace_joint"]
