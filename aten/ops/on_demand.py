"""Families of ops that are loaded when one of their ops is asked for anything: most programs need few of them.

Until then an op of such a family stands in the registry, and on Tensor as a method, as a promise: an object that becomes the op.
`promised.py` says which names a family declares; `python -m tests.aten.promised_ops` writes it, and a test holds it to be true.
"""

from __future__ import annotations

import importlib
import sys
from _thread import RLock, get_ident
from collections.abc import Callable, Iterable

from aten import _native
from aten.op import Op, registry
from aten.ops.promised import PROMISED


class Promise(Op):
    """An op of a family that is not loaded."""

    def __init__(self, name: str, family: str):
        self._family = family
        self.promised = True

    def __getattribute__(self, name: str):
        load(object.__getattribute__(self, "_family"))
        return object.__getattribute__(self, name)


_native.enable_vectorcall(Promise)
_lock = RLock()
_loaded: set[str] = set()
_finishing: dict[str, int] = {}  # the thread that does to the ops of a family what is done to all
_promises: dict[str, list[Op]] = {}
_declaring: dict[str, int] = {}  # the thread whose import of a family asked for its ops


def promise() -> list[str]:
    """Put a promise of each op into the registry. Returns the names of those that are methods of tensors."""
    methods, aliases = [], []
    for family, names in PROMISED.items():
        made = _promises[family] = []
        for name in names.split():
            if name[-1] == ".":
                name = name[:-1]
                methods.append(name.partition("=")[0])
            if "=" in name:
                aliases.append(name)
            else:
                registry[name] = op = Promise(name, family)
                made.append(op)
    for alias in aliases:
        name, _, target = alias.partition("=")
        registry[name] = registry[target]
    return methods


finish: list[Callable[[Op], None]] = []  # what is done to an op once its family is loaded


def finish_loaded(steps: Iterable[Callable[[Op], None]] = finish) -> None:
    """Do it to the ops that are there."""
    for op in list(registry.values()):
        if type(op) is Op:
            for step in steps:
                step(op)


def also(step: Callable[[Op], None]) -> None:
    """Have one thing more done to every op, those that are there included."""
    with _lock:
        finish.append(step)
        finish_loaded([step])


def load(family: str) -> None:
    """Make the ops of a family what they are declared to be. Another thread that is about it is waited for.

    The file is imported before the lock is taken: whoever imports it by itself holds the import's lock, and may ask for this one.
    """
    if family in _loaded or _finishing.get(family) == get_ident():  # (what is done to an op asks for it)
        return
    name = f"aten.ops.{family}"
    if _declaring.get(family) == get_ident() and sys.modules[name].__spec__._initializing:  # type: ignore[union-attr]
        return  # its own declarations ask
    if importlib.import_module(name).__spec__._initializing:  # type: ignore[union-attr]
        _declaring[family] = get_ident()
        return
    with _lock:
        if family in _loaded:
            return
        _finishing[family] = get_ident()
        try:
            for op in _promises[family]:
                for step in finish:
                    step(op)
            for op in _promises[family]:
                op.promised = False
                op.__class__ = Op
            _loaded.add(family)
        finally:
            _finishing.pop(family, None)


__all__ = ["Promise", "also", "finish", "finish_loaded", "load", "promise"]
