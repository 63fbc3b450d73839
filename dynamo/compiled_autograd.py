"""Compiled autograd: a backward walk as a graph, which a compiler is given once for all walks of the same form.

The ops' derivatives and the sums of gradients are nodes, hooks of tensors between them are calls of functions that are inputs of
the graph, and so is what only Python or another Program can run (the Node itself). Leaves get their gradients behind the graph.
"""

from __future__ import annotations

import _operator as operator
import contextlib
import heapq
from collections.abc import Callable, Iterator
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd.engine import fit, is_edge, walks
from aten.autograd.record import Backward
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.targets import LateHook
from aten.meta import Meta
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import Tracer, opened
from dynamo import breaks, trace_rules
from dynamo.breaks import Unsupported
from dynamo.polyfills.hooks import call_hook
from dynamo.variables.tensor import wrap_result
from dynamo.variables.unknown import UnknownVariable


def run_node(node: Any, grads: list, layouts: tuple) -> tuple:
    """What a Node that is no op gives: a compiled backward, a Function of the user. layouts: (sizes, dtype, device) of each
    gradient, which is zeros where there is none; None for what nobody wants."""
    found = node.backward(node, tuple(grads))
    return tuple([None if like is None else _whole(g, *like) for g, like in zip(found, layouts)])


def _whole(grad: Tensor | None, sizes: tuple, dtype: Any, device: Any) -> Tensor:
    return _native.empty(sizes, dtype, device).zero_() if grad is None else grad.contiguous()


@trace_rules.handle(run_node)
def _run_node(frame: Any, args: list, kwargs: dict) -> Any:
    """A node of the graph that is given the Node as it is."""
    node, grads, layouts = args
    output = frame.output
    node = node.realize(frame)
    if node.source is None or not isinstance(node, UnknownVariable):
        raise Unsupported(breaks.UNKNOWN_CALL, "a Node of autograd that the program has made")
    known = layouts.as_python()
    val = tuple([None if like is None else Meta.contiguous(*like) for like in known])
    given = [g.as_arg() for g in grads.unpack(frame)]
    stand_in = output.add_input(node.source, node.value, None)
    output.recorded = True
    made = output.graph.call_function(run_node, (stand_in, given, known), {}, val=val)
    made.meta["whole"] = True
    return wrap_result(frame, made, val)


class Form:
    """A walk: its Nodes in order, and what a graph of it is given. `key` is the same for walks of one form."""

    def __init__(self, outs: tuple, seeds: tuple):
        self.roots = [out if is_edge(out) else _native.gradient_edge(out) for out in outs]
        self.nodes = _in_order([node for node, _ in self.roots])
        self.number = {node: i for i, node in enumerate(self.nodes)}
        self.leaves = [n for n in self.nodes if n.backward is None]
        self.tensors: list[Any] = list(seeds)
        self.objects: list[Any] = []  # hooks and Nodes
        self.kept: dict[Any, Any] = {}  # Node → what it has saved
        key: list[Any] = [tuple((self.number[node], nr) for node, nr in self.roots)]
        for node in self.nodes:
            key.append(tuple((-1 if n is None else self.number[n], nr) for n, nr in node.next_functions))
            self.objects += [hook.function if isinstance(hook, LateHook) else hook for _, hook in node._pre_hooks]
            key.append((node.name(), tuple(nr for nr, _ in node._pre_hooks), *self._take(node)))
        self.key = (*key, *map(_known, self.tensors))

    def _take(self, node: Any) -> tuple:
        """What is known of a Node besides."""
        if node.backward is None:
            return (_known(node.variable),)
        if not is_op(node):
            self.objects.append(node)
            return (None,)
        saved = self.kept[node] = node.saved if node.backward.plan.names else ()
        self.tensors += [s for s in saved if isinstance(s, Tensor)]
        plan = node.backward.plan
        return plan.op, plan.needs, tuple([None if isinstance(s, Tensor) else repr(s) for s in saved])

    def can_be_a_graph(self) -> bool:
        """Whether nothing is asked of it that the graph has no place for."""
        if any(node._post_hooks for node in self.nodes):
            return False
        return all(type(t) is Tensor or isinstance(t, Tensor) and not isinstance(t, Tracer) for t in self.tensors)


