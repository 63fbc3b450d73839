"""Function transforms inside of compiled code: vmap, grad, vjp, jvp, Jacobians.

The transformed function is traced into a graph (dynamo/higher_order.py). The node that calls it runs the transform itself
over that graph, so that whatever level runs the node (autograd, the joint graph, another transform) sees its operations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from aten import pytree, transforms
from aten.meta import Meta, known_equal
from aten.transforms import batching, forward_mode
from dynamo import breaks, higher_order, outcome, trace_rules
from dynamo.breaks import Unsupported
from dynamo.higher_order import Traced
from dynamo.region import Region, opened
from dynamo.variables.base import TrueVariable, Variable
from dynamo.variables.constant import NONE
from dynamo.variables.function import FunctionVariable
from dynamo.variables.raising import run_python
from dynamo.variables.tensor import TensorVariable

MAKERS = (
    transforms.vmap, transforms.grad, transforms.grad_and_value, transforms.value_and_grad, transforms.jacrev,
    transforms.jacfwd, transforms.hessian,
)  # fmt: skip


class Transformed:
    """What a node calls: `apply(f, *args, **kwargs)` for the function f that `module` is the graph of.

    operands: the tensors and numbers among the leaves of (args, kwargs), then what the graph takes from outside.
    """

    def __init__(self, name: str, apply: Callable, traced: Traced, given: list[Any], spec: pytree.Spec):
        self.__name__ = name
        self.apply, self.traced, self.given, self.spec = apply, traced, given, spec
        self.n = sum(g is None for g in given)
        self.result: pytree.Spec | None = None

    @property
    def graphs(self) -> dict[str, Any]:
        return {"body": self.traced.module}

    def __repr__(self) -> str:
        return self.__name__

    def __call__(self, *operands: Any) -> list[Any]:
        position = iter(operands)
        leaves = [next(position) if g is None else g for g in self.given]
        outside = operands[self.n :]
        args, kwargs = pytree.unflatten(leaves, self.spec)

        def function(*args: Any, **kwargs: Any) -> Any:
            inside = [x for x, g in zip(pytree.leaves((args, kwargs)), self.given) if g is None]
            return self.traced.rebuilt(self.traced.module.forward(*inside, *outside))

        flat, self.result = pytree.flatten(self.apply(function, *args, **kwargs))
        return flat


def call(
    frame: Any, name: str, apply: Callable, function: Variable, args: list[Variable], kwargs: dict[str, Variable],
    see: Callable[[list[Any], pytree.Spec], Callable[[int, Meta], Meta]] | None = None, grad: bool | None = None,
    forward: bool = False,
) -> Variable:  # fmt: skip
    """Trace `function` for these arguments and record the node that applies the transform to it.

    see(leaves, spec) says how the traced function sees the i-th tensor. grad: the mode of gradients inside. forward: whether
    tangents are computed.
    """
    output = frame.output
    values = frame.values
    whole = values.tuple_([values.tuple_(args), values.dict_([(values.const(k), v) for k, v in kwargs.items()])])
    leaves, spec = higher_order.flatten(frame, whole)
    operands = [higher_order.operand(v) for v in leaves]
    passes = [higher_order.is_value(v) for v in leaves]
    graph = Region(output.graph, output.shape_env)
    graph.forward, graph.transformed = forward, True
    metas = [v.meta if isinstance(v, TensorVariable) else o for v, o in zip(leaves, operands)]
    seen = see(metas, spec) if see is not None else lambda i, m: m
    inner = [
        higher_order.entered(graph, v, o, seen, i) if value else v
        for i, (v, o, value) in enumerate(zip(leaves, operands, passes))
    ]
    with opened(output, graph, grad):
        inner_args, inner_kwargs = higher_order.unflatten(frame, inner, spec).unpack(frame)
        named = dict(zip(kwargs, [inner_kwargs.getitem(frame, values.const(k)) for k in kwargs]))
        traced = Traced(frame, graph, function.call(frame, inner_args.unpack(frame), named))
    traced.close()
    given = [None if value else o for value, o in zip(passes, operands)]
    target = Transformed(name, apply, traced, given, spec)
    passed = [*(o for o, value in zip(operands, passes) if value), *graph.operands[sum(passes) :]]
    found = higher_order.record(frame, target, passed)
    assert target.result is not None
    return higher_order.unflatten(frame, found, target.result)


class TransformedVariable(TrueVariable):
    """What vmap(f), grad(f) … give. `transform(f, **settings)` is what it stands for."""

    __slots__ = ("transform", "function", "settings")

    def __init__(self, transform: Callable, function: Variable, settings: dict[str, Any], source=None):
        super().__init__(source)
        self.transform, self.function, self.settings = transform, function, settings

    def python_type(self):
        return type(transforms.vmap)

    def describe(self):
        return f"{self.transform.__name__} of {self.function.describe()}"

    def call(self, frame, args, kwargs):
        transform, settings = self.transform, self.settings
        apply = lambda f, *a, **k: transform(f, **settings)(*a, **k)
        if transform is not transforms.vmap:
            forward = transform in (transforms.jacfwd, transforms.hessian)
            see = _differentiated(settings.get("argnums", 0))
            return call(frame, transform.__name__, apply, self.function, args, kwargs, see, True, forward)

        def element(metas: list[Any], spec: pytree.Spec) -> Callable[[int, Meta], Meta]:
            tree = pytree.unflatten([_Sized(m) if type(m) is Meta else m for m in metas], spec)
            dims = run_python(frame, _dims, settings.get("in_dims", 0), tree)
            return lambda i, m: m if dims[i] is None else _element(m, dims[i])

        return call(frame, "vmap", apply, self.function, args, kwargs, element)

    def getattr(self, frame, name):
        return self.function.getattr(frame, name)

    def is_same(self, other):
        return self is other

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        settings = tuple((name, outcome.Const(value)) for name, value in self.settings.items())
        return emit.shared(self, lambda: outcome.Call(outcome.Const(self.transform), (emit.value(self.function),), settings))


def _differentiated(places: int | Sequence[int]) -> Callable[[list[Any], pytree.Spec], Callable[[int, Meta], Meta]]:
    """How a function sees its arguments where those at `places` are differentiated: as tensors that require grad."""
    chosen = (places,) if isinstance(places, int) else tuple(places)

    def see(metas: list[Any], spec: pytree.Spec) -> Callable[[int, Meta], Meta]:
        args, _ = pytree.unflatten(list(range(len(metas))), spec)
        among = {i for n in chosen if -len(args) <= n < len(args) for i in pytree.leaves(args[n])}
        needs = lambda i, m: i in among and (m.dtype.is_floating_point or m.dtype.is_complex)
        return lambda i, m: Meta(m.dtype, m.device, m.sizes, m.strides, m.offset, True) if needs(i, m) else m

    return see


class _Sized:
    """A tensor as vmap's check of in_dims sees it."""

    def __init__(self, meta: Meta):
        self.meta, self.ndim = meta, len(meta.sizes)


