"""Backends by name: those registered here, and those that installed packages declare as entry points."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from aten.scalar.unpatched import functools
from dynamo.exc import InvalidBackend

ENTRY_POINTS = "torch_dynamo_backends"  # the group in which packages declare backends, as they do for PyTorch
_backends: dict[str, Callable] = {}
_tags: dict[str, tuple[str, ...]] = {}
provided = dict.fromkeys(("aot_eager", "aot_eager_decomp_partition", "eager", "eager_noexcept"), "dynamo.backends.debugging")
# name → the module that registers it when it is imported


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Register `compiler_fn(gm, example_inputs) -> callable` under `name` (its own name by default); also a decorator.

    tags: "debug" and "experimental" keep it out of `list_backends()`. Raises AssertionError if the name is taken by
    another backend.
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise TypeError(f"a backend is a callable, not {type(compiler_fn).__name__}")
    name = name or compiler_fn.__name__
    if name not in _backends and provided.get(name, compiler_fn.__module__) != compiler_fn.__module__:
        importlib.import_module(provided[name])
    if _backends.get(name, compiler_fn) is not compiler_fn:
        raise AssertionError(f"duplicate name: {name}")
    _backends[name] = compiler_fn
    _tags[name] = tuple(tags)
    return compiler_fn


@functools.cache
def _lazy_import() -> None:
    """Import the modules that register backends when they are imported."""
    for module in provided.values():
        importlib.import_module(module)


@functools.cache
def _discover_entrypoint_backends() -> dict[str, Any]:
    """The entry points that declare backends, by name."""
    metadata = importlib.import_module("importlib.metadata")  # (takes as long to import as all of dynamo's own kinds of value)
    group = metadata.entry_points(group=ENTRY_POINTS)
    return {name: group[name] for name in group.names}


def lookup_backend(compiler_fn: str | Callable) -> Callable:
    """The backend of that name, or the callable itself. Raises InvalidBackend for an unknown name."""
    if not isinstance(compiler_fn, str):
        if not callable(compiler_fn):
            raise TypeError(f"a backend is a name or a callable, not {type(compiler_fn).__name__}")
        return compiler_fn
    name = compiler_fn
    if name not in _backends and name in provided:
        importlib.import_module(provided[name])
    if name not in _backends and name in _discover_entrypoint_backends():
        register_backend(_discover_entrypoint_backends()[name].load(), name)
    if name not in _backends:
        raise InvalidBackend(name, names())
    return _backends[name]


def names() -> list[str]:
    """All registered names."""
    return sorted({*_backends, *provided})


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names that can be given as backend, without those that have one of the tags."""
    _lazy_import()
    excluded = set(exclude_tags or ())
    known = {*_backends, *_discover_entrypoint_backends()}
    return sorted(name for name in known if not excluded.intersection(_tags.get(name, ())))