def is_op(node: Any) -> bool:
    """Whether a Node is that of an op, whose derivative is known."""
    return isinstance(node.backward, Backward)


def _known(t: Tensor) -> tuple:
    return t.dtype, str(t.device), tuple(t.shape), t.stride()


def _in_order(roots: list) -> list:
    """The Nodes that a walk runs, each after all that give it gradients, and the latest first where that leaves a choice."""
    waiting: dict[Any, int] = dict.fromkeys(roots, 0)
    stack = list(waiting)
    while stack:
        for n, _ in stack.pop().next_functions:
            if n is not None:
                if n not in waiting:
                    waiting[n] = 0
                    stack.append(n)
                waiting[n] += 1
    ready = [(-n._sequence_nr, i, n) for i, n in enumerate(waiting) if waiting[n] == 0]
    heapq.heapify(ready)
    order, count = [], len(waiting)
    while ready:
        node = heapq.heappop(ready)[2]
        order.append(node)
        for n, _ in node.next_functions:
            if n is not None:
                waiting[n] -= 1
                if waiting[n] == 0:
                    count += 1
                    heapq.heappush(ready, (-n._sequence_nr, count, n))
    return order


class _Saved:
    """Stands for a Node whose saved tensors are those of the graph."""

    def __init__(self, saved: tuple):
        self.saved = saved


class Walker:
    """Traces one Form into a graph: tensors, then hooks and Nodes → the gradients of the leaves."""

    def __init__(self, form: Form):
        self.form = form
        self.graph = Graph()
        self.level = TraceLevel(self.graph, {}, functionalize=True)
        self.tensors = iter([self.level.placeholder(f"tensor_{i}", Meta.of(t.detach())) for i, t in enumerate(form.tensors)])
        self.objects = iter([self.graph.placeholder(f"object_{i}") for i in range(len(form.objects))])
        self.grads: dict[tuple[int, int], Any] = {}
        self.found: list[Any] = []

    def trace(self) -> tuple[GraphModule, bool]:
        """The graph, and whether it is that of all walks of the form: no tensor that a derivative found elsewhere is part of it."""
        form = self.form
        before = _native.set_grad_enabled(False)
        try:
            with opened(self.level):
                for node, nr in form.roots:
                    self.add(node, nr, next(self.tensors))
                for node in form.nodes:
                    self.step(node)
                self.graph.output(tuple([None if g is None else self.level.payload_of(g) for g in self.found]))
        finally:
            _native.set_grad_enabled(before)
        self.graph.eliminate_dead_code()
        return GraphModule(self.level.constants, self.graph), not self.level.constants

    def add(self, node: Any, nr: int, grad: Any) -> None:
        """A gradient arrives."""
        place = self.form.number[node], nr
        known = self.grads.get(place)
        self.grads[place] = grad if known is None else known + grad

    def step(self, node: Any) -> None:
        """The Node's hooks, and what it makes of its gradients."""
        hooks = [(nr, next(self.objects)) for nr, _ in node._pre_hooks]
        metas = node.metas
        count = max([nr for i, nr in self.grads if i == self.form.number[node]], default=-1) + 1
        grads = [self.grads.pop((self.form.number[node], nr), None) for nr in range(max(len(metas), count))]
        for last in (False, True):  # (hooks of retain_grad, which have negative numbers, see what the others made)
            for nr, hook in hooks:
                at = -1 - nr if nr < 0 else nr
                if (nr < 0) is last and grads[at] is not None:
                    grads[at] = self.call(call_hook, (hook, self.level.payload_of(grads[at])), grads[at].meta)
        if node.backward is None:
            self.found.append(grads[0] if grads else None)
            return
        if is_op(node):
            saved = tuple([next(self.tensors) if isinstance(s, Tensor) else s for s in self.form.kept[node]])
            if all(g is None for g in grads):
                return
            found = node.backward(_Saved(saved), tuple(grads))
        else:
            found = self.opaque(node, next(self.objects), grads)
        for i, ((n, nr), g) in enumerate(zip(node.next_functions, found)):
            if n is not None and g is not None:
                self.add(n, nr, fit(g, _layout(n, nr), node.name(), i))

    def opaque(self, node: Any, stand_in: Any, grads: list) -> list:
        """The gradients that a Node gives which is not looked into: laid out as what they belong to."""
        given = [None if g is None else self.level.payload_of(g) for g in grads]
        layouts = tuple([None if n is None else _layout(n, nr) for n, nr in node.next_functions])
        metas = tuple([None if like is None else Meta.contiguous(*like) for like in layouts])
        made = self.graph.create_node("call_function", run_node, (stand_in, given, layouts), {}, None, metas)
        return [None if m is None else self.call(operator.getitem, (made, i), m) for i, m in enumerate(metas)]

    def call(self, target: Callable, args: tuple, meta: Meta) -> Any:
        """A node that gives what is like this."""
        return self.level.make(self.graph.create_node("call_function", target, args, {}, None, meta), meta)


