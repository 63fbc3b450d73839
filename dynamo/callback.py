"""Functions called before and after each compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CompilationCallbackHandler:
    """`start_callbacks` and `end_callbacks` are called, without arguments, around the compilation of a frame."""

    def __init__(self) -> None:
        self.start_callbacks: list[Callable[[], None]] = []
        self.end_callbacks: list[Callable[[], None]] = []

    def register_start_callback(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback()` before each compilation; returns it."""
        self.start_callbacks.append(callback)
        return callback

    def register_end_callback(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback()` after each compilation, also one that failed; returns it."""
        self.end_callbacks.append(callback)
        return callback

    def remove_start_callback(self, callback: Callable[[], None]) -> None:
        """Raises ValueError if it was not registered."""
        self.start_callbacks.remove(callback)

    def remove_end_callback(self, callback: Callable[[], None]) -> None:
        """Raises ValueError if it was not registered."""
        self.end_callbacks.remove(callback)

    def run_start_callbacks(self) -> None:
        for callback in self.start_callbacks:
            callback()

    def run_end_callbacks(self) -> None:
        for callback in self.end_callbacks:
            callback()

    @contextmanager
    def install_callbacks(self) -> Iterator[None]:
        """Within the block something is compiled."""
        self.run_start_callbacks()
        try:
            yield
        finally:
            self.run_end_callbacks()

    def clear(self) -> None:
        """Forget all callbacks."""
        self.start_callbacks.clear()
        self.end_callbacks.clear()


callback_handler = CompilationCallbackHandler()
on_compile_start = callback_handler.register_start_callback
on_compile_end = callback_handler.register_end_callback
