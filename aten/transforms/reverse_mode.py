"""Reverse mode as function transforms: vjp, grad, value_and_grad. Each has its own tape, so nested ones do not mix."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from aten import _native, dispatch, pytree
from aten._native import Tensor
from aten.autograd import function
from aten.autograd.grad_mode import enable_grad
from aten.autograd.graph import disable_saved_tensors_hooks
from aten.meta import Meta, known_equal
from aten.op import Op, registry
from aten.transforms.argnums import chosen_places, with_arguments
from aten.transforms.function_call import FunctionCall
from aten.transforms.tape import Tape
from aten.transforms.tracer import Level, Tracer, below, check_outputs, checked_aux, made_by, opened, public, shown, split_aux


class Box:
    """A value on the tape: a tensor of the level below, known by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Tensor):
        self.value = value


class GradTracer(Tracer):
    """Its payload is a Box."""

    __slots__ = ()
    transform = "grad"

    def __repr__(self) -> str:
        return shown("GradTrackingTensor", self, self.level.read(self).value)

    @property
    def is_leaf(self) -> bool:
        return not self.requires_grad or self.grad_fn is None

    @property
    def grad_fn(self) -> Any:
        """What made it, as far as the tape knows."""
        return self.level.tape.node(self.level.read(self))


class GradLevel(Level):
    """Runs ops on the level below and keeps a tape of those that depend on the inputs.

    What it differentiates runs with gradients on, whatever the caller's mode: `below` is that mode, in which the level
    below gets its calls. A no_grad inside of the function holds for all levels.
    """

    tracer_type = GradTracer
    transforms = True

    def __init__(self, below: bool) -> None:
        # Gradients are computed with the values of the level below.
        self.tape = Tape(lambda value, meta: value.value if type(value) is Box else value)
        self.below = below
        self.leaves: set[Box] = set()  # the arguments that are differentiated

    def wrap(self, value: Tensor, box: Box | None = None) -> Tracer:
        """A tensor of the level below as a Tracer of this one."""
        return self.make(Box(value) if box is None else box, Meta.of(value))

    def lift(self, tensor: Tensor) -> Tracer:
        return self.wrap(tensor)

    def input(self, value: Tensor) -> Tracer:
        """A new leaf of the tape."""
        t = self.make(Box(value), Meta.of(value), requires_grad=True)
        self.tape.tracked.add(t.payload)
        self.leaves.add(t.payload)
        return t

    def check_write(self, op: Op, target: Any) -> None:
        if self.own(target) and _native.is_grad_enabled():
            base = target.cell.payload if target.chain else self.read(target)
            if base in self.leaves:
                which = "a view of a leaf Variable" if target.chain else "a leaf Variable"
                raise RuntimeError(f"{which} that requires grad is being used in an in-place operation.")
        super().check_write(op, target)

    def wants(self, args: tuple) -> bool:
        return True  # for what is made here: it may be written with what is differentiated

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        if makes_nothing(op) and not super().wants((*args, *kwargs.values())):
            return NotImplemented
        return super().handle(op, args, kwargs)

    def hook(self, t: Tracer, hook: Callable) -> Any:
        """Call `hook` with the gradient of t."""
        entry = (0, hook)
        entries = self.tape.hooks.setdefault(self.read(t), [])
        entries.append(entry)
        return entries, entry

    def call_function(self, cls: Any, args: tuple, kwargs: dict, asked: tuple, place: int) -> Any:
        boxes = tuple([self.box(a) for a in args])
        tracked = tuple([type(b) is Box and b in self.tape.tracked for b in boxes])
        recording = _native.is_grad_enabled() and any(tracked)
        values = tuple(map(_unbox, boxes))
        with below(place):
            inner = tuple([want or (recording and t) for want, t in zip(asked, tracked)])
            before = _native.set_grad_enabled(_native.is_grad_enabled() and (self.below or not recording))
            try:
                result, ctx = function.call(cls, values, kwargs, inner)
            finally:
                _native.set_grad_enabled(before)
            ctx = function.context(cls, ctx, values, result)
        outputs = result if isinstance(result, tuple) else (result,)
        out = tuple([Box(o) if isinstance(o, Tensor) else o for o in outputs])
        if recording:
            metas = tuple([Meta.of(o) if isinstance(o, Tensor) else None for o in outputs])
            constant = [any(o is n for n in ctx._non_differentiable) for o in outputs]
            kept = tuple([o if not c else Box(o.value) for o, c in zip(out, constant)])
            self.tape.record_call(FunctionCall(cls, ctx, metas), boxes, tuple(map(_metas, boxes)), kept, metas)
        wrapped = tuple([self.make(o, Meta.of(o.value), o in self.tape.tracked) if type(o) is Box else o for o in out])
        seen = ctx.seen_from([*zip(values, args), *zip(outputs, wrapped)])
        return (wrapped if isinstance(result, tuple) else wrapped[0]), seen

    def gradients(self, outputs: tuple, seeds: tuple, inputs: tuple, create_graph: bool) -> tuple:
        """What autograd.grad gives for Tracers of this level."""
        tape = self.tape
        usual = tape.tensor
        if create_graph:
            tape.tensor = lambda value, meta: self.make(value, meta, value in tape.tracked) if type(value) is Box else value
        else:
            seeds = tuple([_unbox(self.box(s)) for s in seeds])
        pairs = [(self.read(o), s) for o, s in zip(outputs, seeds) if self.own(o)]
        try:
            found = tape.backward(pairs, [self.box(x) for x in inputs])
        finally:
            tape.tensor = usual
        return tuple(found if create_graph else [None if g is None else self.wrap(g) for g in found])

    def item(self, tracer: Tracer) -> Any:
        return self.read(tracer).value.item()

    def value(self, tracer: Tracer) -> Tensor:
        return self.read(tracer).value

    def constant(self, tracer: Tracer) -> Tensor | None:
        return None if self.read(tracer) in self.tape.tracked else self.value(tracer)

    def box(self, a: Any) -> Any:
        """An argument with Boxes for the Tracers of this level."""
        if isinstance(a, Tracer) and a.level is self:
            return self.read(a)
        return [self.box(x) for x in a] if type(a) is list else a

    def process(self, op: Op, args: tuple) -> Any:
        if op.vjp_fn is None and op.decompose_fn is not None:
            with opened(self):
                return op.decompose_fn(*args)
        boxes = tuple([self.box(a) for a in args])
        values = tuple([_unbox(b) for b in boxes])
        recording = _native.is_grad_enabled()
        if recording and not self.below:
            with dispatch.no_grad():
                result = dispatch.call_core(op, values)
        else:
            result = dispatch.call_core(op, values)
        if not isinstance(result, tuple):
            if not isinstance(result, Tensor):
                return result
            out: Any = Box(result)
            metas: Any = Meta.of(result)
        elif result and not isinstance(result[0], Tensor):  # seed and offset of random numbers
            return result
        else:
            out = tuple(map(Box, result))
            metas = tuple(map(Meta.of, result))
        if recording:
            self.tape.record(op, boxes, tuple([_metas(b) for b in boxes]), out, metas)
        tracked = self.tape.tracked
        if type(out) is Box:
            return self.make(out, metas, out in tracked)
        return public(op, tuple([self.make(o, m, o in tracked) for o, m in zip(out, metas)]))