def _layout(node: Any, nr: int) -> tuple:
    """(sizes, dtype, device) of the gradients that come to a Node."""
    sizes, dtype, device = node.metas[nr] if node.backward is not None else _meta_of(node.variable)
    return tuple(sizes), dtype, device


def _meta_of(t: Tensor) -> tuple:
    return tuple(t.shape), t.dtype, t.device


class CompiledAutograd:
    """What backward runs instead of the walk: `compiler(graph module) -> callable`, called once for each form."""

    def __init__(self, compiler: Callable):
        self.compiler = compiler
        self.compiled: dict[Any, Callable] = {}

    def __call__(self, outs: tuple, seeds: tuple, keep: Any, create_graph: bool, ins: tuple | None, accumulate: bool) -> Any:
        native = lambda: _native.run_backward(outs, seeds, keep, create_graph, ins, accumulate)
        if create_graph or ins is not None or not accumulate or any(isinstance(t, Tracer) for t in (*outs, *seeds)):
            return native()
        form = Form(outs, seeds)
        if not form.can_be_a_graph():
            return native()
        run = self.compiled.get(form.key)
        if run is None:
            module, shared = Walker(form).trace()
            run = self.compiler(module)
            if shared:
                self.compiled[form.key] = run
        before = _native.set_grad_enabled(False)
        try:
            found = run(*form.tensors, *form.objects)
        finally:
            _native.set_grad_enabled(before)
        reached = [(n, g) for n, g in zip(form.leaves, found) if g is not None]
        if not keep:
            for node in form.nodes:
                if node not in form.kept or any(isinstance(s, Tensor) for s in form.kept[node]):
                    node._free()
        if reached:
            _native.run_backward(tuple([(n, 0) for n, _ in reached]), tuple([g for _, g in reached]), False, False, None, True)
        return None


@contextlib.contextmanager
def _enable(compiler_fn: Callable, dynamic: bool = False) -> Iterator[None]:
    """Within it `backward()` runs graphs that `compiler_fn` has compiled, one for each form of walk.

    compiler_fn(graph module) -> callable, as `functools.partial(weft.compile, fullgraph=True)`.
    """
    before, walks.compiled = walks.compiled, CompiledAutograd(compiler_fn)
    try:
        yield
    finally:
        walks.compiled = before


@contextlib.contextmanager
def _disable() -> Iterator[None]:
    """Within it backward walks as it does otherwise."""
    before, walks.compiled = walks.compiled, None
    try:
        yield
    finally:
        walks.compiled = before
