"""Functions of devices that weft has no kernels for: each raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def functions(device: str, error: type[Exception], names: str) -> dict[str, Callable]:
    """A function of each name, which raises `error`, saying that there is no such device."""

    def made(name: str) -> Callable:
        def absent(*args: Any, **kwargs: Any) -> Any:
            raise error(f"{name}: there is no {device} device here, and weft has no kernels for one")

        absent.__name__ = absent.__qualname__ = name
        absent.__doc__ = f"Raises {error.__name__}: there is no such device."
        return absent

    return {name: made(name) for name in names.split()}
