"""autograd.Function of the user inside of compiled code: its forward and its backward are traced, into a graph each."""

from __future__ import annotations

from typing import Any

from aten._native import Tensor
from aten.autograd import function
from aten.autograd.function import Function, FunctionCtx, once_differentiable
from aten.fx.graph_module import GraphModule
from aten.meta import Meta, known_equal
from dynamo import breaks, higher_order, saved, trace_rules
from dynamo.breaks import Raised, Unsupported
from dynamo.region import Region, opened
from dynamo.variables.base import Variable
from dynamo.variables.function import FunctionVariable
from dynamo.variables.sequence import TupleVariable
from dynamo.variables.tensor import TensorVariable
from dynamo.views import viewed_by


class GraphFunction:
    """What a node calls. `forward` gives the outputs and then what `backward` takes behind their gradients.

    places: for each operand which result of `backward` is its gradient, None for none. constant: outputs without gradient.
    """

    def __init__(self, name: str, count: int, places: list[int | None], constant: list[int]):
        self.__name__ = name
        self.count, self.places, self.constant = count, places, constant
        self.once = False  # whether its gradients have none
        self.forward: GraphModule
        self.backward: GraphModule

    @property
    def graphs(self) -> dict[str, Any]:
        return {"forward": self.forward, "backward": self.backward}

    def __repr__(self) -> str:
        return self.__name__

    def __call__(self, *operands: Any) -> list[Any]:
        args = (self, *operands)
        return list(function.call(_Run, args, {}, (False,) * len(args))[0])


