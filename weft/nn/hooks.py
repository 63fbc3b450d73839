"""Handles of registered hooks, hooks that know their module, and hooks for all modules."""

from __future__ import annotations

import functools
import sys
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from aten.autograd.hook_handle import RemovableHandle

__all__ = ["BoundHook", "RemovableHandle", "every", "register"]


def register(hooks: OrderedDict, hook: Any, prepend: bool = False, marks: tuple[OrderedDict, ...] = ()) -> RemovableHandle:
    """Puts a hook last (or first) among others, and its id into each of `marks`."""
    handle = RemovableHandle(hooks, extra_dict=marks)
    hooks[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        for entries in (hooks, *marks):
            entries.move_to_end(handle.id, last=False)
    return handle


class BoundHook:
    """A hook that is called with its module first. It does not keep the module alive; copies are of the copied module."""

    def __init__(self, hook: Callable, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if module is not None:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class _OfEvery(OrderedDict):
    """Hooks for all modules. What is compiled does not ask for them on each call, so it is forgotten when they change."""

    def __setitem__(self, key: int, hook: Any) -> None:
        super().__setitem__(key, hook)
        _changed()

    def pop(self, key: int, *default: Any) -> Any:
        found = super().pop(key, *default)
        _changed()
        return found

    def clear(self) -> None:
        super().clear()
        _changed()


class _Every:
    """Hooks for all modules, by kind; `calls` says whether there are any that a call must ask."""

    def __init__(self) -> None:
        self.forward_pre, self.forward, self.backward_pre, self.backward = _OfEvery(), _OfEvery(), _OfEvery(), _OfEvery()
        self.with_kwargs: OrderedDict = OrderedDict()
        self.always_called: OrderedDict = OrderedDict()
        self.backward_is_full: bool | None = None
        self.calls = False
        self.buffers: OrderedDict = OrderedDict()
        self.modules: OrderedDict = OrderedDict()
        self.parameters: OrderedDict = OrderedDict()


every = _Every()


def _changed() -> None:
    every.calls = bool(every.forward_pre or every.forward or every.backward_pre or every.backward)
    compiler = sys.modules.get("dynamo.eval_frame")
    if compiler is not None:
        compiler.reset()


def registered(hooks: OrderedDict, owner: Any, name: str, value: Any) -> Any:
    """What is filed in place of `value` once the hooks on registration have seen it."""
    for hook in tuple(hooks.values()):
        changed = hook(owner, name, value)
        if changed is not None:
            value = changed
    return value
