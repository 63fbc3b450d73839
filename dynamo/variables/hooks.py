"""Hooks that the program registers on tensors from outside: registered for real behind the graph."""

from __future__ import annotations

from typing import Any

import aten
from aten.autograd.hook_handle import RemovableHandle
from aten.fx.targets import hook_later
from dynamo import breaks, outcome, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables.base import TrueVariable, Variable, method
from dynamo.variables.tensor import TensorVariable


class HandleVariable(TrueVariable):
    """The handle of a hook."""

    __slots__ = ("tensor", "name", "hook", "removed")
    comes_from_outside = True  # (the tensor is)

    def __init__(self, tensor: TensorVariable, name: str, hook: Variable):
        super().__init__()
        self.tensor = tensor
        self.name = name
        self.hook = hook
        self.removed = False

    def python_type(self):
        return RemovableHandle

    def getattr(self, frame, name):
        return frame.values.bound(self, name) if name in self.rules else super().getattr(frame, name)

    @method("remove")
    def remove(self, frame):
        self.removed = True

    @method("__enter__")
    def enter(self, frame):
        return self

    @method("__exit__")
    def leave(self, frame, *args):
        self.removed = True

    def recipe(self, emit):
        def make():
            return outcome.Call(outcome.GetAttr(emit.value(self.tensor), self.name), (emit.value(self.hook),))

        return emit.shared(self, make)

    def replay(self, emit) -> None:
        handle = emit.value(self)
        if self.removed:
            emit.after(outcome.Do(outcome.Call(outcome.GetAttr(handle, "remove"), ())))
        else:
            emit.after(outcome.Do(handle))


class LateHandle(HandleVariable):
    """The handle of a hook of a tensor that the graph makes: registered there, and given its function behind the graph.

    Without a node, it was called within the graph (`hooks_inside`)."""

    __slots__ = ("node",)

    def __init__(self, tensor: TensorVariable, name: str, hook: Variable, node: Any):
        super().__init__(tensor, name, hook)
        self.node = node

    def recipe(self, emit):
        if self.node is None:
            raise Unsupported(breaks.NOT_REBUILT, "the handle of a hook that was called within the graph")
        return emit.shared(self, lambda: outcome.GetAttr(emit.graph_output(self.node), "handle"))

    def replay(self, emit) -> None:
        if self.node is None:
            return
        late = emit.graph_output(self.node)
        emit.after(outcome.Do(outcome.Call(outcome.Const(setattr), (late, outcome.Const("function"), emit.value(self.hook)))))
        if self.removed:
            emit.after(outcome.Do(outcome.Call(outcome.GetAttr(emit.value(self), "remove"), ())))


def late(frame, tensor: TensorVariable, name: str, hook: Variable) -> LateHandle:
    """Register a hook on what the graph makes."""
    output = frame.output
    if name != "register_hook" or not output.options.fullgraph or output.graph is not output.frame_graph:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{name} of a tensor that the graph makes")
    output.graph.line = output.user_line()
    output.recorded = True
    return LateHandle(tensor, name, hook, output.graph.call_function(hook_later, (tensor.node, name), {}, val=None))


def registering(name: str) -> Any:
    """The rule of a method of tensors that registers a hook."""

    def rule(frame, args, kwargs):
        tensor, hook = args[0], args[1] if len(args) > 1 else kwargs["hook"]
        if not isinstance(tensor, TensorVariable):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{name} of {tensor.describe()}")
        if not tensor.meta.requires_grad:
            text = "cannot register a hook on a tensor that doesn't require gradient"
            raise frame.values.error(frame, RuntimeError, text)
        outside = tensor.source is not None and not tensor.written(frame)
        if outside and name != "register_hook" and not tensor.is_leaf_outside(frame):
            text = "post accumulate grad hooks cannot be registered on non-leaf tensors"
            raise frame.values.error(frame, RuntimeError, text)
        handle = HandleVariable(tensor, name, hook) if outside else late(frame, tensor, name, hook)
        frame.output.side_effects.changed(handle)
        return handle

    return rule


for _name in ("register_hook", "register_post_accumulate_grad_hook"):
    trace_rules.handle(getattr(aten.Tensor, _name))(registering(_name))
