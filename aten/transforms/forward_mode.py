"""Forward mode: values carry tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import dispatch, pytree
from aten._native import Tensor
from aten.autograd import function
from aten.derivative import is_lost
from aten.meta import Meta, known_equal, same_size
from aten.on_device import beside
from aten.op import Op, registry
from aten.transforms.argnums import Beside, with_arguments
from aten.transforms.reverse_mode import makes_nothing
from aten.transforms.tracer import Level, Tracer, below, check_outputs, checked_aux, opened, public, shown, split_aux


class Dual:
    """A value and its tangent (None for zero), tensors of the level below."""

    __slots__ = ("primal", "tangent")

    def __init__(self, primal: Tensor, tangent: Tensor | None):
        self.primal, self.tangent = primal, tangent


class JvpTracer(Tracer):
    """Its payload is a Dual."""

    __slots__ = ()
    transform = "jvp"

    def __repr__(self) -> str:
        return shown("GradTrackingTensor", self, self.level.read(self).primal)


class JvpLevel(Level):
    """Runs ops on the level below, on values and on tangents."""

    tracer_type = JvpTracer
    transforms = True

    def __init__(self, takes_all: bool = True) -> None:
        self.takes_all = takes_all  # what is made while it is open, too: it may be written with values that have tangents

    def wants(self, args: tuple) -> bool:
        return self.takes_all or super().wants(args)

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        if makes_nothing(op) and not super().wants((*args, *kwargs.values())):
            return NotImplemented
        return super().handle(op, args, kwargs)

    def call_function(self, cls: Any, args: tuple, kwargs: dict, asked: tuple, place: int) -> Any:
        pairs = [self.split(a) for a in args]
        with below(place):
            primals = tuple([p for p, _ in pairs])
            result, ctx = function.call(cls, primals, kwargs, asked)
            ctx = function.context(cls, ctx, primals, result)
            outputs = result if isinstance(result, tuple) else (result,)
            given = [p if isinstance(p, Tensor) and _continuous(p) else None for p in primals]
            known = [t for _, t in pairs]
            if ctx.materialize_grads and any(t is not None for t in known):
                known = [registry["zeros_like"](p) if t is None and p is not None else t for p, t in zip(given, known)]
            tangents: Any = (None,) * len(outputs)
            versions = [t._version if isinstance(t, Tensor) else 0 for t in known]
            if any(t is not None for _, t in pairs):
                tangents = cls.jvp(ctx, *known)
                tangents = tangents if isinstance(tangents, tuple) else (tangents,)
                _check_tangents(cls, ctx, primals, list(zip(known, versions)), outputs, tangents)
        kept = {id(p): a for p, a in zip(primals, args) if any(p is d for d in ctx._dirty) and self.own(a)}
        wrapped = tuple(
            [kept.get(id(o)) or self.wrap(o, _floating(o, t)) if isinstance(o, Tensor) else o for o, t in zip(outputs, tangents)]
        )
        seen = ctx.seen_from([*zip(primals, args), *zip(outputs, wrapped)])
        return (wrapped if isinstance(result, tuple) else wrapped[0]), seen

    def wrap(self, primal: Tensor, tangent: Tensor | None = None) -> Tracer:
        """A tensor of the level below with its tangent."""
        return self.make(Dual(primal, tangent), Meta.of(primal))

    def lift(self, tensor: Tensor) -> Tracer:
        return self.wrap(tensor)

    def fresh(self, tensor: Tensor) -> Tensor:
        return self.wrap(tensor) if self.takes_all else tensor

    def item(self, tracer: Tracer) -> Any:
        return self.read(tracer).primal.item()

    def value(self, tracer: Tracer) -> Tensor:
        return self.read(tracer).primal

    def constant(self, tracer: Tracer) -> Tensor | None:
        return self.value(tracer) if self.read(tracer).tangent is None else None

    def split(self, a: Any) -> tuple[Any, Any]:
        """(primal, tangent) of an argument; lists of each for a list."""
        if isinstance(a, Tracer) and a.level is self:
            dual = self.read(a)
            return dual.primal, dual.tangent
        if type(a) is list:
            pairs = [self.split(x) for x in a]
            tangents = [t for _, t in pairs]
            return [p for p, _ in pairs], (None if all(t is None for t in tangents) else tangents)
        return a, None

    def process(self, op: Op, args: tuple) -> Any:
        if op.jvp_fn is None and op.vjp_fn is None and op.decompose_fn is not None:
            with opened(self), beside(args):
                return op.decompose_fn(*args)
        pairs = [self.split(a) for a in args]
        primals = tuple([p for p, _ in pairs])
        tangents = tuple([t for _, t in pairs])
        out = dispatch.call_core(op, primals)
        if isinstance(out, tuple) and out and not isinstance(out[0], Tensor):  # seed and offset of random numbers
            return out
        tangent_out = None if all(t is None for t in tangents) else self._tangent_of(op, primals, tangents, out)
        if isinstance(out, tuple):
            parts = tangent_out if isinstance(tangent_out, (tuple, list)) else [None] * len(out)
            return public(op, tuple([self.wrap(o, _floating(o, t)) for o, t in zip(out, parts)]))
        return self.wrap(out, _floating(out, tangent_out)) if isinstance(out, Tensor) else out

    @staticmethod
    def _tangent_of(op: Op, primals: tuple, tangents: tuple, out: Any) -> Any:
        lacking = f"Trying to use forward AD with {op.name} that does not support it because it has not been implemented yet."
        try:
            if op.jvp_fn is not None:
                with beside(primals):
                    return op.jvp_fn(tangents, *primals, out)
            if op.vjp_fn is not None:
                return _by_transposition(op, primals, tangents, out)
        except NotImplementedError as error:
            raise NotImplementedError(f"{lacking} {error}") from None
        if is_lost(op, out):
            raise NotImplementedError(lacking)
        return None


def _continuous(x: Tensor) -> bool:
    return x.dtype.is_floating_point or x.dtype.is_complex


def _floating(out: Tensor, tangent: Any) -> Any:
    """The tangent of a result, if it can have one, in its sizes: that of one of several broadcast arguments may be smaller."""
    if tangent is None or not _continuous(out):
        return None
    return tangent if tangent.ndim == out.ndim and all(map(known_equal, tangent.shape, out.shape)) else tangent.expand(out.shape)


def _check_tangents(cls: Any, ctx: Any, primals: tuple, given: list, outputs: tuple, tangents: tuple) -> None:
    """Raises RuntimeError for what `jvp` of a user's function may not return."""
    if len(tangents) != len(outputs):
        raise RuntimeError(f"{cls.__name__}.jvp returned {len(tangents)} tangents for {len(outputs)} outputs")
    for i, (out, tangent) in enumerate(zip(outputs, tangents)):
        lost = not isinstance(out, Tensor) or any(out is n for n in ctx._non_differentiable)
        if lost and tangent is not None:
            raise RuntimeError(
                f"{cls.__name__}.jvp returned a tangent for output {i}, which is not differentiable. You should return None at "
                "that position instead."
            )
        if any(out is d for d in ctx._dirty):
            known, version = next((t for p, t in zip(primals, given) if p is out), (None, 0))
            if known is not None and (tangent is not known or known._version == version):
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying "
                    "an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )


