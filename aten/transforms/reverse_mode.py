"""Reverse mode as function transforms: vjp, grad, value_and_grad. Each has a level of its own, so nested ones do not mix."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aten import _native, dispatch, pytree
from aten._native import Size, Tensor
from aten.autograd import function
from aten.autograd.grad_mode import enable_grad
from aten.autograd.graph import disable_saved_tensors_hooks
from aten.autograd.record import Backward
from aten.meta import Meta, same_size
from aten.on_device import beside
from aten.op import Op, registry
from aten.transforms.argnums import Beside, chosen_places, with_arguments
from aten.transforms.recorded import Edge, Kept, RecordingLevel
from aten.transforms.tracer import (
    Tracer,
    below,
    check_outputs,
    checked_aux,
    made_by,
    opened,
    public,
    shown,
    split_aux,
)


class Box:
    """A value of the level: a tensor of the level below, known by identity. `origin`: the edge of the Node that made it, or the
    leaf that it is the value of."""

    __slots__ = ("value", "origin")

    def __init__(self, value: Tensor, origin: Any = None):
        self.value, self.origin = value, origin


class GradTracer(Tracer):
    """Its payload is a Box."""

    __slots__ = ()
    transform = "grad"

    def __repr__(self) -> str:
        return shown("GradTrackingTensor", self, self.level.read(self).value)

    @property
    def requires_grad(self) -> bool:
        self.level.read(self)  # its memory may have got a history since
        return _requires_grad.__get__(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        _requires_grad.__set__(self, value)

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        self.level.read(self)
        return _grad_fn.__get__(self)

    @property
    def data(self) -> Tracer:
        return registry["data_of"](self)

    @data.setter
    def data(self, value: Any) -> None:
        raise RuntimeError("mutating directly with `.data` inside functorch transform is not allowed.")


_requires_grad, _grad_fn = Tensor.__dict__["requires_grad"], Tensor.__dict__["grad_fn"]


class _Kept(Kept):
    """A tensor as a Node keeps it. `output`: which one of the Node's it is (the Node would keep itself by what leads to it), None
    for others."""

    __slots__ = ("output",)

    def __init__(self, box: Box, tracer: Tracer, output: int | None):
        super().__init__(box, tracer)
        self.output = output

    def check(self, node: Any) -> None:
        """Raises RuntimeError where the tensor was written since."""
        written = self.written()
        if written:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{self.meta.dtype} {list(self.meta.sizes)}], which is a saved value of {node.name()}, is at version "
                f"{self.version + written}; expected version {self.version} instead. Hint: find the in-place operation between "
                "this op's forward and the backward, and use its out-of-place form."
            )


class GradLevel(RecordingLevel):
    """Runs ops on the level below and makes a Node of each that depends on the inputs.

    What it differentiates runs with gradients on, whatever the caller's mode: `below` is that mode, in which the level
    below gets its calls. A no_grad inside of the function holds for all levels. A backward walk computes with the values below,
    unless it is itself recorded here (`recorded`): then with Tracers, which have their history.
    """

    tracer_type = GradTracer
    transforms = True

    def __init__(self, below: bool) -> None:
        self.below = below
        self.recorded = False

    def wrap(self, value: Tensor) -> Tracer:
        """A tensor of the level below as a Tracer of this one."""
        return self.make(Box(value), Meta.of(value))

    def lift(self, tensor: Tensor) -> Tracer:
        return self.wrap(tensor)

    def fresh(self, tensor: Tensor) -> Tracer:
        return self.wrap(tensor)

    def input(self, value: Tensor) -> Tracer:
        """A new leaf."""
        t = self.make(Box(value), Meta.of(value), requires_grad=True)
        t.payload.origin = weakref.ref(t)
        return t

    # ------------------------------------------------------------------------------------ history

    def edge_of(self, payload: Box) -> Edge | None:
        origin = payload.origin
        if type(origin) is not weakref.ref:
            return origin
        leaf = origin()
        return None if leaf is None else _native.gradient_edge(leaf)

    def set_edge(self, payload: Box, edge: Edge | None) -> None:
        leaf = getattr(edge[0], "variable", None) if edge is not None else None
        payload.origin = edge if leaf is None else weakref.ref(leaf)

    def replaced(self, old: Box, new: Box) -> None:
        super().replaced(old, new)
        if not _native.is_grad_enabled() and isinstance(old.value, Tensor) and old.value.requires_grad:
            with enable_grad():  # nor is it recorded below
                new.value = registry["replace_values"](old.value, new.value)

    def forget(self, t: Tracer) -> None:
        t.payload = Box(self.read(t).value)
        t.cell, t.chain, t.generation, t.writes, t._grad_fn = None, (), 0, None, None

    def keep(self, value: Any, outputs: tuple) -> Any:
        if not self.own(value):
            return super().keep(value, outputs)
        box = self.read(value)
        output = next((i for i, o in enumerate(outputs) if o is value), None)
        return _Kept(box if output is None else Box(box.value), value, output)

    def kept(self, saved: Any, node: Any) -> Tensor:
        saved.check(node)
        if not self.recorded:
            return saved.payload.value
        box = saved.payload
        return self.make(box if saved.output is None else Box(box.value, (node, saved.output)), saved.meta)

    def derive(self, backward: Backward, g: Any, saved: tuple) -> tuple:
        return super().derive(backward, g, saved) if self.recorded else backward.derive(g, saved)

    @contextlib.contextmanager
    def _recording(self) -> Iterator[None]:
        before, self.recorded = self.recorded, True
        try:
            yield
        finally:
            self.recorded = before

    def tensors(self, saved: Any, node: Any) -> Any:
        with self._recording():
            return self.all_kept(saved, node)

    def context(self, call: Any, node: Any) -> Any:
        return call.ctx.seen_from(list(zip(call.values, self.all_kept(call.seen, node)))) if self.recorded else call.ctx

    def hooked(self, hook: Callable) -> Callable:
        """A hook of this level's tensors or Nodes, which sees gradients as its tensors, as it is called by any walk."""

        @functools.wraps(hook, updated=())
        def called(*given: Any) -> Any:
            if self.recorded:
                return hook(*given)
            with opened(self), enable_grad():
                found = hook(*[_map(self.wrap, g) for g in given])
            return _map(self.outside, found)

        return called

    def outside(self, x: Any) -> Any:
        """What a tensor is in the level below."""
        return self.read(x).value if self.own(x) else x

    def run_backward(self, outs: tuple, seeds: tuple, keep: bool, create: bool, ins: tuple, accumulate: bool) -> Any:
        """As _native.run_backward, for Tracers of this level."""
        for t in (*outs, *ins):
            if self.own(t):
                self.read(t)
        if create:
            with self._recording():
                return _native.run_backward(outs, seeds, keep, True, ins, accumulate)
        levels = dispatch.stack.levels[: dispatch.stack.top]
        with below(levels.index(self) if self in levels else len(levels)):
            found = _native.run_backward(outs, _map(self.outside, seeds), keep, False, ins, accumulate)
        return _map(self.wrap, found)

    # ------------------------------------------------------------------------------------ calls

    def check_write(self, op: Op, target: Any) -> None:
        if self.own(target) and _native.is_grad_enabled():
            base = target.cell.payload if target.chain else self.read(target)
            if type(base.origin) is weakref.ref:
                which = "a view of a leaf Variable" if target.chain else "a leaf Variable"
                raise RuntimeError(f"{which} that requires grad is being used in an in-place operation.")
            if self.below and isinstance(base.value, Tensor) and base.value.requires_grad and base.value.is_leaf:
                raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        super().check_write(op, target)

    def wants(self, args: tuple) -> bool:
        return True  # for what is made here: it may be written with what is differentiated

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        if makes_nothing(op) and not super().wants((*args, *kwargs.values())):
            return NotImplemented
        return super().handle(op, args, kwargs)

    def call_function(self, cls: Any, args: tuple, kwargs: dict, asked: tuple, place: int) -> Any:
        values = tuple([self.outside(a) for a in args])
        tracked = tuple([self.own(a) and a.requires_grad for a in args])
        recording = _native.is_grad_enabled() and any(tracked)
        with below(place):
            inner = tuple([want or (recording and t) for want, t in zip(asked, tracked)])
            before = _native.set_grad_enabled(_native.is_grad_enabled() and (self.below or not recording))
            try:
                result, ctx = function.call(cls, values, kwargs, inner)
            finally:
                _native.set_grad_enabled(before)
            ctx = function.context(cls, ctx, values, result)
        results = result if isinstance(result, tuple) else (result,)
        outputs = tuple([self.wrap(o) if isinstance(o, Tensor) else o for o in results])
        if recording:
            self.record_function(cls, ctx, args, values, results, outputs)
        written = {id(v): a for v, a in zip(values, args) if self.own(a) and any(v is d for d in ctx._dirty)}
        for made, o in zip(outputs, results):
            if id(o) in written:
                self.assign(written[id(o)], made)
        outputs = tuple([written.get(id(o), made) for made, o in zip(outputs, results)])
        seen = ctx.seen_from([*zip(values, args), *zip(results, outputs)])
        return (outputs if isinstance(result, tuple) else outputs[0]), seen

    def item(self, tracer: Tracer) -> Any:
        return self.read(tracer).value.item()

    def value(self, tracer: Tracer) -> Tensor:
        return self.read(tracer).value

    def constant(self, tracer: Tracer) -> Tensor | None:
        return None if tracer.requires_grad else self.value(tracer)

    def process(self, op: Op, args: tuple) -> Any:
        if op.vjp_fn is None and op.decompose_fn is not None:
            with opened(self), beside(args):
                return op.decompose_fn(*args)
        values = tuple([_map(self.outside, a) for a in args])
        recording = _native.is_grad_enabled()
        if op.name == "data_of":
            return self.wrap(dispatch.call_core(registry["alias"], values))
        if op.name == "replace_data":
            made = self.wrap(dispatch.call_core(registry["alias"], values[1:]))
            if recording:
                self.record(registry["replace_values"], args, made)
            return made
        if recording and not self.below:
            with dispatch.no_grad():
                result = dispatch.call_core(op, values)
        else:
            result = dispatch.call_core(op, values)
        if isinstance(result, tuple):
            if result and not isinstance(result[0], Tensor):  # seed and offset of random numbers
                return result
            out: Any = tuple(map(self.wrap, result))
        elif isinstance(result, Tensor):
            out = self.wrap(result)
        else:
            return result
        if recording:
            self.record(op, args, out)
        return public(op, out)


