"""Gradients taken inside of the captured function: `autograd.grad`, `backward`, of what the graph has computed.

A node walks the history that the graph makes (`aten.fx.targets.gradients`), as a whole: into the core graphs of a backend it goes
as the operations of the derivatives. What a graph cannot know of, a history from before it, is left to Python.
"""

from __future__ import annotations

import inspect
from typing import Any

from aten import autograd
from aten.aot.replay import Differentiated
from aten.fx.graph_module import GraphModule
from aten.fx.targets import gradients
from aten.meta import Meta
from dynamo import breaks, config, guards, history, trace_rules
from dynamo.breaks import Unsupported
from dynamo.source import Converted, Object
from dynamo.variables import hooks_inside
from dynamo.variables.base import Variable
from dynamo.variables.constant import FALSE, NONE, TRUE, boolean
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.tensor import TensorVariable, wrap_result


def _bind(function: Any, args: list, kwargs: dict) -> dict[str, Any]:
    bound = inspect.signature(function).bind(*args, **kwargs)
    return bound.arguments


def refused(why: str) -> Unsupported:
    return Unsupported(breaks.BACKWARD_INSIDE, why)


def walks_all(question: Any) -> bool:
    return question()


@trace_rules.handle(autograd._is_checkpoint_valid)
def is_checkpoint_valid(frame: Any, args: list, kwargs: dict) -> Variable:
    """A constant of the calls in which it is the same."""
    question = autograd._is_checkpoint_valid
    answer = walks_all(question)
    frame.output.guard(guards.Equals(Converted(Object(question), walks_all), answer))
    return boolean(answer)


@trace_rules.handle(autograd.grad)
def grad(frame: Any, args: list, kwargs: dict) -> Variable:
    """autograd.grad(outputs, inputs, …)"""
    given = _bind(autograd.grad, args, kwargs)
    create = _flag(frame, given.pop("create_graph", FALSE))
    retain = _flag(frame, given.pop("retain_graph", NONE), create)
    unused = _flag(frame, given.pop("allow_unused", FALSE))
    if not _flag(frame, given.pop("only_inputs", TRUE)):
        raise refused("autograd.grad with only_inputs=False, of which it warns")
    outputs = _tensors(frame, given.pop("outputs"))
    inputs = _tensors(frame, given.pop("inputs"))
    seeds = _seeds(frame, outputs, given.pop("grad_outputs", NONE))
    if any(_flag(frame, v) for v in given.values()):
        raise refused(f"autograd.grad with {', '.join(given)}")
    found = differentiate(frame, outputs, inputs, seeds, retain, create, own=False)
    if not unused and any(g.is_same(NONE) for g in found):
        raise refused("an input that is not used, of which autograd.grad says so")
    return TupleVariable(found)


@trace_rules.handle(autograd.backward)
def backward(frame: Any, args: list, kwargs: dict) -> Variable:
    """autograd.backward(tensors, …)"""
    given = _bind(autograd.backward, args, kwargs)
    outputs = _tensors(frame, given.pop("tensors"))
    return accumulate(frame, outputs, given.pop("grad_tensors", NONE), given)


def accumulate(frame: Any, outputs: list[TensorVariable], seeds: Variable, given: dict[str, Any]) -> Variable:
    """The gradients of `outputs` are added to the `grad` of the leaves, or of the `inputs` among what else is given."""
    retain = _flag(frame, given.pop("retain_graph", NONE))
    only = given.pop("inputs", NONE)
    if any(_flag(frame, v) for v in given.values()):
        raise refused(f"backward with {', '.join(given)}")
    leaves = _leaves(frame) if only.is_same(NONE) else _tensors(frame, only)
    found = differentiate(frame, outputs, leaves, _seeds(frame, outputs, seeds), retain, False, own=True)
    output = frame.output
    before = output.set_ambient_bits(1, 0)
    try:
        for leaf, g in zip(leaves, found):
            if not g.is_same(NONE):
                _accumulate(frame, leaf, g)
                hooks_inside.after_accumulation(frame, leaf)
    finally:
        output.set_ambient_bits(1, before)
    return NONE


def _accumulate(frame: Any, leaf: TensorVariable, g: Any) -> None:
    old = leaf.getattr(frame, "grad").realize(frame)
    if old.is_same(NONE):
        leaf.setattr(frame, "grad", g)
    elif not isinstance(old, TensorVariable) or old.meta.requires_grad or old.is_of_subclass:
        raise refused("backward() that adds to a gradient with a history of its own")
    else:
        old.op(frame, "add_", old, g)


