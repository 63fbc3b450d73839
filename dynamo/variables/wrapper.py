"""Tensors of classes with a `__torch_dispatch__`, made of other tensors (`__tensor_flatten__`, `__tensor_unflatten__`).

The graph has the wrapper itself: its backend runs ops on it, so that they are dispatched as in eager code. What an op gives is
found by running the class's `__torch_dispatch__` while tracing, on a wrapper of the same make around tensors without values.
"""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import aten
from aten import _native, overrides, pytree
from aten.meta import Meta
from aten.symbolic.symint import SYMBOLIC
from aten.transforms.tracer import MetaLevel, Tracer, opened
from dynamo import breaks, exc, guards
from dynamo.breaks import NotConstant, Unsupported
from dynamo.source import Converted
from dynamo.variables.base import Variable
from dynamo.variables.constant import PLAIN
from dynamo.variables.sequence import NamedTupleVariable
from dynamo.variables.symint import symbolic
from dynamo.variables.tensor import MEMORY, TO_PYTHON, TensorVariable, any_wrapper, wrap_result

_LEVEL = MetaLevel()  # of all tensors without values that wrappers are made around


class WrapperVariable(TensorVariable):
    """A wrapper: `fake` is one around tensors without values."""

    __slots__ = ("fake",)
    is_wrapper = True

    def __init__(self, node: Any, fake: Any, requires_grad: bool, value: Any = None, source: Any = None):
        meta = Meta(fake.dtype, fake.device, tuple(fake.shape), fake.stride(), 0, requires_grad)
        super().__init__(node, meta, value=value, cls=type(fake), source=source)
        self.fake = fake

    def own(self, name: str) -> Any:
        """What the stand-in, which tracing has made, has of that name."""
        return vars(self.fake).get(name)

    def describe(self) -> str:
        return f"a tensor of {self.cls.__qualname__}, which has a __torch_dispatch__"

    def getattr(self, frame: Any, name: str) -> Variable:
        inner = self.own(name)
        if inner is None or name in MEMORY or name in self.rules or not isinstance(inner, aten.Tensor):
            return super().getattr(frame, name)
        if self.source is not None:
            return frame.world.attribute(self.value, self.source, name)
        node = frame.output.graph.call_function(getattr, (self.node, name), {}, val=as_meta(inner, False))
        node.meta["part"] = True
        return made(frame, node, inner, False)

    def class_attribute(self, frame: Any, name: str) -> Variable:
        own = self.own(name)
        if self.source is None and type(own) in PLAIN:
            return frame.values.literal(frame, own)
        if self.source is None and type(own) in SYMBOLIC:
            return symbolic(frame, own)
        if self.source is None and name in vars(self.fake):
            raise Unsupported(breaks.DYNAMIC_ATTRIBUTE, f"{name} of {self.describe()}")
        return super().class_attribute(frame, name)

    def setattr(self, frame: Any, name: str, value: Variable) -> None:
        raise Unsupported(breaks.MUTATED_ALIAS, f"setting {name} of {self.describe()}")

    def method(self, frame: Any, name: str, args: list, kwargs: dict) -> Any:
        if name in TO_PYTHON or name == "numpy":
            raise Unsupported(breaks.TENSOR_TO_PYTHON, f"{name}() of {self.describe()}")
        return super().method(frame, name, args, kwargs)

    def recipe(self, emit: Any) -> Any:
        return emit.load(self.source) if self.source is not None else emit.graph_output(self.node)


def is_traceable(cls: type) -> bool:
    """Whether instances can be taken apart and made again."""
    return hasattr(cls, "__tensor_flatten__") and hasattr(cls, "__tensor_unflatten__")


def is_made(value: Any) -> bool:
    """Whether a wrapper has its parts: while its class makes it, it has none yet."""
    try:
        names, _ = value.__tensor_flatten__()
        return all(hasattr(value, name) for name in names)
    except AttributeError:
        return False


def outside(frame: Any, value: Any, source: Any) -> Variable:
    """A wrapper from outside: a placeholder, guarded by what it is made of."""
    output = frame.output
    output.guard_type(source, type(value))
    output.guard(guards.Equals(Converted(source, AsBefore(value)), True))
    fake = stand_in(value)
    if (fake.dtype, tuple(fake.shape), fake.stride()) != (value.dtype, tuple(value.shape), value.stride()):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"of {type(value).__qualname__}, whose layout is not that of what it is made of")
    node = output.add_input(source, value, Meta.of(value))
    node.meta["wrapper"] = True
    return WrapperVariable(node, fake, value.requires_grad, value, source)