def _map(fn: Callable, x: Any) -> Any:
    """The tensors of lists and tuples by what `fn` makes of them."""
    if isinstance(x, Tensor):
        return fn(x)
    return type(x)([_map(fn, v) for v in x]) if type(x) in (list, tuple) else x


def no_saved_hooks() -> Any:
    """A block in which hooks on what is saved for backward raise: a level keeps what it needs itself."""
    return disable_saved_tensors_hooks(
        "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Open them outside of what is transformed."
    )


def makes_nothing(op: Op) -> bool:
    """Whether the results of an op are not new tensors: a level need not have those of a call with none of its own."""
    return op.kind in ("view", "inplace", "composite")


def _check_differentiable(t: Any) -> None:
    if not isinstance(t, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
    if not (t.dtype.is_floating_point or t.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")


class _Derivation:
    """A call of a function, of which the arguments at `places` are differentiated: what it returned, and the history that leads
    there.

    call: what errors name it.
    """

    def __init__(self, call: str, func: Callable, args: tuple, places: Sequence[int], kwargs: dict, has_aux: bool):
        self.leaves, self.spec = pytree.flatten(tuple([args[i] for i in places]))
        for leaf in self.leaves:
            _check_differentiable(leaf)
        self.level = level = GradLevel(_native.is_grad_enabled())
        self.inputs = inputs = [level.input(leaf) for leaf in self.leaves]
        self.boxes = [t.payload for t in inputs]
        self.beside = Beside(level)
        rest, kwargs = self.beside.arguments(args, places, kwargs)
        with opened(level), enable_grad(), no_saved_hooks():
            self.result = with_arguments(func, rest, places, kwargs)(*pytree.unflatten(inputs, self.spec))
        for leaf, t, box in zip(self.leaves, inputs, self.boxes):
            if level.read(t) is not box:  # written without gradients: whoever passed it sees that
                with dispatch.no_grad():
                    leaf.copy_(level.read(t).value)
        self.beside.written()
        self.aux: Any = None
        if has_aux:
            self.result, aux = split_aux(call, self.result)
            self.aux = pytree.map_leaves(self.value, checked_aux(aux))

    def value(self, x: Any) -> Any:
        """What a result is outside of the level."""
        if not self.level.own(x):
            return x
        given = self.beside.given.get(id(x))
        return self.level.read(x).value if given is None else given

    def place(self, x: Tensor) -> Any:
        """A result as the level knows it; None for one that does not come from there."""
        return self.level.read(x) if self.level.own(x) else None

    def pull(self, places: list[Any], cotangents: list[Any]) -> Any:
        """The gradients of the arguments, nested as they are."""
        pairs = [(k, g) for k, g in zip(places, cotangents) if k is not None and g is not None]
        grads = self.level.gradients(pairs, self.boxes, _native.is_grad_enabled())
        full = [registry["zeros_like"](leaf) if g is None else g for g, leaf in zip(grads, self.leaves)]
        return pytree.unflatten(full, self.spec)


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(func(*primals), vjp_fn) with vjp_fn(cotangents) = gradients, a tuple nested as `primals`.

    With has_aux, func returns (output, aux), and aux comes third. `cotangents` is nested as the output.
    """
    return vjp_of_chosen(func, primals, range(len(primals)), {}, has_aux)


def vjp_of_chosen(func: Callable, args: tuple, places: Sequence[int], kwargs: dict[str, Any], has_aux: bool) -> tuple:
    """As `vjp` of func(*args, **kwargs), with the gradients of the arguments at `places`."""
    call = "vjp(f, *primals)"
    if _native.is_grad_enabled():
        _native.not_replayed()  # (the history of what a transform gives is not that of its ops)
    run = _Derivation(call, func, args, places, kwargs, has_aux)
    outputs, out_spec = pytree.flatten(run.result)
    check_outputs(call, "f(*primals)", outputs, run.result)
    for out in outputs:
        if not (out.dtype.is_floating_point or out.dtype.is_complex):
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {out.dtype}"
            )
    places = [run.place(o) for o in outputs]
    values = [run.value(o) for o in outputs]

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """The gradients for these cotangents; retain_graph and create_graph change nothing: the graph stays, and has a graph
        itself where gradients are on."""
        flat, given_spec = ([None], out_spec) if cotangents is None and out_spec.kind is None else pytree.flatten(cotangents)
        if given_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given_spec}, primal output: {out_spec}"
            )
        return run.pull(places, [_cotangent(i, g, v) for i, (g, v) in enumerate(zip(flat, values))])

    out = pytree.unflatten(values, out_spec)
    return (out, vjp_fn, run.aux) if has_aux else (out, vjp_fn)


def _cotangent(i: int, given: Any, output: Tensor) -> Tensor:
    """A gradient of the i-th output as it was given. Raises where it cannot be one."""
    if given is None:
        if output.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return registry["ones_like"](output)
    if not isinstance(given, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    if given.ndim != output.ndim or not all(map(same_size, given.shape, output.shape)):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(map(int, given.shape))} and output[{i}] has a shape of "
            f"{Size(map(int, output.shape))}."
        )
    return given


def value_and_grad(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that returns (func(...), gradients with respect to the arguments `argnums`).

    func returns a 0-d tensor; with has_aux a pair of it and anything, and the result is ((value, aux), gradients).
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple:
        grads, value, aux = _gradient(func, argnums, has_aux, args, kwargs)
        return ((value, aux) if has_aux else value), grads

    return made_by(value_and_grad, wrapper, argnums=argnums, has_aux=has_aux)


def grad_and_value(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that returns (gradients, func(...)); with has_aux (gradients, (value, aux))."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple:
        grads, value, aux = _gradient(func, argnums, has_aux, args, kwargs)
        return grads, ((value, aux) if has_aux else value)

    return made_by(grad_and_value, wrapper, argnums=argnums, has_aux=has_aux)


def grad(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """A function that returns the gradients of `func` with respect to the arguments `argnums`; with has_aux a pair of
    them and aux."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        grads, _, aux = _gradient(func, argnums, has_aux, args, kwargs)
        return (grads, aux) if has_aux else grads

    return made_by(grad, wrapper, argnums=argnums, has_aux=has_aux)


def _gradient(func: Callable, argnums: int | tuple[int, ...], has_aux: bool, args: tuple, kwargs: dict) -> tuple:
    call = "grad_and_value(f)(*args)"
    indices = chosen_places(argnums, args)
    run = _Derivation(call, func, args, indices, kwargs, has_aux)
    out = run.result
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(out)}")
    if out.ndim != 0:
        raise RuntimeError(
            f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with {out.ndim} dims. Maybe you wanted to use the "
            "vjp or jacrev APIs instead?"
        )
    if out.dtype.is_complex:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    value = run.value(out)
    grads = run.pull([run.place(out)], [registry["ones_like"](value)])
    return (grads[0] if isinstance(argnums, int) else grads), value, run.aux
