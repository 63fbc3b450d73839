"""For whom frames are captured: what `weft.compile` was asked for."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any

from dynamo import config

# Functions compiled with fullgraph: the only ones that it captures. What else may run in their calls (callbacks of the garbage
# collector, `__del__`, signal handlers) is nobody's graph.
whole: weakref.WeakSet[types.FunctionType] = weakref.WeakSet()


class Config:
    """For whom a function is compiled. Entries of a code object belong to one Config, compared by identity.

    backend(gm, example_inputs) -> callable(*inputs) -> tuple. dynamic: None lets sizes that change become symbolic,
    True makes all symbolic at once, False none. limit: entries per code object (None: as config.recompile_limit says).
    """

    __slots__ = ("backend", "fullgraph", "dynamic", "options", "limit", "__weakref__")

    def __init__(
        self,
        backend: Callable[..., Any],
        fullgraph: bool = False,
        dynamic: bool | None = None,
        options: dict | None = None,
        limit: int | None = None,
    ):
        self.backend = backend
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.options = dict(options or {})
        self.limit = limit

    @property
    def recompile_limit(self) -> int:
        """How many entries a code object may have for this Config."""
        return config.recompile_limit if self.limit is None else self.limit

    @property
    def accumulated_recompile_limit(self) -> int:
        """How many entries a code object may have for all of them."""
        return config.accumulated_recompile_limit

    def _key(self) -> tuple:
        return self.backend, self.fullgraph, self.dynamic, tuple(sorted(self.options.items())), self.limit

    def __repr__(self):
        name = getattr(self.backend, "__name__", repr(self.backend))
        return f"Config({name}, fullgraph={self.fullgraph}, dynamic={self.dynamic})"


_configs: dict[tuple, Config] = {}


def intern_config(config: Config) -> Config:
    """The first Config equal to this one, so that compiling a function twice in the same way shares entries."""
    try:
        return _configs.setdefault(config._key(), config)
    except TypeError:  # an option that cannot be hashed
        return config