def no_saved_hooks() -> Any:
    """A block in which hooks on what is saved for backward raise: the tape of a level keeps what it needs itself."""
    return disable_saved_tensors_hooks(
        "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Open them outside of what is transformed."
    )


def makes_nothing(op: Op) -> bool:
    """Whether the results of an op are not new tensors: a level need not have those of a call with none of its own."""
    return op.kind in ("view", "inplace", "composite")


def _unbox(b: Any) -> Any:
    if type(b) is Box:
        return b.value
    return [_unbox(x) for x in b] if type(b) is list else b


def _metas(b: Any) -> Any:
    if type(b) is Box:
        return Meta.of(b.value)
    if isinstance(b, Tensor):
        return Meta.of(b)
    return [_metas(x) for x in b] if type(b) is list else b


def _check_differentiable(t: Any) -> None:
    if not isinstance(t, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")
    if not (t.dtype.is_floating_point or t.dtype.is_complex):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")


class _Derivation:
    """A call of a function whose tensor arguments are differentiated: what it returned, and the tape that leads there.

    call: what errors name it.
    """

    def __init__(self, call: str, func: Callable, primals: tuple, has_aux: bool):
        self.leaves, self.spec = pytree.flatten(primals)
        for leaf in self.leaves:
            _check_differentiable(leaf)
        self.level = level = GradLevel(_native.is_grad_enabled())
        inputs = [level.input(leaf) for leaf in self.leaves]
        self.boxes = [t.payload for t in inputs]
        with opened(level), enable_grad(), no_saved_hooks():
            self.result = func(*pytree.unflatten(inputs, self.spec))
        for leaf, t, box in zip(self.leaves, inputs, self.boxes):
            if level.read(t) is not box:  # written without gradients: whoever passed it sees that
                leaf.copy_(level.read(t).value)
        self.aux: Any = None
        if has_aux:
            self.result, aux = split_aux(call, self.result)
            self.aux = pytree.map_leaves(self.value, checked_aux(aux))

    def value(self, x: Any) -> Any:
        """What a result is outside of the level."""
        return self.level.read(x).value if isinstance(x, Tracer) and x.level is self.level else x

    def place(self, x: Tensor) -> Any:
        """Where a result is on the tape; None for one that does not come from there."""
        return self.level.read(x) if self.level.own(x) else None

    def pull(self, places: list[Any], cotangents: list[Any]) -> Any:
        """The gradients of the arguments, nested as they are."""
        pairs = [(k, g) for k, g in zip(places, cotangents) if k is not None and g is not None]
        grads = self.level.tape.backward(pairs, self.boxes)
        full = [registry["zeros_like"](leaf) if g is None else g for g, leaf in zip(grads, self.leaves)]
        return pytree.unflatten(full, self.spec)


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """(func(*primals), vjp_fn) with vjp_fn(cotangents) = gradients, a tuple nested as `primals`.

    With has_aux, func returns (output, aux), and aux comes third. `cotangents` is nested as the output.
    """
    call = "vjp(f, *primals)"
    run = _Derivation(call, func, primals, has_aux)
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
    if given.ndim != output.ndim or not all(map(known_equal, given.shape, output.shape)):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {given.shape} and output[{i}] has a shape of {output.shape}."
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
    run = _Derivation(call, with_arguments(func, args, indices, kwargs), tuple([args[i] for i in indices]), has_aux)
    out = run.result
    if not isinstance(out, Tensor):
        raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(out)}")
    if out.ndim != 0:
        raise RuntimeError(
            f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with {out.ndim} dims. Maybe you wanted to use the "
            "vjp or jacrev APIs instead?"
        )
    value = run.value(out)
    grads = run.pull([run.place(out)], [registry["ones_like"](value)])
    return (grads[0] if isinstance(argnums, int) else grads), value, run.aux