def _by_transposition(op: Op, primals: tuple, tangents: tuple, out: Any) -> Any:
    """The tangent of `out` by differentiating the vjp, which is linear in its cotangent: jvp is the vjp's own vjp."""
    from aten.transforms.reverse_mode import vjp

    chosen = [i for i, t in enumerate(tangents) if t is not None]
    outs = out if isinstance(out, tuple) else (out,)

    def f(*values: Any) -> Any:
        full = list(primals)
        for i, value in zip(chosen, values):
            full[i] = value
        result = dispatch.call_core(op, tuple(full))
        parts = result if isinstance(result, tuple) else (result,)
        return tuple([p for p, o in zip(parts, outs) if _continuous(o)])

    where = [i for i, o in enumerate(outs) if _continuous(o)]

    def pullback(*cotangents: Any) -> Any:
        _, vjp_fn = vjp(f, *[primals[i] for i in chosen])
        return vjp_fn(tuple(cotangents))

    zeros = [registry["zeros_like"](outs[i]) for i in where]
    _, transposed = vjp(pullback, *zeros)
    filled = []
    for i in chosen:
        if type(tangents[i]) is list:
            given = [registry["zeros_like"](p) if t is None else t for p, t in zip(primals[i], tangents[i])]
            filled.append(given)
        else:
            filled.append(tangents[i])
    results = transposed(tuple(filled))
    parts: list[Any] = [None] * len(outs)
    for i, r in zip(where, results):
        parts[i] = r
    return tuple(parts) if isinstance(out, tuple) else parts[0]


