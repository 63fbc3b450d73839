"""Types and modes that take calls of ops themselves: `__torch_function__` above autograd, `__torch_dispatch__` below it.

Calls on exact Tensors and Parameters never come here: they are native. What other calls cost is a look at the types of their
arguments, of which it is remembered whether they override anything.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.open_levels import stack
from aten.tensor import Parameter, attach, set_fresh, set_overrides

FUNCTION, DISPATCH = 1, 2
_ours = ("aten", "weft", "dynamo", "inductor")
_kinds: dict[type, int] = {Tensor: 0, Parameter: 0, int: 0, float: 0, bool: 0, complex: 0, type(None): 0, str: 0}


_install: Callable[[type], None] = lambda cls: None  # aten.asked_attributes, which is above this file


def set_install(install: Callable[[type], None]) -> None:
    """`install(cls)` has a class asked about its attributes and native methods."""
    global _install
    _install = install


_native_detach = Tensor.detach
LIKE = frozenset(
    "empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full rand_like randn_like randint_like".split()
)
"""Composites that classes are asked about, as they make a tensor of their kind."""


class _State(threading.local):
    """Whether `__torch_function__` of types is off in this thread, and the open dispatch modes."""

    def __init__(self) -> None:
        self.off = 0
        self.modes: list[Any] = []


state = _State()


HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def kind_of(cls: type) -> int:
    """Which of FUNCTION and DISPATCH the class overrides."""
    found = _kinds.get(cls)
    if found is None:
        found = _look_at(cls)
        if issubclass(cls, Tensor) or not cls.__flags__ & HEAP_TYPE:  # (other classes may come to take calls)
            _kinds[cls] = found
    return found


def _function_of(cls: type) -> Any:
    return getattr(getattr(cls, "__torch_function__", None), "__func__", None)


def _look_at(cls: type) -> int:
    own = getattr(cls, "__torch_function__", None)
    subclass = isinstance(cls, type) and issubclass(cls, Tensor)
    if own is None or own is disabled_torch_function or getattr(own, "__func__", own) is disabled_torch_function:
        function = 0
    elif subclass and _function_of(cls) is _own_default:
        # a user's class without one: results are of it too
        function = 0 if cls.__module__.partition(".")[0] in _ours else FUNCTION
    else:
        function = FUNCTION
    return function | (DISPATCH if subclass and getattr(cls, "__torch_dispatch__", None) is not None else 0)


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """As the `__torch_function__` of a subclass: its instances are treated as plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass:
    """Within the block no type's `__torch_function__` is asked."""

    def __enter__(self) -> None:
        state.off += 1

    def __exit__(self, *exc: object) -> None:
        state.off -= 1


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for v in values:
        if type(v) in (list, tuple):
            yield from v
        else:
            yield v


def overriding(values: Iterable[Any], kind: int = FUNCTION) -> list[Any]:
    """The arguments whose types override, one a type, subclasses before their bases, else from the left."""
    found: list[Any] = []
    for v in _flat(values):
        cls = type(v)
        if not kind_of(cls) & kind or any(type(f) is cls for f in found):
            continue
        at = next((i for i, f in enumerate(found) if issubclass(cls, type(f))), len(found))
        found.insert(at, v)
    return found


as_called: dict[Any, Any] = {}  # the op: what PyTorch says was called, `Tensor.__getitem__`


