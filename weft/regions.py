"""Functions whose calls are graphs of their own within compiled code, and regions in which graph breaks are errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dynamo.user_break import set_error_on_graph_break
from weft import _higher_order_ops


def nested_compile_region(fn: Callable | None = None) -> Any:
    """`fn`, each call of which stands in captured graphs as one node with a graph of its own. Also a decorator, with and without
    arguments. What it calls may change nothing that was there before."""
    if fn is None:
        return nested_compile_region

    @functools.wraps(fn)
    def region(*args: Any, **kwargs: Any) -> Any:
        return _higher_order_ops.wrap(fn, *args, **kwargs)

    return region


class error_on_graph_break:
    """Within it, or in calls of what it decorates, a graph break raises `Unsupported` (with False: does not), as fullgraph=True
    has it for a whole function. Where a function is compiled with fullgraph, it says nothing."""

    def __init__(self, error: bool):
        self.error = error
        self.before = False

    def __enter__(self) -> None:
        self.before = set_error_on_graph_break(self.error)

    def __exit__(self, *exc: object) -> None:
        set_error_on_graph_break(self.before)

    def __call__(self, fn: Callable) -> Callable:
        error = self.error

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            with error_on_graph_break(error):
                return fn(*args, **kwargs)

        return call


__all__ = ["error_on_graph_break", "nested_compile_region"]
