"""Errors of ops that data decides, where the program has a handler: the graph does not know it, plain Python does.

What a graph refuses while it runs is run again by Python, which handles the error. Graphs that op by op backends run raise what
the op raises, so it is said to them here that the call is to be made again, where nothing visible was done yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native, errors
from aten.aot.stages import writes
from aten.fx.targets import is_op, item, set_default_dtype, set_grad_enabled
from aten.refusals import may_refuse
from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.trace_rules import is_library
from dynamo.variables.base import NULL

CAUGHT = "caught"  # in the meta of nodes, and of graphs that have one (`Frame.is_caught`)


def note(output: Any, frame: Any, node: Any) -> None:
    """Remember of the node of an op that the program handles what it raises, if it may raise. A break where the graph has written
    what others see: it could not be run again."""
    if not may_refuse(node) or not _is_handled(frame):
        return
    if output.mutated and not output.options.fullgraph:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{node.target.name}, which may raise what the program handles, behind a write")
    node.meta[CAUGHT] = True


def _is_handled(frame: Any) -> bool:
    """Whether an exception of the current instruction meets code of the program in the frame or its callers: an except or finally
    block, or the end of a `with` whose manager is the program's. What ends all generators is none."""
    while frame is not None:
        at: int | None = frame.pc - 1
        while at is not None:  # the end of a `with` has its own handler: that of what stands around it
            handler = next((h for h in frame.handlers if h.first <= at < h.last), None)
            if handler is not None and not _passes_on(frame, handler):
                return True
            at = None if handler is None else handler.target
        frame = frame.parent
    return False


def _passes_on(frame: Any, handler: Any) -> bool:
    """Whether no code of the program runs where the exception comes to, and it goes on from there."""
    first, *rest = [i.name for i in frame.instructions[handler.target : handler.target + 2]]
    if first == "COPY" or first.startswith("CALL_INTRINSIC"):  # of the exception that was handled; StopIteration in generators
        return True
    if rest != ["WITH_EXCEPT_START"]:
        return False
    leave = next((v for v in reversed(frame.stack[: handler.depth]) if v is not NULL), None)
    manager = getattr(leave, "object", None)
    return manager is not None and is_library(manager.python_type())


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
