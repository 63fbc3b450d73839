"""Hooks that the program registers before it takes gradients within the captured function.

Hooks of leaves are called on the gradients that come out of the walk. Hooks of what the graph has made are graphs of their own,
which a node registers; what such a hook changes outside of itself is left to Python.
"""

from __future__ import annotations

import contextlib
from typing import Any

from aten.fx.node import Node
from aten.fx.targets import hook_of_graph
from aten.meta import Meta
from dynamo import breaks, history
from dynamo.breaks import Unsupported
from dynamo.region import Region, opened
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE
from dynamo.variables.hooks import HandleVariable, LateHandle
from dynamo.variables.tensor import TensorVariable

AFTER = "register_post_accumulate_grad_hook"


def registered(frame: Any) -> list[HandleVariable]:
    """The handles of hooks that the program has registered and not removed, in order."""
    return [v for v in frame.output.side_effects.dirty if isinstance(v, HandleVariable) and not v.removed]


def of_leaf(frame: Any, leaf: TensorVariable, g: Variable) -> Variable:
    """The gradient of a leaf, as its hooks hand it on."""
    for handle in registered(frame):
        if handle.tensor is leaf and handle.name != AFTER and not isinstance(handle, LateHandle):
            found = handle.hook.call(frame, [g], {}).realize(frame)
            g = g if found.is_same(NONE) else _replaced(g, found)
    return g


def after_accumulation(frame: Any, leaf: TensorVariable) -> None:
    """Call the hooks of a leaf whose gradient has been added to."""
    for handle in registered(frame):
        if handle.tensor is leaf and handle.name == AFTER:
            handle.hook.call(frame, [leaf], {})


def _replaced(g: Variable, found: Variable) -> Variable:
    same = isinstance(found, TensorVariable) and isinstance(g, TensorVariable)
    if not same or found.meta.sizes != g.meta.sizes or found.meta.dtype is not g.meta.dtype:  # type: ignore[attr-defined]
        raise Unsupported(breaks.BACKWARD_INSIDE, "a hook that returns what does not fit the gradient")
    return found


def register(frame: Any) -> None:
    """Record nodes that register the hooks of what the graph has made."""
    output = frame.output
    for handle in [v for v in output.side_effects.dirty if isinstance(v, LateHandle) and v.node is not None]:
        if not handle.removed:
            _register(frame, handle)
        output.graph.erase_node(handle.node)
        handle.node = None


def _register(frame: Any, handle: LateHandle) -> None:
    output, registered_on = frame.output, handle.node.args[0]
    body = Region(output.graph, output.shape_env)
    meta = registered_on.meta["val"]
    seen = Meta.contiguous(meta.sizes, meta.dtype, meta.device)
    g = TensorVariable(body.input(None, seen, "grad"), seen)
    with opened(output, body, grad=False), output.side_effects.freeze(frame):
        found = handle.hook.call(frame, [g], {}).realize(frame)
    if found.is_same(NONE):  # it changes nothing
        return
    result = _replaced(g, found)
    module = body.close([result.as_arg()])
    operands = body.operands[1:]
    nodes = list(output.graph.nodes)
    known = nodes[: nodes.index(handle.node)]  # as it was registered: what is written later has another history
    if any(isinstance(a, Node) and a not in known for a in operands):
        if history.written_behind(handle.node, registered_on):
            raise Unsupported(breaks.BACKWARD_INSIDE, "a hook of a tensor that is written before what the hook takes is there")
        at = contextlib.nullcontext()
    else:
        at = output.graph.inserting_before(handle.node)
    with at:
        attached = output.graph.attach("hook", module)
        output.graph.line = handle.node.meta["line"]
        output.graph.call_function(hook_of_graph, (registered_on, attached, *operands), {}, val=None)