_CALL = "jvp(f, primals, tangents)"


def jvp(func: Callable, primals: tuple, tangents: tuple, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """(func(*primals), the directional derivative along `tangents`). With has_aux, func returns (output, aux).

    Raises RuntimeError where primals and tangents are not nested alike; with strict where an output does not depend on
    the inputs.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_CALL}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    return jvp_of_chosen(func, primals, range(len(primals)), {}, tangents, strict, has_aux)


def jvp_of_chosen(
    func: Callable, args: tuple, places: Sequence[int], kwargs: dict[str, Any], tangents: tuple, strict: bool, has_aux: bool
) -> tuple:
    """As `jvp` of func(*args, **kwargs), whose arguments at `places` have these tangents."""
    call, primals = _CALL, tuple([args[i] for i in places])
    leaves, spec = pytree.flatten(primals)
    directions, tangent_spec = pytree.flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{call}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {tangent_spec}"
        )
    for name, given in (("primals", leaves), ("tangents", directions)):
        if not given:
            raise RuntimeError(f"{call}: Expected {name} to contain at least one Tensor.")
        for x in given:
            if not isinstance(x, Tensor):
                raise RuntimeError(f"{call}: Expected {name} to only contain Tensors, got {type(x)}")
    level = JvpLevel()
    for x, t in zip(leaves, directions):
        check_tangent(x, t)
    inputs = [level.wrap(x, t) for x, t in zip(leaves, directions)]
    duals = [t.payload for t in inputs]
    others = Beside(level)
    rest, kwargs = others.arguments(args, places, kwargs)
    with opened(level):
        result = with_arguments(func, rest, places, kwargs)(*pytree.unflatten(inputs, spec))
    for x, t, given, before in zip(leaves, directions, inputs, duals):
        now = level.read(given)
        if now is not before:  # it was written, and whoever passed it sees that
            x.copy_(now.primal)
            t.zero_() if now.tangent is None else t.copy_(now.tangent)
    others.written()
    aux = None
    if has_aux:
        result, aux = split_aux(call, result)
        aux = pytree.map_leaves(lambda x: others.given.get(id(x), level.split(x)[0]), checked_aux(aux))
    outputs, out_spec = pytree.flatten(result)
    check_outputs(call, "f(*primals)", outputs, result)
    values, derivatives = [], []
    for o in outputs:
        value, tangent = level.split(o)
        if tangent is None and strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )
        values.append(others.given.get(id(o), value))
        derivatives.append(registry["zeros_like"](value) if tangent is None and isinstance(value, Tensor) else tangent)
    out, tangent_out = pytree.unflatten(values, out_spec), pytree.unflatten(derivatives, out_spec)
    return (out, tangent_out, aux) if has_aux else (out, tangent_out)


def check_tangent(primal: Tensor, tangent: Tensor) -> None:
    """Raises where a tensor cannot have that tangent."""
    for name, value in (("primal", primal), ("tangent", tangent)):
        if not _continuous(value):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if primal.ndim != tangent.ndim or not all(map(same_size, primal.shape, tangent.shape)):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
            f"Tensor is of size {list(map(int, primal.shape))} while the given forward gradient is of size "
            f"{list(map(int, tangent.shape))}."
        )


def linearize(func: Callable, *primals: Any) -> tuple:
    """(func(*primals), f) with f(*tangents) the directional derivative at `primals`.

    f raises RuntimeError for tangents that are not nested as the primals are, or of other sizes or dtypes.
    """
    out = func(*primals)

    def push(*tangents: Any) -> Any:
        check_alike(primals, tangents)
        return jvp(func, primals, tangents)[1]

    return out, push


def check_alike(primals: tuple, tangents: tuple) -> None:
    """Raises RuntimeError for tangents that are not nested as the primals are, or are of other sizes, devices or dtypes."""
    leaves, spec = pytree.flatten(primals)
    directions, given = pytree.flatten(tangents)
    if given != spec:
        raise RuntimeError(f"Expected the tangents {given} to have the same argspec as the primals {spec}")
    for i, (x, t) in enumerate(zip(leaves, directions)):
        for what in ("shape", "device", "dtype"):
            have, want = getattr(t, what), getattr(x, what)
            if have != want:
                raise RuntimeError(
                    f"tangent:{i} with {what} {have} in flattened pytree doesn't match the {what} {want} of its primal."
                )
