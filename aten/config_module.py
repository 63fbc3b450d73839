"""Modules whose attributes are settings: `config.name = value`, `config.group.name = value`, `config.patch(name=value)`.

There are three kinds of names. Settings of ours are checked against the type of their default. Some of them have another name
with PyTorch. And PyTorch has settings that say how its own parts do their work; programs set them, so they are taken and kept,
and decide nothing here. Any other name is an error.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

from aten import settings


class ConfigModule(types.ModuleType):
    """A module becomes one by `become`; its own globals stay as they are, and are the settings that `own` names."""

    _own: dict[str, type]
    _other_names: dict[str, str]
    _kept: dict[str, Any]  # of PyTorch's that decide nothing here: as they are set, with PyTorch's default to begin with
    _groups: frozenset[str]
    _hidden: set[str]  # names that were deleted, until they are set again

    @classmethod
    def become(cls, module: Any, own: dict[str, type], other_names: dict[str, str], kept: Mapping[str, Any]) -> None:
        """Make a module one, with its settings: the type of each of ours, PyTorch's name of some, PyTorch's that are kept."""
        groups = frozenset(name.partition(".")[0] for name in (*kept, *other_names) if "." in name)
        vars(module).update(_own=own, _other_names=other_names, _kept=dict(kept), _groups=groups, _hidden=set())
        module.__class__ = cls

    def read(self, name: str) -> Any:
        """The value of one of ours."""
        return vars(self)[name]

    def write(self, name: str, value: Any) -> None:
        """Give one of ours a value of its type."""
        vars(self)[name] = value

    def names(self) -> list[str]:
        """All settings of ours."""
        return sorted(self._own)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name in self._hidden:
            raise AttributeError(f"the setting {name!r} of {self.__name__} was deleted")
        if name in self._groups:
            return Group(self, name)
        if name in self._kept:
            return self._kept[name]
        return self.read(self._known(name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        self._hidden.discard(name)
        if name in self._kept:
            self._kept[name] = value
        else:
            known = self._known(name)
            if type(value) is not self._own[known]:
                raise TypeError(f"{known} is of type {self._own[known].__name__}, not {type(value).__name__}")
            self.write(known, value)

    def __delattr__(self, name: str) -> None:
        """The compiler goes on with the value, and nobody else has one before it is set again: `unittest.mock.patch.object`
        deletes what it then sets to what it was."""
        if name.startswith("_") or name in vars(self):
            super().__delattr__(name)
        else:
            getattr(self, name)
            self._hidden.add(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._own, *self._groups, *(n for n in self._kept if "." not in n)})

    def _known(self, name: str) -> str:
        name = self._other_names.get(name, name)
        if name not in self._own:
            raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(self._own))}")
        return name

    def patch(self, arg1: str | Mapping[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Patch:
        """patch("name", value), patch({name: value}) or patch(name=value): for a `with` block, or a decorated function."""
        changes = {arg1: arg2, **kwargs} if isinstance(arg1, str) else {**(arg1 or {}), **kwargs}
        if not changes:
            raise AssertionError("patch needs settings to change")
        for name in changes:
            getattr(self, name)
        return Patch(self, changes)

    def shallow_copy_dict(self) -> dict[str, Any]:
        """All settings by name, those that decide nothing here included."""
        return {**{name: self.read(name) for name in self._own}, **self._kept}

    get_config_copy = to_dict = shallow_copy_dict

    def load_config(self, values: Mapping[str, Any]) -> None:
        """Set all that `shallow_copy_dict` gave."""
        for name, value in values.items():
            setattr(self, name, value)


class OfSettings(ConfigModule):
    """One whose settings are those of `aten.settings`."""

    def read(self, name: str) -> Any:
        return getattr(settings, name)

    def write(self, name: str, value: Any) -> None:
        setattr(settings, name, value)


class Group:
    """The settings whose names begin with one word: `config.triton.cudagraphs`."""

    def __init__(self, config: ConfigModule, prefix: str):
        vars(self).update(_config=config, _prefix=prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, f"{self._prefix}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._config, f"{self._prefix}.{name}", value)

    def __delattr__(self, name: str) -> None:
        delattr(self._config, f"{self._prefix}.{name}")


class Patch:
    """Within a `with` block, or in the calls of what it decorates, settings have other values."""

    def __init__(self, config: ConfigModule, changes: Mapping[str, Any]):
        self.config = config
        self.changes = changes
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> Patch:
        self.before.append({name: getattr(self.config, name) for name in self.changes})
        for name, value in self.changes.items():
            setattr(self.config, name, value)
        return self

    def __exit__(self, *exc: Any) -> None:
        for name, value in self.before.pop().items():
            setattr(self.config, name, value)

    def __call__(self, fn: Callable) -> Callable:
        if not callable(fn):
            raise TypeError(f"config.patch decorates a function, not {type(fn).__name__}")

        @functools.wraps(fn)
        def patched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return patched
