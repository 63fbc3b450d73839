"""Errors of ops that data decides, where the program has a handler: the graph does not know it, plain Python does.

What a graph refuses while it runs is run again by Python, which handles the error. Graphs that op by op backends run raise what
the op raises, so it is said to them here that the call is to be made again, where nothing visible was done yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native, errors
from aten.aot.stages import may_raise, writes
from aten.fx.targets import is_op, item, set_default_dtype, set_grad_enabled
from dynamo import breaks
from dynamo.breaks import Unsupported

CAUGHT = "caught"  # in the meta of nodes, and of graphs that have one (`Frame.is_caught`)


def note(output: Any, node: Any) -> None:
    """Remember of the node of an op that the program handles what it raises, if it may raise. A break where the graph has written
    what others see: it could not be run again."""
    if not may_raise(node):
        return
    if output.mutated and not output.options.fullgraph:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{node.target.name}, which may raise what the program handles, behind a write")
    node.meta[CAUGHT] = True


def _may_change_things(node: Any) -> bool:
    """Whether what the node does is seen, or may be, if it is done twice."""
    if is_op(node.target):
        return writes(node)
    module = getattr(node.target, "__module__", "")
    return module not in ("_operator", "operator", "math") and node.target not in (set_grad_enabled, set_default_dtype, item)


def told_to_python(graph: Any, compiled: Callable) -> Callable:
    """A compiled graph that raises GraphFailed where an op raises that the program may handle."""
    if "_runner" in type(compiled).__module__:  # (a Program raises it itself)
        return compiled
    if any(n.op.startswith("call") and _may_change_things(n) for n in graph.graph.nodes):
        return compiled

    def run(*inputs: Any) -> Any:
        state = _native.default_generator.get_state()
        try:
            return compiled(*inputs)
        except errors.GraphFailed:
            raise
        except Exception as e:
            _native.default_generator.set_state(state)
            raise errors.GraphFailed() from e

    return run
