"""Results that come later, under the names `torch.futures` and `torch.jit.fork`."""

from __future__ import annotations

import threading
import typing
from collections.abc import Callable
from typing import Any

__all__ = ["Future", "collect_all", "fork", "wait", "wait_all"]


class Future:
    """A result, or an exception, that another part of the program sets. Threads may wait for it."""

    def __init__(self, *, devices: Any = None) -> None:
        self._ready = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def __class_getitem__(cls, item: Any) -> Any:
        return typing.Annotated[cls, item]

    def done(self) -> bool:
        """Whether it is set."""
        return self._done

    def wait(self) -> Any:
        """The result, once it is there; an exception is raised."""
        with self._ready:
            self._ready.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> Any:
        """The result that is there; RuntimeError if it is not yet."""
        if not self._done:
            raise RuntimeError("Future is not completed yet: wait() for it")
        if self._error is not None:
            raise self._error
        return self._value

    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._ready:
            if self._done:
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._ready.notify_all()
        for callback in callbacks:
            callback(self)

    def set_result(self, result: Any) -> None:
        """Sets it, wakes who waits, and calls the callbacks. RuntimeError for a second time."""
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Sets an exception instead: `wait` raises it."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._set(None, result)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """`callback(self)` once it is set; at once if it is."""
        with self._ready:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A Future of `callback(self)`, which is called once this one is set."""
        after = Future()

        def go_on(future: Future) -> None:
            try:
                result = callback(future)
            except Exception as error:  # it is the result, for who waits
                after.set_exception(error)
            else:
                after.set_result(result)

        self.add_done_callback(go_on)
        return after


def collect_all(futures: list[Future]) -> Future:
    """A Future of the list, set once all in it are."""
    together, left = Future(), threading.Semaphore(1)
    missing = len(futures)
    if not futures:
        together.set_result(futures)

    def one_less(_: Future) -> None:
        nonlocal missing
        with left:
            missing -= 1
            last = missing == 0
        if last:
            together.set_result(futures)

    for future in futures:
        future.add_done_callback(one_less)
    return together


def wait_all(futures: list[Future]) -> list[Any]:
    """The results of all; an exception is raised."""
    return [future.wait() for future in collect_all(futures).wait()]


def fork(func: Callable, *args: Any, **kwargs: Any) -> Future:
    """func(*args, **kwargs), run now."""
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """The value of a Future."""
    return future.wait()
