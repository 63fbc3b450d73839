"""Settings of aot, under PyTorch's names."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from aten import settings

_SETTINGS = {"debug_assert": "check_metas"}  # PyTorch's name → ours


class _Config(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name not in _SETTINGS:
            raise AttributeError(f"there is no setting {name!r}; known: {', '.join(_SETTINGS)}")
        return getattr(settings, _SETTINGS[name])

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif name not in _SETTINGS:
            raise AttributeError(f"there is no setting {name!r}; known: {', '.join(_SETTINGS)}")
        else:
            setattr(settings, _SETTINGS[name], value)


@contextlib.contextmanager
def patch(**changes: Any) -> Iterator[None]:
    """patch(name=value): for a `with` block, or a decorated function."""
    config = sys.modules[__name__]
    before = {name: getattr(config, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


sys.modules[__name__].__class__ = _Config