def _dims(in_dims: Any, tree: Any) -> list[Any]:
    """The dimension that is mapped of each leaf of (args, kwargs)."""
    args, kwargs = tree
    leaves = pytree.leaves(args)
    named = [0 if isinstance(x, _Sized) else None for x in pytree.leaves(kwargs)]
    return [*batching.input_dims(in_dims, args, leaves, _Sized), *named]


def _element(meta: Meta, dim: int) -> Meta:
    sizes, strides = list(meta.sizes), list(meta.strides)
    del sizes[dim], strides[dim]
    return Meta(meta.dtype, meta.device, sizes, strides, meta.offset, meta.requires_grad)


def _settings(frame: Any, transform: Callable, args: list[Variable], kwargs: dict[str, Variable]) -> dict[str, Any]:
    """The arguments of a transform beside the function, as Python values."""
    names = list(inspect.signature(transform).parameters)[1:]
    given = {**dict(zip(names, args)), **kwargs}
    return {k: v.as_python() for k, v in given.items()}


def _declare(transform: Callable) -> None:
    @trace_rules.handle(transform)
    def made(frame, args, kwargs):
        kwargs = dict(kwargs)
        function = args[0] if args else kwargs.pop("func")
        return TransformedVariable(transform, function, _settings(frame, transform, args[1:], kwargs))