def stand_in(value: Any) -> Any:
    """A wrapper like this one, around tensors without values."""
    names, context = value.__tensor_flatten__()
    inner = {}
    for name in names:
        part = getattr(value, name)
        wrapped = overrides.kind_of(type(part)) & overrides.DISPATCH
        inner[name] = stand_in(part) if wrapped else _LEVEL.make(None, Meta.of(part))
    with opened(_LEVEL):
        return type(value).__tensor_unflatten__(inner, context, value.shape, value.stride())


def constructed(frame: Any, cls: Any, args: list, kwargs: dict) -> Variable:
    """cls(*args, **kwargs) of a class of wrappers, by the graph itself: of tensors, and of what can stand in a graph besides."""
    if not is_traceable(cls):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"of {cls.__qualname__}, which has a __torch_dispatch__")
    for name in ("__new__", "__init__"):
        frame.world.on_class(cls, name)
    try:
        positional = [_argument(frame, a) for a in args]
        named = {k: _argument(frame, v) for k, v in kwargs.items()}
    except NotConstant as e:
        raise Unsupported(breaks.UNKNOWN_VALUE, f"of {cls.__qualname__}, made of {e.args[0].describe()}") from None
    try:
        with opened(_LEVEL), overrides.DisableTorchFunctionSubclass():
            fake = cls(*[seen for seen, _ in positional], **{k: seen for k, (seen, _) in named.items()})
    except Exception as e:  # of the class's own code: it is run once more, in eager code, which raises it
        raise Unsupported(breaks.UNKNOWN_CALL, f"{cls.__qualname__}(…), which raises {type(e).__name__}: {e}") from e
    if type(fake) is not cls:
        raise Unsupported(breaks.UNKNOWN_VALUE, f"what {cls.__qualname__}(…) gives")
    return _given(frame, cls, ([arg for _, arg in positional], {k: arg for k, (_, arg) in named.items()}), fake)


def given_by(frame: Any, function: Any, arguments: tuple, result: Any) -> Variable:
    """The wrapper that a node gives which calls `function`: one like `result`, made while tracing."""
    if not is_traceable(type(result)) or not is_made(result):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"of {type(result).__qualname__}, which {function.__name__} gives")
    return _given(frame, function, arguments, stand_in(result))


def _given(frame: Any, function: Any, arguments: tuple, fake: Any) -> Variable:
    output = frame.output
    if not is_made(fake):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"of {type(fake).__qualname__}, half made")
    if fake.requires_grad and output.grad_enabled:
        raise Unsupported(breaks.MUTATED_ALIAS, "a new leaf that requires grad")
    output.graph.line, output.recorded = output.user_line(), True
    node = output.graph.call_function(function, tuple(arguments[0]), arguments[1], val=as_meta(fake, False))
    node.meta["wrapper"] = True
    output.note_modes(node)
    return WrapperVariable(node, fake, False)


def _argument(frame: Any, variable: Variable) -> tuple[Any, Any]:
    """An argument as the class sees it while tracing, and in the graph, which makes named tuples and frozen dataclasses itself."""
    variable = variable.realize(frame)
    cls: Any = variable.python_type()
    if isinstance(variable, NamedTupleVariable):
        parts = dict(zip(cls._fields, variable.items))
    elif getattr(getattr(cls, "__dataclass_params__", None), "frozen", False) and variable.source is None:
        parts = {f.name: variable.getattr(frame, f.name) for f in dataclasses.fields(cls) if f.init}
    else:
        return given(variable), variable.as_arg()
    made = {name: _argument(frame, part) for name, part in parts.items()}
    node = frame.output.graph.call_function(cls, (), {name: arg for name, (_, arg) in made.items()}, val=None)
    return cls(**{name: seen for name, (seen, _) in made.items()}), node


class AsBefore:
    """Whether a wrapper is made as this one is: layout, parts, and what `__tensor_flatten__` says besides."""

    def __init__(self, value: Any):
        self.context = value.__tensor_flatten__()[1]
        self.layout = _layout(value)
        self.same = _metadata_guard(type(value))

    def __call__(self, value: Any) -> bool:
        return is_made(value) and _layout(value) == self.layout and bool(self.same(self.context, value.__tensor_flatten__()[1]))


