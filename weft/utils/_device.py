"""The device of new tensors, as a context manager and as a decorator."""

from __future__ import annotations

import functools
from typing import Any

import aten
from weft.utils._contextlib import context_decorator


class DeviceContext:
    """Within the block new tensors are on `device`."""

    def __init__(self, device: Any) -> None:
        self.device = aten.device(device)

    def __enter__(self) -> Any:
        return self.device.__enter__()

    def __exit__(self, *exc: Any) -> Any:
        return self.device.__exit__(*exc)


def device_decorator(device: Any, func: Any) -> Any:
    """`func`, whose new tensors are on `device`."""
    return context_decorator(lambda: DeviceContext(device), func)


def set_device(device: Any) -> Any:
    """A decorator that puts the new tensors of a function on `device`."""
    return functools.partial(device_decorator, aten.device(device))
