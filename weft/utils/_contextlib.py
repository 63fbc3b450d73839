"""Context managers that are decorators too, of functions and of generators."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any


def _within(ctx: Callable[[], Any], generator: Callable[..., Any]) -> Callable[..., Any]:
    """A generator function whose steps run in the context, and nothing between them does."""

    @functools.wraps(generator)
    def steps(*args: Any, **kwargs: Any) -> Iterator[Any]:
        running = generator(*args, **kwargs)
        step: Callable[[], Any] = lambda: next(running)
        while True:
            try:
                with ctx():
                    item = step()
            except StopIteration as stop:
                return stop.value
            try:
                value = yield item
            except GeneratorExit:
                with ctx():
                    running.close()
                raise
            except BaseException:
                step = functools.partial(running.throw, sys.exc_info()[1])
            else:
                step = functools.partial(running.send, value)

    return steps


def context_decorator(ctx: Any, func: Any) -> Any:
    """`func` with each call in a context: `ctx` is a context manager that may be entered again and again, or makes one.

    RuntimeError for what is both; classes are refused, as their methods are what a context would be for.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise RuntimeError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which "
            "interface to use."
        )
    make = ctx if callable(ctx) else lambda: ctx
    if inspect.isgeneratorfunction(func):
        return _within(make, func)
    if inspect.isclass(func):
        raise RuntimeError("Cannot decorate classes, as it is ambiguous what of them is meant: decorate methods")

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return call


class _DecoratorContextManager:
    """A base of context managers whose objects decorate functions: `clone()` makes one for each call."""

    def __call__(self, orig_func: Any) -> Any:
        return context_decorator(self.clone, orig_func)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another of the class, made without arguments."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without being called first: `@mode` is `@mode()`."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
