"""What nodes keep of where they come from: what `annotate` says of a part of a program, and the meta of a node that is run again.

    with traceback.annotate({"stage": 1}):
        y = layer(x)                              # the nodes of this have meta["custom"] == {"stage": 1}
    with traceback.preserve_node_meta():
        make_fx(Interpreter(graph).run)(x)        # the new nodes have what the old ones had
"""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from aten.open_levels import stack

KEPT = ("custom", "nn_module_stack", "source_fn_stack", "torch_fn", "from_node", "recompute", "stack_trace", "quantization_tag")


class _State(threading.local):
    """A thread's: the meta that new nodes take over, and whether it is that of nodes which are run."""

    def __init__(self) -> None:
        self.meta: dict[str, Any] = {}
        self.preserves = False


_state = _State()


def carry(meta: dict[str, Any]) -> None:
    """Let the nodes of the graphs that are being made keep this. (A rule says what it does in code that is captured.)"""
    for maker in (*stack.levels[: stack.top], *stack.modes):
        if hasattr(maker, "graph"):
            maker.graph.kept = kept_of(meta)


def kept_of(meta: dict[str, Any]) -> dict[str, Any] | None:
    """What new nodes take over of a meta."""
    return {name: copy.copy(meta[name]) for name in KEPT if name in meta} or None


def kept() -> dict[str, Any] | None:
    """What nodes of a graph that is begun now take over."""
    return kept_of(_state.meta)


@contextlib.contextmanager
def _taken_over(meta: dict[str, Any]) -> Iterator[None]:
    """Within the block new nodes take over this meta."""
    before = _state.meta
    _state.meta = meta
    carry(meta)
    try:
        yield
    finally:
        _state.meta = before
        carry(before)


@contextlib.contextmanager
def annotate(annotation_dict: dict) -> Iterator[None]:
    """Within the block nodes have the items of the dict in their meta["custom"], beside those of blocks around it."""
    with _taken_over({**_state.meta, "custom": {**_state.meta.get("custom", {}), **annotation_dict}}):
        yield


def annotate_fn(annotation_dict: dict) -> Callable:
    """A decorator: the function runs in a block of `annotate`."""

    def decorated(function: Callable) -> Callable:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorated


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Within the block the nodes that an Interpreter makes have what those had that it runs."""
    before = _state.preserves, _state.meta
    _state.preserves = enable
    try:
        yield
    finally:
        _state.preserves, _state.meta = before
        carry(_state.meta)


def has_preserved_node_meta() -> bool:
    return _state.preserves


@contextlib.contextmanager
def set_current_meta(node: Any) -> Iterator[None]:
    """Within the block new nodes take over the meta of this one, if metas are preserved."""
    if not _state.preserves or not node.meta:
        yield
        return
    custom = {**_state.meta.get("custom", {}), **node.meta.get("custom", {})}
    with _taken_over({**node.meta, **({"custom": custom} if custom else {})}):
        yield


def get_current_meta() -> dict[str, Any]:
    return _state.meta


def set_stack_trace(stack: list[str]) -> None:
    """Say where the nodes that are made from now on come from, if metas are preserved."""
    if _state.preserves and stack:
        _state.meta = {**_state.meta, "stack_trace": "".join(stack)}
        carry(_state.meta)


def format_stack() -> list[str]:
    """Where new nodes come from: what was said, or where the program is."""
    if _state.preserves and "stack_trace" in _state.meta:
        return [_state.meta["stack_trace"]]
    import traceback  # here: what few programs load

    return traceback.format_list(traceback.extract_stack()[:-1])


__all__ = [
    "annotate", "annotate_fn", "format_stack", "get_current_meta", "has_preserved_node_meta", "preserve_node_meta",
    "set_current_meta", "set_stack_trace",
]  # fmt: skip