for _transform in MAKERS:
    _declare(_transform)


def made_outside(frame: Any, function: FunctionVariable) -> Variable | None:
    """What a transform made outside of the compiled function stands for; None for any other function."""
    made = getattr(function.function, "__transform__", None)
    if made is None:
        return None
    frame.world.code(function.function, function.source)
    transform, settings = made
    return TransformedVariable(transform, function.getattr(frame, "__wrapped__"), settings)


# ------------------------------------------------------------------------------------------------ vjp, jvp, linearize
def _flag(v: Variable | None) -> bool:
    return v is not None and bool(v.as_python())


@trace_rules.handle(transforms.vjp)
def _vjp(frame, args, kwargs):
    """(out, vjp_fn[, aux]): the pull-back is a node of its own, which runs the function again."""
    has_aux = _flag(kwargs.get("has_aux"))
    function, primals = args[0], list(args[1:])

    def forward(f: Callable, *primals: Any) -> Any:
        found = transforms.vjp(f, *primals, has_aux=has_aux)
        return (found[0], found[2]) if has_aux else (found[0],)

    see = _differentiated(range(len(primals)))
    found = call(frame, "vjp", forward, function, primals, {}, see, True).unpack(frame)
    pull = PullVariable(function, primals, has_aux)
    return frame.values.tuple_([found[0], pull, *found[1:]])


class PullVariable(TrueVariable):
    """The second of what vjp gives."""

    __slots__ = ("function", "primals", "has_aux")

    def __init__(self, function: Variable, primals: list[Variable], has_aux: bool):
        super().__init__(None)
        self.function, self.primals, self.has_aux = function, primals, has_aux

    def python_type(self):
        return type(transforms.vjp)

    def call(self, frame, args, kwargs):
        count, has_aux = len(self.primals), self.has_aux

        def pull(f: Callable, *values: Any) -> Any:
            return transforms.vjp(lambda *x: f(*x, *values[count:]), *values[:count], has_aux=has_aux)[1](*values[count:])

        ignores = IgnoresRest(self.function, count)
        return call(frame, "vjp_fn", pull, ignores, [*self.primals, *args], {}, _differentiated(range(count)), True)

    def recipe(self, emit):
        raise Unsupported(breaks.NOT_REBUILT, "what vjp gives")


class IgnoresRest(Variable):
    """lambda *args: function(*args[:count])"""

    __slots__ = ("function", "count")

    def __init__(self, function: Variable, count: int):
        super().__init__(None)
        self.function, self.count = function, count

    def call(self, frame, args, kwargs):
        return self.function.call(frame, args[: self.count], kwargs)


@trace_rules.handle(transforms.jvp)
def _jvp(frame, args, kwargs):
    given = {**dict(zip(("func", "primals", "tangents"), args)), **kwargs}
    function, primals, tangents = given.pop("func"), given.pop("primals"), given.pop("tangents")
    settings = {k: v.as_python() for k, v in given.items()}
    first = primals.unpack(frame)
    count = len(first)

    def push(f: Callable, *values: Any) -> Any:
        return transforms.jvp(lambda *x: f(*x, *values[count:]), values[:count], values[count:], **settings)

    ignores, given = IgnoresRest(function, count), [*first, *tangents.unpack(frame)]
    return call(frame, "jvp", push, ignores, given, {}, _differentiated(range(count)), True, True)


@trace_rules.handle(forward_mode.check_alike)
def _check_alike(frame, args, kwargs):
    """What linearize asks of tangents: jvp asks the same of their metas, but has other words for it."""
    primals, tangents = (v.unpack(frame) for v in args)
    for x, t in zip(primals, tangents):
        if isinstance(x, TensorVariable) and isinstance(t, TensorVariable):
            a, b = x.meta, t.meta
            if a.dtype is not b.dtype or a.ndim != b.ndim or not all(map(known_equal, a.sizes, b.sizes)):
                raise Unsupported(breaks.UNKNOWN_CALL, "linearize with tangents that are not like the primals")
    return NONE