def _layout(value: Any) -> tuple:
    names, _ = value.__tensor_flatten__()
    own = (type(value), value.dtype, value.device, tuple(value.shape), value.stride(), value.requires_grad)
    return (*own, *((n, _part(getattr(value, n))) for n in names))


def _part(part: Any) -> tuple:
    if overrides.kind_of(type(part)) & overrides.DISPATCH:
        return _layout(part)
    return type(part), part.dtype, part.device, tuple(part.shape), part.stride(), part.requires_grad


def _metadata_guard(cls: type) -> Any:
    """How two contexts of a class are compared."""
    own = inspect.getattr_static(cls, "__metadata_guard__", None)
    if own is None:
        return lambda a, b: a == b
    if not isinstance(own, classmethod):
        raise exc.BrokenProtocol("Tensor subclass method __metadata_guard__ must be a classmethod")
    if len(inspect.signature(cls.__metadata_guard__).parameters) != 2:  # type: ignore[attr-defined]
        raise exc.BrokenProtocol(
            "Tensor subclass method __metadata_guard__ must take exactly two subclass metadata arguments"
        )
    return cls.__metadata_guard__  # type: ignore[attr-defined]


# -------------------------------------------------------------------------------------------------------------- operations
def record(output: Any, frame: Any, op: Any, args: list, kwargs: dict) -> Variable:
    """Record op(*args, **kwargs) of wrappers."""
    if op.kind == "inplace" or "effect" in op.tags or kwargs.get("out") is not None:
        raise Unsupported(breaks.MUTATED_ALIAS, f"{op.name} writes a wrapper")
    try:
        fakes = [given(a) for a in args], {k: given(v) for k, v in kwargs.items()}
        positional, named = tuple(a.as_arg() for a in args), {k: v.as_arg() for k, v in kwargs.items()}
    except NotConstant as e:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name} of {e.args[0].describe()}") from None
    before = _native.set_grad_enabled(False)
    try:
        with opened(_LEVEL), overrides.DisableTorchFunctionSubclass():
            result = op(*fakes[0], **fakes[1])
    except Exception as e:  # of the class's own code: it is run once more, in eager code, which raises it
        raise Unsupported(breaks.UNKNOWN_CALL, f"{op.name}, for which __torch_dispatch__ raises {type(e).__name__}: {e}") from e
    finally:
        _native.set_grad_enabled(before)
    needs = output.grad_enabled and op.name != "detach" and any(t.meta.requires_grad for t in _tensors([*args, *kwargs.values()]))
    output.graph.line = output.user_line()
    output.recorded = True
    leaves, spec = pytree.flatten(result)
    val = pytree.unflatten([as_meta(x, needs) for x in leaves], spec)
    node = output.graph.call_function(op, positional, named, val=val)
    output.note_modes(node)
    if isinstance(result, aten.Tensor):
        return made(frame, node, result, needs)
    if any(isinstance(x, aten.Tensor) and not isinstance(x, Tracer) for x in leaves):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"several wrappers, which {op.name} gives")
    return wrap_result(frame, node, val)


def given(value: Variable) -> Any:
    """An argument as `__torch_dispatch__` sees it while tracing."""
    if isinstance(value, WrapperVariable):
        return value.fake
    meta = value.as_meta() if not any_wrapper([value]) else [given(v) for v in value.items]  # type: ignore[attr-defined]
    return _without_values(meta)


def _without_values(x: Any) -> Any:
    if type(x) is Meta:
        return _LEVEL.make(None, x)
    return type(x)(map(_without_values, x)) if type(x) in (list, tuple) else x


def as_meta(x: Any, requires_grad: bool) -> Any:
    """The Meta of a result of `__torch_dispatch__`; what is no tensor as it is."""
    if not isinstance(x, aten.Tensor):
        return x
    floating = x.dtype.is_floating_point or x.dtype.is_complex
    return Meta(x.dtype, x.device, tuple(x.shape), x.stride(), 0, requires_grad and floating)


def made(frame: Any, node: Any, result: Any, requires_grad: bool) -> Variable:
    """The Variable of one result."""
    meta = as_meta(result, requires_grad)
    return TensorVariable(node, meta) if isinstance(result, Tracer) else WrapperVariable(node, result, meta.requires_grad)


def _tensors(values: list) -> list[TensorVariable]:
    found: list[TensorVariable] = []
    for v in values:
        if isinstance(v, TensorVariable):
            found.append(v)
        elif isinstance(getattr(v, "items", None), list):
            found += _tensors(v.items)
    return found
