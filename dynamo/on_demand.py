"""Rules for kinds of value and functions that few programs use: a file is loaded when something is met that it is for.

The files of `variables/` fill tables: of kinds, of calls. Those listed here do so when `load` is told of an object from the module
that they are for, or of anything from the standard library, before the tables are asked; all other files that are found there are
loaded with `interpreter/trace.py`.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from typing import Any

from dynamo.real_objects import class_module

NATIVE = ("builtin_containers", "builtin_numbers", "descriptor", "getter", "library_iterator", "native", "outside_iterator")
OF_MODULE: dict[str, tuple[str, ...]] = {  # the module (or a package above it) where an object is from → files of variables/
    "_contextvars": ("context_variable",),
    "aten.autograd": ("gradients",),
    "aten.autograd.function": ("user_function",),
    "aten.autograd.grad_mode": ("grad_modes",),
    "aten.declared_ops": ("custom_op",),
    "aten.fx.experimental": ("shape_questions",),
    "aten.fx.graph_module": ("graph_call",),
    "aten.fx.traceback": ("annotations",),
    "aten.higher_order": ("control_flow",),
    "aten.library": ("custom_op",),
    "aten.transforms": ("transforms",),
    "contextvars": ("context_variable",),
    "inspect": ("inspection",),
    "numpy": ("ndarray_views", "ndarray_creation", "ndarray_integers", "ndarray_functions"),  # (the last declares rows)
    "random": ("random_state",),
    "re": ("pattern",),
    "weakref": ("weak",),
}
# By other files alone:
CALLED = ("hooks_inside", "places_of_views", "proxy", "set_again", "untyped_storage", "view_operators", "wrapper")
_LATER = frozenset({*NATIVE, *CALLED, *[part for parts in OF_MODULE.values() for part in parts]})
_seen: set[str] = set()  # modules of which something was met


def others() -> list[str]:
    """The files of variables/ that are not loaded on demand. (Those about arrays are, each by one that is listed.)"""
    files = [name[:-3] for name in os.listdir(os.path.join(os.path.dirname(__file__), "variables")) if name.endswith(".py")]
    return sorted(name for name in files if name not in _LATER and not name.startswith(("ndarray", "_")))


def load(obj: Any) -> bool:
    """Load the rules for objects of the module where a function or class is from. Returns whether that happened now."""
    module = class_module(obj) if issubclass(type(obj), type) else getattr(obj, "__module__", None)
    if type(module) is not str or module in _seen:
        return False
    known = len(sys.modules)
    if module.partition(".")[0] in sys.stdlib_module_names:
        load_native()
    name = module
    while name:
        for part in OF_MODULE.get(name, ()):
            import_part(part)
        name = name.rpartition(".")[0]
    _seen.add(module)
    return len(sys.modules) > known


def import_part(name: str) -> Any:
    """The module of a file of variables/."""
    return importlib.import_module(f"dynamo.variables.{name}")


@functools.cache
def load_native() -> None:
    """Load the rules for Python's own functions and classes."""
    for part in NATIVE:
        import_part(part)


def load_all() -> None:
    """Load every rule that there is, those of a module in their order."""
    for parts in (NATIVE, CALLED, *OF_MODULE.values()):
        for part in parts:
            import_part(part)
