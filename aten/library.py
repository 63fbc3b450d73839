"""Custom ops of users: an opaque function on tensors as one op, with a shape rule, a derivative and a batching rule.

    @custom_op("mylib::smooth", mutates_args=())
    def smooth(x: Tensor, width: int) -> Tensor: ...

    @smooth.register_fake
    def _(x, width): return empty_like(x)

Levels, compile and autograd see the op and never look inside it.
"""

import inspect
import threading
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from aten import _native, autocast, devices, dispatch, pytree
from aten._native import Tensor
from aten.derivative import by_place
from aten.dtype import DType, device
from aten.errors import NoShapeRule
from aten.meta import Meta
from aten.op import Op
from aten.op import op as declare
from aten.symbolic.checked import holds
from aten.symbolic.unknown import unknown_size

_KEPT: Any = object()
_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "Scalar",
    DType: "ScalarType",
    device: "Device",
}


def schema_type(annotation: Any, where: str) -> str:
    """The type of a parameter in a declaration; ValueError for an annotation that has none."""
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in inner if a is not type(None)]
        if len(rest) == 1:
            return schema_type(rest[0], where) + "?"
        if set(rest) <= {int, float, bool}:
            return "Scalar" + ("?" if len(rest) < len(inner) else "")
    if origin in (list, Sequence) and len(inner) == 1 and inner[0] in _TYPES:
        return _TYPES[inner[0]] + "[]"
    raise ValueError(
        f"custom_op: {where} has the annotation {annotation!r}; supported are Tensor, int, float, bool, str, dtype, "
        "device, sequences of these, and Optional of these"
    )


def infer_schema(function: Callable[..., Any], name: str) -> str:
    """The declaration that a function's annotations say. Raises ValueError where one is missing or unknown."""
    signature = inspect.signature(function, eval_str=True)
    params, star = [], False
    for p in signature.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise ValueError(f"custom_op: {name} must not take *args or **kwargs")
        if p.annotation is p.empty:
            raise ValueError(f"custom_op: parameter {p.name} of {name} needs a type annotation")
        if p.kind is p.KEYWORD_ONLY and not star:
            params, star = [*params, "*"], True
        text = f"{schema_type(p.annotation, f'parameter {p.name}')} {p.name}"
        params.append(text if p.default is p.empty else f"{text}={p.default!r}")
    return f"{name}({', '.join(params)}) -> {_returns(signature.return_annotation, name)}"


def _returns(annotation: Any, name: str) -> str:
    if annotation is Tensor:
        return "Tensor"
    if annotation is None or annotation is type(None):
        return "()"
    inner = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and inner and all(a is Tensor for a in inner):
        return "(" + ", ".join(["Tensor"] * len(inner)) + ")"
    if _nests(annotation):
        return "Tensor[]"
    raise ValueError(f"custom_op: {name} must return Tensor, a tuple of Tensors, or None, not {annotation!r}")


def _nests(annotation: Any) -> bool:
    """Whether results are a list of tensors, or a tuple that has such a list or numbers beside tensors."""
    inner = typing.get_args(annotation)
    if typing.get_origin(annotation) in (list, Sequence):
        return inner == (Tensor,)
    known = (Tensor, int, float, bool)
    several = typing.get_origin(annotation) is tuple and not all(a is Tensor for a in inner)
    return several and all(a in known or _nests(a) for a in inner)


class _Asked(threading.local):
    """The op whose shape rule is running."""

    name: str | None = None


_asked = _Asked()


