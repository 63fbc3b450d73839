"""Whether gradients are recorded: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from aten import _native

_GRAD, _INFERENCE = 1, 2  # bits of the ambient word


class _AmbientBits:
    """A context manager, and decorator, that holds bits of the ambient word at a value."""

    __slots__ = ("before",)
    mask = value = 0

    def __enter__(self) -> None:
        self.before = _native.set_ambient_bits(self.mask, self.value)

    def __exit__(self, *exc: Any) -> None:
        _native.set_ambient_bits(self.mask, self.before)

    def clone(self) -> _AmbientBits:
        """A fresh one: each call of a decorated function has its own."""
        return type(self)()

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(fn):
            warnings.warn(
                "Decorating classes is deprecated: only making an instance is covered. Decorate the functions or methods instead.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(fn):
            return _wrap_generator(self, fn)

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return fn(*args, **kwargs)

        return wrapped


def _wrap_generator(mode: _AmbientBits, fn: Callable[..., Any]) -> Callable[..., Any]:
    """The mode holds while the generator's own code runs, not while it is suspended."""

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        generator = fn(*args, **kwargs)
        step, value = generator.send, None
        while True:
            try:
                with mode.clone():
                    item = step(value)
            except StopIteration as stop:
                return stop.value
            try:
                value, step = (yield item), generator.send
            except GeneratorExit:
                with mode.clone():
                    generator.close()
                raise
            except BaseException as error:
                value, step = error, generator.throw

    return wrapped


class no_grad(_AmbientBits):
    """Nothing inside is recorded. `with no_grad():`, `@no_grad()` and `@no_grad`."""

    __slots__ = ()
    mask, value = _GRAD, 0

    def __new__(cls, fn: Callable[..., Any] | None = None) -> Any:
        made = object.__new__(cls)
        return made if fn is None else made(fn)


class enable_grad(no_grad):
    """Gradients are recorded inside, whatever holds outside."""

    __slots__ = ()
    mask, value = _GRAD, _GRAD


class set_grad_enabled(_AmbientBits):
    """Switches recording at once; as a context manager, restores what was before at the end."""

    __slots__ = ("value",)
    mask = _GRAD

    def __init__(self, mode: bool):
        self.value = _GRAD if mode else 0
        self.before = _native.set_ambient_bits(_GRAD, self.value)

    def __enter__(self) -> None:
        _native.set_ambient_bits(_GRAD, self.value)

    def clone(self) -> set_grad_enabled:
        return set_grad_enabled(bool(self.value))

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        _native.set_ambient_bits(_GRAD, self.before)  # as a decorator it switches nothing now
        return super().__call__(fn)


class inference_mode(_AmbientBits):
    """No recording, and results are inference tensors, which autograd never takes. `mode=False`: as usual, with recording."""

    __slots__ = ("value", "mask")

    def __new__(cls, mode: Any = True) -> Any:
        made = object.__new__(cls)
        on = mode if isinstance(mode, bool) else True
        made.mask = _GRAD | _INFERENCE
        made.value = _INFERENCE if on else _GRAD
        return made(mode) if callable(mode) else made

    def clone(self) -> inference_mode:
        return inference_mode(self.value == _INFERENCE)


class set_multithreading_enabled:
    """A switch that is kept and answered: a backward walk has one thread here. It switches at once; a context restores it."""

    on = True

    def __init__(self, mode: bool):
        self.mode, self.before = mode, set_multithreading_enabled.on
        set_multithreading_enabled.on = mode

    def __enter__(self) -> None:
        set_multithreading_enabled.on = self.mode

    def __exit__(self, *exception: Any) -> None:
        set_multithreading_enabled.on = self.before


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last given."""
    return set_multithreading_enabled.on


is_grad_enabled = _native.is_grad_enabled
is_inference_mode_enabled = _native.is_inference_mode_enabled

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
