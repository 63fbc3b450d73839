"""Which calls of modules a node of an exported graph belongs to: its meta["nn_module_stack"].

{key: (path of the module, its class by name)}, the outermost call first; the key is the path, with `@1` … for further calls
of the same module. `state["modules"]` of the capture says where modules are: id → path.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from dynamo.real_objects import full_name


@contextlib.contextmanager
def called(output: Any, module: Any) -> Iterator[None]:
    """Within the block nodes belong to a call of the module."""
    path = output.state.get("modules", {}).get(id(module))
    if path is None:
        yield
        return
    graph, before = output.graph, output.graph.kept
    turn = output.module_calls.get(path, 0)
    output.module_calls[path] = turn + 1
    stack = dict((before or {}).get("nn_module_stack", ()))
    stack[f"{path}@{turn}" if turn else path] = (path, full_name(type(module)))
    graph.kept = {**(before or {}), "nn_module_stack": stack}
    try:
        yield
    finally:
        graph.kept = before