class FakeContext:
    """What a shape rule may ask for: sizes that only the data says."""

    def __init__(self, name: str):
        self.name = name

    def new_dynamic_size(self, *, min: Any = 0, max: int | None = None) -> Any:
        """A size between `min` and `max` that each call decides. Raises ValueError for limits that are not such numbers."""
        if not isinstance(min, int) or not (max is None or isinstance(max, int)):
            raise ValueError(f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be statically known ints.")
        if min < 0:
            raise ValueError(f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0: it is a size.")
        size = unknown_size(f"the sizes of {self.name} depend on the data", max)
        if min:
            holds(size >= min)
        return size

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> FakeContext:
    """The context of the shape rule that is running. Raises RuntimeError outside of one."""
    if _asked.name is None:
        raise RuntimeError("get_ctx() can only be called inside of a fake implementation: one given to register_fake")
    return FakeContext(_asked.name)


class VmapInfo(NamedTuple):
    """What a batching rule is told besides its arguments."""

    batch_size: int
    randomness: str


class Context:
    """What `setup_context` leaves for `backward`; any attribute may be set."""

    def __init__(self, needs_input_grad: tuple[Any, ...]):
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for `backward`."""
        self.saved_tensors = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients of unused results come as zeros (the default) or as None."""
        self.materialize_grads = value


class CustomOp:
    """A user's op: calling it calls the op. The `register_` methods are decorators as well."""

    def __init__(
        self, name: str, function: Callable[..., Any], mutates_args: Sequence[str], schema: str | None, gives_back: bool = False
    ):
        namespace, sep, short = name.partition("::")
        if not sep or not namespace.isidentifier() or not short.isidentifier():
            raise ValueError(f"custom_op: the name must be 'namespace::name', got {name!r}")
        self.name = name
        self.function = function
        self._by_device: dict[str, Callable[..., Any]] = {}
        self._fake: Callable[..., Any] | None = None
        op_name = f"{namespace}__{short}"
        declaration = infer_schema(function, op_name) if schema is None else op_name + schema
        self._gives_back = gives_back  # what it returns is what it writes: an op that returns nothing, which a call completes
        if gives_back:
            declaration = f"{declaration.rpartition('->')[0]}-> ()"
        self.op: Op = declare(declaration, tags=["opaque", "library", "function_only"])(self._rule)
        self.op._core = self.op.schema.params
        self.op.anywhere(self._run)
        self._is_fresh = False  # whether results are checked to share no memory with arguments
        self._spec: Any = None  # of nested results: how the op's, a list of tensors, are nested, and the numbers among them
        self._nested = schema is None and _nests(inspect.signature(function, eval_str=True).return_annotation)
        unknown = set(mutates_args) - set(self.op.schema.index)
        if unknown:
            raise ValueError(f"custom_op: mutates_args names {sorted(unknown)}, which are no arguments of {name}")
        self.mutates = sorted(self.op.schema.index[m] for m in mutates_args)
        self._arguments = [p.name for p in self.op.schema.params]
        self._positional = sum(not p.kw_only for p in self.op.schema.params)
        self.writer: Op | None = None  # the op that writes, which graphs have until they are made functional
        if self.mutates:
            text = f"{op_name}_writes" + self.op.declaration[len(op_name) :]
            self.writer = declare(text, kind="composite", tags=["library", "function_only"])(self._written)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.writer is not None:
                result = self.writer(*args, **kwargs)
                return self._written_of(args, kwargs) if self._gives_back else result
            result = self.op(*args, **kwargs)
        except TypeError:
            self._check(args, kwargs)
            raise
        return self._nest(result) if self._nested else result

    def _written_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The arguments of a call that it wrote: one, or a tuple."""
        given = dict(zip(self._arguments, args)) | kwargs
        written = tuple([given[self._arguments[i]] for i in self.mutates])
        return written[0] if len(written) == 1 else written

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raises RuntimeError for arguments that do not go with the declaration, as PyTorch does of ops of a library."""
        try:
            self.op.schema.bind(args, kwargs, self.name)
        except TypeError as e:
            raise RuntimeError(f"{e}. Declaration: {self.name}{self.op.declaration[len(self.op.name) :]}") from None

    def _call(self, function: Callable[..., Any], args: Sequence[Any], before: Sequence[Any] = ()) -> Any:
        """A function of the user's on the op's arguments, those behind the star by name."""
        n = self._positional
        return function(*before, *args[:n], **dict(zip(self._arguments[n:], args[n:])))

    def _implemented(self, args: Sequence[Any]) -> Any:
        """What the user's implementation makes of plain tensors. RuntimeError if a result is, or shows, an argument or another
        result: graphs take it for new memory."""
        result = self._call(self._function(tuple(args)), args)
        if self._is_fresh:
            seen = {_where(a) for a in pytree.leaves(args) if isinstance(a, Tensor)}
            for i, made in enumerate(r for r in pytree.leaves(result) if isinstance(r, Tensor)):
                if _where(made) in seen:
                    raise RuntimeError(
                        f"{self.name}: The output of this custom operator ({i}) must not also be an input to this custom operator "
                        "and may not alias any inputs to this custom operator or other returns. Return a clone of it."
                    )
                seen.add(_where(made))
        return result

    def __repr__(self) -> str:
        return f"<CustomOpDef({self.name})>"

    @property
    def _opoverload(self) -> "CustomOp":
        """The op itself: it has no overloads."""
        return self

    @property
    def _qualname(self) -> str:
        """`namespace::name`, by which programs that keep tables of ops look them up in `ops`."""
        return self.name

    @property
    def _namespace(self) -> str:
        return self.name.partition("::")[0]

    @property
    def _name(self) -> str:
        return self.name.partition("::")[2]

    @property
    def is_plain(self) -> bool:
        """Whether a call is that of the op alone: nothing is written, and results are not nested."""
        return not self.mutates and not self._nested

    def _flat(self, result: Any) -> tuple[Any, ...]:
        """The tensors of a nested result; how they were nested is kept for `_nest`."""
        leaves, spec = pytree.flatten(result)
        is_tensor = [isinstance(x, (Tensor, Meta)) for x in leaves]
        self._spec = spec, [None if t else x for t, x in zip(is_tensor, leaves)], is_tensor
        return tuple([x for t, x in zip(is_tensor, leaves) if t])

    def _nest(self, tensors: Any, other: Any = _KEPT) -> Any:
        """The tensors nested as the last result was; `other` in the place of its numbers."""
        spec, numbers, is_tensor = self._spec
        rest = iter(tensors)
        leaves = [next(rest) if t else n if other is _KEPT else other for t, n in zip(is_tensor, numbers)]
        return pytree.unflatten(leaves, spec)

    def targets(self, args: Sequence[Any]) -> list[Any]:
        """The tensors that a call writes."""
        given = [x for i in self.mutates for x in (args[i] if isinstance(args[i], (list, tuple)) else [args[i]])]
        return [x for x in given if x is not None]

    def _written(self, *args: Any) -> Any:
        """Plain tensors are written by the function itself; Tracers get the new values written back."""
        targets = self.targets(args)
        if not any(isinstance(a, Tensor) and _native.is_tracer(a) for a in pytree.leaves(args)):
            for target in targets:
                _native.check_inplace(target)
            with dispatch.no_grad():
                result = self._implemented(args)
            result = None if self._gives_back else result
            for target in targets:
                target._bump_version()
            return result
        self._refuse_shared(targets, args)
        results = dispatch.call_core(self.op, args)
        results = tuple(results) if isinstance(results, (tuple, list)) else (results,)
        n = len(results) - len(targets)
        for target, new in zip(targets, results[n:]):
            target.copy_(new)
        return None if n == 0 else results[0] if n == 1 else tuple(results[:n])

    def _refuse_shared(self, targets: list[Any], args: Sequence[Any]) -> None:
        """Raises NotImplementedError where the op would see twice what it writes: as a function it writes copies."""
        given = [a for a in pytree.leaves(args) if isinstance(a, Tensor) and _native.is_tracer(a) and a.payload is not None]
        memory = [_memory(a) for a in given]
        for t in (t for t in targets if any(t is a for a in given)):
            same = [a for a, place in zip(given, memory) if place == _memory(t)]
            if sum(a is t for a in same) > 1 or any(a is not t and meets(a.meta, t.meta) for a in same):
                raise NotImplementedError(f"{self.name} writes a tensor whose memory another argument shows: not in a transform")

    def _run(self, *args: Any) -> Any:
        """The op as a function without effects: results, then the new values of what it mutates."""
        if not self.mutates:
            result = self._implemented(args)
            if self._nested:
                return self._flat(result)
            return tuple(result) if isinstance(result, (tuple, list)) else result
        own = list(args)
        for i in self.mutates:
            own[i] = pytree.map_leaves(lambda x: None if x is None else x.clone(), args[i])
        result = self._implemented(own)
        return (*(() if self._gives_back else _several(result)), *self.targets(own))

    def _function(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """The implementation for where the tensors are: the device's own, or the one for all."""
        where = devices.elsewhere(args)
        return self.function if where is None else self._by_device.get(where.type, self.function)

    def _rule(self, *metas: Any) -> Any:
        from aten.transforms.tracer import meta_of_function

        likes = [m.like() for m in self.targets(metas)]
        if self._fake is None:
            if self.mutates and not self.op.schema.returns:
                return tuple(likes)
            raise NoShapeRule(f"{self.name} has no shape rule: register one with {self.name.partition('::')[2]}.register_fake")
        before, _asked.name = _asked.name, self.name  # (a rule may ask another op's)
        try:
            result = meta_of_function(lambda *given: self._call(self._fake, given), metas)
        finally:
            _asked.name = before
        if self._nested:
            return self._flat(result)
        return (*_several(result), *likes) if self.mutates else result

    # ---- registration
    def register_fake(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """`fn(*args)` makes results of the right sizes and dtypes, without data: the shape rule."""
        self._fake = fn
        return fn

    register_abstract = register_fake

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None) -> Any:
        """Another implementation for devices of a type; for "cpu" (or None) it replaces the function."""

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            wanted = [device_types] if isinstance(device_types, str) else device_types
            if wanted is None or "cpu" in wanted:
                self.function = fn
            self._by_device.update(dict.fromkeys(wanted or (), fn))
            return fn

        return register if fn is None else register(fn)

    def register_autograd(self, backward: Callable[..., Any], /, *, setup_context: Callable[..., None] | None = None) -> None:
        """`backward(ctx, *grads)` gives one gradient (or None) an argument; `setup_context(ctx, inputs, output)`
        saves.
        """
        params = self.op.core
        slots = [i for i, p in enumerate(params) if p.differentiable]

        def vjp(g: Any, out: Any, needs: tuple[Any, ...], *inputs: Any) -> Any:
            ctx = Context(needs)
            if setup_context is not None:
                n = self._positional
                keywords = {p.name: v for p, v in zip(params[n:], inputs[n:])}
                shown = self._nest(out) if self._nested else out
                if keywords:
                    setup_context(ctx=ctx, inputs=inputs[:n], keyword_only_inputs=keywords, output=shown)
                else:
                    setup_context(ctx, inputs[:n], shown)
            given = tuple(g) if isinstance(g, (tuple, list)) else (g,)
            outs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
            if ctx.materialize_grads:
                given = tuple([o.new_zeros(o.shape) if x is None else x for x, o in zip(given, outs)])
            if self._nested:
                nested = self._nest(given, None)
                given = nested if isinstance(nested, tuple) else (nested,)
            grads = backward(ctx, *given)
            grads = grads if isinstance(grads, tuple) else (grads,)
            if len(slots) == 1:
                return grads[slots[0]]
            return tuple([grads[i] if i < len(grads) else None for i in slots])

        vjp.asks = ("g", "out", "needs", *map(by_place, range(len(params))))  # type: ignore[attr-defined]
        self.op.vjp(vjp)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """While autocast of `device_type` is on, the op gets its floating tensors there in the dtype `cast_inputs`."""
        if not isinstance(device_type, str):
            raise ValueError(f"register_autocast: the type of a device is a str, got {type(device_type).__name__}")
        for op in (self.op, self.writer):
            if op is not None:
                autocast.register(op, device_type, cast_inputs)

    def register_vmap(self, fn: Callable[..., Any] | None = None) -> Any:
        """`fn(info, in_dims, *args) -> (result, out_dims)`: the op on batches."""

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            def batch(size: Any, dims: Any, *args: Any) -> tuple[Any, Any]:
                result, out_dims = self._call(fn, args, (VmapInfo(size, "error"), dims[: self._positional]))
                if not self._nested:
                    return result, out_dims
                tensors = self._flat(result)
                places, _ = pytree.flatten(out_dims, is_leaf=lambda x: x is None)
                if len(places) == 1:
                    return tensors, (places[0],) * len(tensors)
                return tensors, tuple([p for p, t in zip(places, self._spec[2]) if t])

            self.op.batch(batch)
            return fn

        return register if fn is None else register(fn)


def _where(tensor: Tensor) -> Any:
    """What stands for the storage of a plain tensor; of no elements, the tensor."""
    return tensor.untyped_storage().data_ptr() or id(tensor)


def _memory(tensor: Any) -> Any:
    """What stands for the memory of a tensor: a transform's cell, or where a plain tensor lies."""
    while _native.is_tracer(tensor):
        if tensor.cell is not None:
            return tensor.cell
        inner = getattr(tensor.payload, "value", tensor.payload)  # (of a batch)
        if not isinstance(inner, Tensor):
            return id(tensor)
        tensor = inner
    return tensor.untyped_storage().data_ptr()


def meets(a: Meta, b: Meta) -> bool:
    """Whether two tensors in one memory may show an element both."""
    spans = []
    for meta in (a, b):
        if any(type(n) is not int for n in (*meta.sizes, *meta.strides, meta.offset)):
            return True
        if 0 in meta.sizes:
            return False
        spans.append((meta.offset, meta.offset + sum((n - 1) * s for n, s in zip(meta.sizes, meta.strides))))
    (first, last), (other_first, other_last) = spans
    return first <= other_last and other_first <= last


def _several(result: Any) -> tuple[Any, ...]:
    """What a function returns, as a tuple."""
    return () if result is None else tuple(result) if isinstance(result, (tuple, list)) else (result,)


_custom: dict[str, CustomOp] = {}
changed: list[Callable[[str], None]] = []  # told each name that comes to mean another op, or none


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Sequence[str] = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = (),
) -> Any:
    """Make a function on tensors an op called `name` ("namespace::name").

    mutates_args: names of the arguments that it writes. schema: "(Tensor x, int n) -> Tensor", by default from the
    annotations. Results must not share memory with arguments, but for an op whose tags have Tag.inplace or Tag.out: it returns the
    arguments that it writes. Raises ValueError for a bad name or annotation.
    """

    def make(fn: Callable[..., Any]) -> CustomOp:
        said = {getattr(tag, "name", tag) for tag in (tags if isinstance(tags, (tuple, list, set)) else (tags,))}
        made = CustomOp(name, fn, mutates_args, schema, bool(said & {"inplace", "out"}))
        made._is_fresh = not made._gives_back
        add(made)
        return made

    return make if fn is None else make(fn)


def lookup(name: str) -> CustomOp | None:
    """The custom op "namespace::name", or None."""
    return _custom.get(name)


def check(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises RuntimeError if there is a custom op "namespace::name" whose declaration these arguments do not go with."""
    op = _custom.get(name)
    if op is not None:
        op._check(args, kwargs)


def add(op: CustomOp) -> None:
    """Let `lookup` find it."""
    _custom[op.name] = op
    for tell in changed:
        tell(op.name)


def remove(name: str) -> None:
    """Undo `add`."""
    _custom.pop(name, None)
    for tell in changed:
        tell(name)


def names() -> list[str]:
    """Those of all custom ops."""
    return list(_custom)


def found(op: Any) -> CustomOp:
    """A custom op, given itself, under its name or as an entry of `weft.ops`. Raises RuntimeError for none."""
    if isinstance(op, CustomOp):
        return op
    try:
        return _custom[op if isinstance(op, str) else vars(op).get("overloadpacket", op)._qualified]
    except (KeyError, TypeError, AttributeError):
        raise RuntimeError(f"operator {op} does not exist: there is no custom op of this name") from None


def register_fake(op: Any, fn: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """`CustomOp.register_fake` by name."""
    return found(op).register_fake if fn is None else found(op).register_fake(fn)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., None] | None = None, lib: Any = None
) -> None:
    """`CustomOp.register_autograd` by name."""
    found(op).register_autograd(backward, setup_context=setup_context)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """`CustomOp.register_autocast` by name."""
    found(op).register_autocast(device_type, cast_inputs)


def register_vmap(op: Any, fn: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """`CustomOp.register_vmap` by name."""
    return found(op).register_vmap(fn)


__all__ = ["CustomOp", "custom_op", "infer_schema", "register_autograd", "register_fake", "register_vmap", "schema_type"]