class _Run(Function):
    """The call of a GraphFunction as autograd and the levels see it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, call: GraphFunction, *operands: Any) -> Any:
        results = call.forward.forward(*operands)
        outputs, kept = results[: call.count], results[call.count :]
        ctx.call = call
        ctx.numbers = [None if isinstance(k, Tensor) else k for k in kept]
        ctx.save_for_backward(*[k for k in kept if isinstance(k, Tensor)])
        ctx.mark_non_differentiable(*[outputs[i] for i in call.constant])
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        tensors = iter(ctx.saved_tensors)
        kept = [next(tensors) if n is None else n for n in ctx.numbers]
        run = once_differentiable(_gradients) if ctx.call.once else _gradients
        return (None, *run(ctx.call, *grads, *kept))


def _gradients(call: GraphFunction, *values: Any) -> tuple:
    found = call.backward.forward(*values)
    return tuple([None if place is None else found[place] for place in call.places])


@trace_rules.handle(Function.apply)
def _apply(frame, args, kwargs):
    cls, args = args[0], [a.realize(frame) for a in args[1:]]
    output = frame.output
    wanted = [output.grad_enabled and isinstance(a, TensorVariable) and a.meta.requires_grad for a in args]
    ctx = frame.world.known(FunctionCtx).call(frame, [frame.values.tuple_(map(frame.values.boolean, wanted))], {})
    if not any(wanted):
        before = output.set_ambient_bits(1, 0)
        try:
            return _forward(frame, cls, ctx, args, kwargs)
        finally:
            output.set_ambient_bits(1, before)
    if _has_tangents(output.graph):
        raise Unsupported(breaks.USER_FUNCTION, f"{cls.as_python().__name__}, whose tangents are wanted")
    if not getattr(cls.as_python(), "alone", True):
        raise Unsupported(breaks.USER_FUNCTION, f"{cls.as_python().__name__}, whose backward depends on that of another")
    return _differentiable(frame, cls, ctx, args, kwargs, wanted)


def _has_tangents(graph: Region | None) -> bool:
    """Whether a graph, or one around it, is of a function whose tangents are computed."""
    while graph is not None and not graph.forward:
        graph = graph.outer
    return graph is not None


def _forward(frame: Any, cls: Variable, ctx: Variable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    forward = cls.getattr(frame, "forward")
    if frame.world.keeps(cls.as_python(), Function, ("setup_context",)):
        return forward.call(frame, [ctx, *args], kwargs).realize(frame)
    result = forward.call(frame, args, kwargs).realize(frame)
    cls.getattr(frame, "setup_context").call(frame, [ctx, frame.values.tuple_(args), result], {})
    return result


def _differentiable(frame: Any, cls: Variable, ctx: Variable, args: list, kwargs: dict, wanted: list[bool]) -> Variable:
    """The call as a node, with a graph for the outputs and a graph for the gradients."""
    output = frame.output
    graph = Region(output.graph, output.shape_env)
    inner = [
        higher_order.entered(graph, a, a.as_arg(), lambda i, m: m, 0) if isinstance(a, TensorVariable) else a for a in args
    ]
    operands = [i for i, a in enumerate(args) if isinstance(a, TensorVariable)]
    entered = [a.node if isinstance(a, TensorVariable) else None for a in inner]
    for a, v in zip(args, inner):
        once = sum(a is other for other in args) == 1
        if once and isinstance(a, TensorVariable) and isinstance(v, TensorVariable) and _is_own(output, a):
            v.node.meta["copied where written"] = True
    with opened(output, graph, grad=False):
        result = _forward(frame, cls, ctx, inner, kwargs)
        several = isinstance(result, TupleVariable)
        items = result.unpack(frame) if several else [result]
        outputs = [v for v in items if isinstance(v, TensorVariable)]
        if not all(higher_order.is_known(v) for v in items if v not in outputs):
            raise Unsupported(breaks.USER_FUNCTION, "whose forward returns what is neither a tensor nor a constant")
        constant = _marked(frame, ctx, outputs)
        written = [i for i, v in enumerate(inner) if isinstance(v, TensorVariable) and v.node is not entered[i]]
        _check_written(frame, ctx, cls, [args[i] for i in written], [inner[i] for i in written], outputs)
        backward = Region(graph, output.shape_env)
        absent = [] if ctx.getattr(frame, "materialize_grads").as_python() else [outputs[n] for n in constant]
        found = _backward(frame, backward, cls, ctx, items, args, absent)
    if any(args[i].as_arg() in graph.lifted for i in written):
        raise Unsupported(breaks.USER_FUNCTION, f"{cls.as_python().__name__}, which reads in another way what it writes into")
    gradients = [found[i] if want else None for i, want in enumerate(wanted)]
    given = [g for g in gradients if isinstance(g, TensorVariable)]
    order = {id(g): n for n, g in enumerate(given)}
    target = GraphFunction(cls.as_python().__name__, len(outputs), [order.get(id(gradients[i])) for i in operands], constant)
    pullback = cls.getattr(frame, "backward")
    target.once = isinstance(pullback, FunctionVariable) and trace_rules.differentiates_once(pullback.function)
    target.backward = backward.close([g.node for g in given])
    kept = backward.operands[len(outputs) :]
    target.forward = graph.close([*(v.node for v in outputs), *kept])
    target.places += [None] * (len(graph.operands) - len(operands))
    made = list(higher_order.record(frame, target, list(graph.operands)))
    for n, (v, inside) in enumerate(zip(made, outputs)):
        assert isinstance(v, TensorVariable)
        v.meta.requires_grad = v.meta.requires_grad and n not in constant
        changed = next((args[i] for i in written if inner[i] is inside), None)
        if changed is not None:  # the argument itself, which from now on is what the call has made of it
            changed.node, changed.meta, changed.known = v.node, v.meta, None
            made[n] = changed
            continue
        seen = [a.root for a, i in zip(args, inner) if i is inside.root]
        if seen or inside.root.node.graph is not graph:  # it shares memory with an argument
            v.root = seen[0] if seen else inside.root
    position = iter(made)
    rebuilt = [next(position) if isinstance(v, TensorVariable) else v for v in items]
    return frame.values.tuple_(rebuilt) if several else rebuilt[0]


def _is_own(output: Any, a: TensorVariable) -> bool:
    """Whether a tensor is one that the graph has made and nobody views: what is written into it, it may become."""
    node = a.node
    own = a.source is None and a.value is None and a.root is a and not a.is_of_subclass and node.graph is output.graph
    views = any(viewed_by(user) is node for user in node.users)
    return own and not views and a not in output.copied_views and not any(a is leaf for leaf in output.own_leaves)


def _check_written(frame: Any, ctx: Variable, cls: Variable, args: list, inner: list, outputs: list[TensorVariable]) -> None:
    """What `forward` has written is what it says it has, and returns."""
    dirty, name = ctx.getattr(frame, "_dirty").unpack(frame), cls.as_python().__name__
    among = lambda v, values: any(v is other for other in values)
    if len(dirty) != len(inner) or not all(among(v, dirty) and among(v, outputs) for v in inner):
        raise Unsupported(breaks.USER_FUNCTION, f"{name}, which does not return what it writes into, or does not mark it")
    for a in args:
        saved.check_memory(frame.output, name, a.node)


def _marked(frame: Any, ctx: Variable, outputs: list[TensorVariable]) -> list[int]:
    """The outputs that have no gradient, by what `forward` said of them."""
    marked = ctx.getattr(frame, "_non_differentiable").unpack(frame)
    floating = lambda m: m.dtype.is_floating_point or m.dtype.is_complex
    return [n for n, v in enumerate(outputs) if not floating(v.meta) or any(v is m for m in marked)]


def _backward(
    frame: Any, graph: Region, cls: Variable, ctx: Variable, items: list[Variable], args: list, absent: list
) -> list[Variable]:
    """What `backward` gives for each argument, traced into `graph`.

    It gets None for the outputs `absent`, which have no gradient. One that nobody asks the gradient of has a gradient of 0 in a
    graph, also where plain code would give None.
    """
    count = len(args)
    grads: list[Variable] = []
    for v in items:
        if isinstance(v, TensorVariable):
            meta = v.meta.like()
            node = graph.input(None, meta, "grad")
            node.meta["gradient"] = True
            grads.append(TensorVariable(node, meta) if v not in absent else frame.values.NONE)
        else:
            grads.append(frame.values.NONE)
    try:
        with opened(frame.output, graph):
            result = cls.getattr(frame, "backward").call(frame, [ctx, *grads], {}).realize(frame)
    except Raised as raised:  # in backward(), not here
        raise Unsupported(breaks.USER_FUNCTION, f"whose backward raises {raised.value.describe()}") from None
    found = [v.realize(frame) for v in (result.unpack(frame) if isinstance(result, TupleVariable) else [result])]
    none = lambda v: v.is_same(frame.values.NONE)
    if len(found) < count or not all(map(none, found[count:])):
        raise Unsupported(breaks.USER_FUNCTION, f"whose backward gives {len(found)} gradients for {count} arguments")
    for v, arg in zip(found, args):
        if not none(v) and not (isinstance(v, TensorVariable) and isinstance(arg, TensorVariable) and fits(v.meta, arg.meta)):
            raise Unsupported(breaks.USER_FUNCTION, f"whose backward gives {v.describe()} for {arg.describe()}")  # eager says so
    return found[:count]


def fits(grad: Meta, of: Meta) -> bool:
    """Whether a gradient has the sizes of its tensor, or those that it may be broadcast to."""
    more = len(grad.sizes) - len(of.sizes)
    return more >= 0 and all(a == 1 or known_equal(a, b) for a, b in zip(of.sizes, grad.sizes[more:]))