def differentiate(
    frame: Any, outputs: list[TensorVariable], inputs: list[TensorVariable], seeds: list, retain: bool, create: bool, own: bool
) -> list[Variable]:
    """Record the node of the gradients; the Variable of each, NONE for what is not reached."""
    output = frame.output
    _check(frame, outputs, inputs, seeds, own)
    leaves = _leaves(frame)
    hooks_inside.register(frame)
    asked = [*inputs, *(x for x in leaves if not any(x is i for i in inputs))]
    module = GraphModule(output.frame_graph.modules, output.graph, output.shape_env)
    nodes = [s.node if isinstance(s, TensorVariable) else None for s in seeds]
    try:
        made = Differentiated(module, [o.node for o in outputs], [x.node for x in asked], nodes, create)
    except (RuntimeError, NotImplementedError) as e:  # an op without a derivative: eager says so
        raise refused(str(e)) from None
    if output.used_up & made.freed:
        raise refused("a second walk over a history, which is freed by the first")
    if history.written_since(output.graph, made.freed):
        raise refused("what gradients may need has been written since, of which eager says so")
    for leaf, meta in zip(asked, made.metas):
        if meta is not None:
            _check_leaf(frame, leaf)
    if not retain:
        output.used_up |= made.freed
        output.used_leaves += [x for x, m in zip(asked, made.metas) if m is not None and x.source is not None]
    val = tuple([_meta(m, x, create, own) for m, x in zip(made.metas[: len(inputs)], inputs)])
    output.graph.line = output.user_line()
    output.recorded = True
    node = output.graph.call_function(
        gradients, ([o.node for o in outputs], [x.node for x in inputs], nodes, retain, create, own), {}, val=val
    )
    gradients_found: list[Variable] = wrap_result(frame, node, val).items  # type: ignore[attr-defined]
    return [g if g.is_same(NONE) else hooks_inside.of_leaf(frame, x, g) for x, g in zip(inputs, gradients_found)]


def _meta(found: Meta | None, x: TensorVariable, create: bool, own: bool) -> Meta | None:
    """What is known of a gradient."""
    if found is None:
        return None
    if own:
        return Meta.contiguous(x.meta.sizes, x.meta.dtype, x.meta.device)
    return Meta(found.dtype, found.device, found.sizes, found.strides, 0, create)


def _check(frame: Any, outputs: list[TensorVariable], inputs: list[TensorVariable], seeds: list, own: bool) -> None:
    output = frame.output
    between = not own and any(x.source is None and not any(x is leaf for leaf in output.own_leaves) for x in inputs)
    if not (output.options.fullgraph or config.trace_autograd_ops or between):  # (results have no history of one another)
        raise Unsupported(breaks.BACKWARD_INSIDE)
    if output.graph is not output.frame_graph:
        raise refused("gradients within a function that another one calls")
    if output.ambient & (1 << 7):
        raise refused("gradients of what is saved through hooks")
    for o, s in zip(outputs, seeds):
        if not o.meta.requires_grad or o.source is not None or o.meta.dtype.is_complex:
            raise refused(f"gradients of {o.describe()}, which the graph has no history of")
        if isinstance(s, TensorVariable):
            if s.meta.sizes != o.meta.sizes or s.meta.requires_grad or s.meta.dtype is not o.meta.dtype:
                raise refused("gradients of other sizes or with a history")
        elif any(size != 1 for size in o.meta.sizes):
            raise refused("gradients of what is no scalar")
    for x in inputs:
        if not x.meta.requires_grad:
            raise refused(f"gradients for {x.describe()}, which requires none")
    if any(t.is_of_subclass for t in (*outputs, *inputs)):
        raise refused("gradients of subclasses of tensors")


def _check_leaf(frame: Any, x: TensorVariable) -> None:
    """A tensor from outside that gradients flow into must be where they end, and nobody may listen."""
    if x.source is None:
        return
    if not frame.world.fact(x.value, x.source, "_is_bare_leaf") or x.is_of_subclass or not x.meta.is_contiguous():
        raise refused("gradients through tensors with a history from before, hooks, or a layout of their own")


def _leaves(frame: Any) -> list[TensorVariable]:
    """The tensors from outside that require gradients, and those that became leaves in the graph."""
    output = frame.output
    known = {v.node: v for v in output.by_source.values() if isinstance(v, TensorVariable)}
    found = [known[i.node] for i in output.inputs if i.node in known and known[i.node].meta.requires_grad]
    if len(found) < sum(type(m := i.node.meta["val"]) is Meta and m.requires_grad for i in output.inputs):
        raise refused("gradients of an input that is not known by name")
    return [*found, *output.own_leaves]


def _tensors(frame: Any, value: Variable) -> list[TensorVariable]:
    value = value.realize(frame)
    items = value.unpack(frame) if isinstance(value, (TupleVariable, ListVariable)) else [value]
    items = [v.realize(frame) for v in items]
    if not items or not all(isinstance(v, TensorVariable) for v in items):
        raise refused("gradients of what are no tensors")
    return items


def _seeds(frame: Any, outputs: list[TensorVariable], value: Variable) -> list:
    if value.is_same(NONE):
        return [None] * len(outputs)
    value = value.realize(frame)
    items = value.unpack(frame) if isinstance(value, (TupleVariable, ListVariable)) else [value]
    items = [v.realize(frame) for v in items]
    if len(items) != len(outputs) or not all(isinstance(v, TensorVariable) or v.is_same(NONE) for v in items):
        raise refused("gradients that are no tensors, or fewer than the outputs")
    return items


def _flag(frame: Any, value: Variable, default: bool = False) -> bool:
    return default if value.is_same(NONE) else value.truth(frame)