def ask(found: list[Any], func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first type that answers makes of the call. Raises TypeError if none does."""
    types = tuple(type(f) for f in found)
    func = as_called.get(func, func)
    for value in found:
        result = type(value).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{getattr(func, '__module__', 'torch')}.{getattr(func, '__name__', func)}' on types that "
        f"implement __torch_function__: {list(types)}"
    )


def any_overrides(values: Iterable[Any]) -> bool:
    """Whether some value has a `__torch_function__` of its own that is not disabled."""
    return not state.off and bool(overriding(values))


def hand_over(values: Iterable[Any], func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the `__torch_function__` of the values make of a call. Raises TypeError if none takes it."""
    return ask(overriding(values), func, args, kwargs)


rules: dict[tuple[Any, type], Callable[..., Any]] = {}  # (custom op, class of a mode or of tensors): what takes its calls instead
# What `__torch_dispatch__` is given for an op that is called with these arguments; the last says.
seen_by_users: list[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = []


def dispatched(op: Any, args: tuple[Any, ...]) -> Any:
    """What dispatch modes and types below autograd make of a core op; NotImplemented if there are none."""
    modes = state.modes
    found = overriding(args, DISPATCH)
    if not modes and not found:
        return NotImplemented
    positional, kwargs = op.split(args)
    core = op
    if seen_by_users:
        op = seen_by_users[-1](op, positional, kwargs)
    types = tuple(type(f) for f in found)
    before = _native.set_grad_enabled(False)
    try:
        if modes:
            mode = modes.pop()
            try:
                rule = rules.get((core, type(mode)))
                if rule is not None:
                    return rule(mode, op, types, positional, kwargs)
                return mode.__torch_dispatch__(op, types, positional, kwargs)
            finally:
                modes.append(mode)
        for value in found:
            result = rules.get((core, type(value)), type(value).__torch_dispatch__)(op, types, positional, kwargs)
            if result is not NotImplemented:
                return tuple(result) if isinstance(result, list) else result
    finally:
        _native.set_grad_enabled(before)
    raise TypeError(f"Multiple dispatch failed for '{op}'; all __torch_dispatch__ handlers returned NotImplemented")


def _fresh(made: Tensor) -> Tensor:
    """New data, which the open dispatch modes are shown as `lift_fresh`, as the open levels have it."""
    if state.modes:
        made = dispatched(_registry()["lift_fresh"], (made,))
    for level in stack.levels[: stack.top]:
        made = level.fresh(made)
    return made


def as_subclass(self: Tensor, cls: type) -> Any:
    """The tensor as an instance of a subclass of Tensor, on the same memory and with the same history."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"as_subclass(): argument 'cls' must be a subclass of Tensor, not {cls!r}")
    if type(self) is cls:
        return self
    made = _native.make_subclass(cls, _native_detach(self), False)
    if self.requires_grad and _native.is_grad_enabled():
        _native.record("AliasBackward0", lambda node, grads: grads, (self,), (made,), ())
    return made


def _converted(value: Any, cls: type) -> Any:
    if isinstance(value, Tensor) and not _native.is_tracer(value):
        return value if isinstance(value, cls) else as_subclass(value, cls)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_converted(v, cls) for v in value])
    return type(value)([_converted(v, cls) for v in value]) if isinstance(value, (tuple, list)) else value


_PLAIN = frozenset({Tensor.grad, Tensor._base})


@classmethod  # type: ignore[misc]
def _default(cls: type, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
    """What subclasses do that say nothing else: the op on tensors, the results as instances of the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if getattr(func, "kind", "") == "inplace" or _plain_result(func) else _converted(result, cls)


def _plain_result(func: Any) -> bool:
    """Whether it reads an attribute whose value is no result of an op: a gradient, the base of a view."""
    return getattr(func, "__name__", "") == "__get__" and func.__self__ in _PLAIN


_own_default = _default.__func__  # type: ignore[attr-defined]


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **known: Any) -> Any:
    return _native.make_subclass(cls, _native_detach(data), require_grad)


def _make_wrapper_subclass(
    cls: type, size: Any, strides: Any = None, storage_offset: Any = None, memory_format: Any = None, dtype: Any = None,
    layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, **known: Any,
) -> Any:  # fmt: skip
    """An instance of `cls` of these sizes and dtype, whose ops go to `cls.__torch_dispatch__`; its own memory has no meaning."""
    made = _native.empty(tuple(size), dtype, device, None if strides is None else tuple(strides))
    return _native.make_subclass(cls, made, requires_grad)


def _detach(self: Tensor) -> Any:
    """The same memory without history, of a class that may take the call itself."""
    return _registry()["detach"](self) if kind_of(type(self)) else _native_detach(self)


def detaches(found: Any) -> bool:
    """Whether what a class has is the `detach` that every class of a program's own has."""
    return found is _detach


@classmethod  # type: ignore[misc]
def _prepare(cls: type, **keywords: Any) -> None:
    """Native methods that are no ops ask subclasses, as ops do."""
    super(Tensor, cls).__init_subclass__(**keywords)
    dispatch = kind_of(cls) & DISPATCH
    mine = cls.__module__.partition(".")[0] not in _ours
    if mine and kind_of(cls) == FUNCTION and _function_of(cls) is not _own_default:
        _install(cls)
    if (dispatch or mine) and cls.detach is _native_detach:  # type: ignore[attr-defined]
        cls.detach = _detach  # type: ignore[attr-defined]
    if dispatch:
        for name, method in _WITHOUT_MEMORY.items():
            if getattr(cls, name, None) is getattr(Tensor, name, None):
                setattr(cls, name, method)


# ------------------------------------------------------------------------ of classes whose own memory has no meaning
def _refused(name: str) -> Any:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{name}() is not supported for tensor subclasses, got {type(self).__name__}")

    return refuse


def _item(self: Tensor) -> Any:
    """The number that `__torch_dispatch__` says the only element is."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return dispatched(_registry()["_local_scalar_dense"], (self,))


def _number(kind: Callable[[Any], Any]) -> Any:
    return lambda self: kind(_item(self))


_WITHOUT_MEMORY: dict[str, Any] = {
    "numpy": _refused(".numpy"),
    "tolist": _refused(".tolist"),
    "__array__": _refused(".numpy"),
    "__repr__": lambda self: f"{type(self).__name__}(..., size={tuple(self.shape)}, dtype={self.dtype})",
    "data": property(lambda self: _registry()["detach"](self), Tensor.data.__set__),  # type: ignore[attr-defined]
    "item": _item,
    "__bool__": _number(bool),
    "__int__": _number(int),
    "__float__": _number(float),
    "__complex__": _number(complex),
    "__index__": _number(operator.index),
}


def _registry() -> Any:
    from aten.op import registry

    return registry


attach("__init_subclass__", _prepare)
attach("as_subclass", as_subclass)
attach("__torch_function__", _default)
attach("_make_subclass", staticmethod(_make_subclass))
attach("_make_wrapper_subclass", staticmethod(_make_wrapper_subclass))
_kinds[Tensor] = _kinds[Parameter] = 0
set_overrides(kind_of)
set_fresh(_fresh)

__all__ = [
    "DISPATCH",
    "FUNCTION",
    "DisableTorchFunctionSubclass",
    "as_subclass",
    "ask",
    "disabled_torch_function",
    "dispatched",
    "kind_of",
    "overriding",
    "state",
]
