"""Python bytecode → graphs and guards. Also what users reach as `weft._dynamo`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "mark_dynamic": "dynamo.marks",
    "mark_static_address": "dynamo.marks",
    "mark_unbacked": "dynamo.marks",
    "maybe_mark_dynamic": "dynamo.marks",
    "mark_static": "dynamo.marks",
    "graph_break": "dynamo.user_break",
    "allow_in_graph": "dynamo.decorators",
    "assume_constant_result": "dynamo.decorators",
    "disallow_in_graph": "dynamo.decorators",
    "forbid_in_graph": "dynamo.decorators",
    "nonstrict_trace": "dynamo.decorators",
    "substitute_in_graph": "dynamo.decorators",
    "set_stance": "dynamo.stance",
    "is_dynamo_supported": "dynamo.eval_frame",
    "reset": "dynamo.eval_frame",
    "reset_code_caches": "dynamo.eval_frame",
    "list_backends": "dynamo.backends.registry",
    "lookup_backend": "dynamo.backends.registry",
    "register_backend": "dynamo.backends.registry",
    "callback_handler": "dynamo.callback",
    "on_compile_start": "dynamo.callback",
    "on_compile_end": "dynamo.callback",
    "Unsupported": "dynamo.breaks",
    "counters": "dynamo.convert_frame",
}
_PARTS = frozenset(
    {"backends", "breaks", "callback", "compiled_autograd", "comptime", "config", "decorators", "eval_frame", "exc", "guards",
     "outcome", "source", "testing", "utils"}
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        value = import_module(f"dynamo.{name}")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name == "above":  # not imported yet
        raise AttributeError(f"module 'dynamo' has no attribute '{name}'")
    else:
        value = import_module("dynamo.above").find(__name__, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, *_HOME, *import_module("dynamo.above").names_of(__name__)})
