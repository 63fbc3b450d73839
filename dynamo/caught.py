"""Errors of ops that data decides, where the program has a handler or has done something before: the graph does not know it,
plain Python does.

What a graph refuses while it runs is run again by Python, which handles the error. Graphs that op by op backends run raise what
the op raises, so it is said to them here that the call is to be made again, where no tensor of others was written yet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from aten import _native, errors
from aten.aot.stages import writes
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.fx.targets import is_op, item, set_default_dtype, set_grad_enabled
from aten.refusals import may_refuse
from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.trace_rules import is_library, is_library_name
from dynamo.variables.base import NULL

CAUGHT = "caught"  # in the meta of nodes, and of graphs that have one (`Frame.is_caught`)


def note(output: Any, frame: Any, node: Any) -> None:
    """Remember of the node of an op that the program handles what it raises, if it may raise. A break where the graph has written
    what others see: it could not be run again."""
    if not (may_refuse(node) or _is_custom(node)) or not _is_handled(frame):
        return
    if output.mutated and not output.options.fullgraph:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{node.target.name}, which may raise what the program handles, behind a write")
    node.meta[CAUGHT] = True


def refuse_call(frame: Any, name: str) -> None:
    """A break at a call of what the program has written, and nobody looks into, whose errors it handles: what the call did until it
    raised would be done twice."""
    if not frame.output.options.fullgraph and _is_handled(frame):
        raise Unsupported(breaks.UNKNOWN_CALL, f"{name}, which may raise what the program handles")


def _is_custom(node: Any) -> bool:
    return is_op(node.target) and "library" in node.target.tags


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
    if manager is None:
        return False
    cls = manager.python_type()
    if cls is contextlib._GeneratorContextManager:  # (which shows the exception to its generator)
        within = getattr(manager.getattr(frame, "gen"), "frame", None)
        return within is not None and is_library_name(within.globals.get("__name__", ""))
    return is_library(cls) and (cls.__module__ != "contextlib" or cls is contextlib.nullcontext)


def note_bodies(node: Any, bodies: Iterable[Any]) -> None:
    """The same of a node that runs graphs: an op of theirs may raise."""
    if any(CAUGHT in n.meta for body in bodies for n in body.graph.nodes):
        node.meta[CAUGHT] = True


def bodies_of(module: Any, node: Any) -> list[Any]:
    """The graphs that a node runs."""
    attached = [getattr(module, a.target) for a in node.args if isinstance(a, Node) and a.op == "get_attr"]
    own = getattr(node.target, "graphs", {})
    return [*own.values(), *(body for body in attached if isinstance(body, GraphModule))]


def _calls(module: Any) -> Iterator[Any]:
    """The nodes that a graph runs, those of the graphs in it in the place of what runs them."""
    for node in module.graph.nodes:
        if node.op.startswith("call"):
            bodies = bodies_of(module, node)
            for body in bodies:
                yield from _calls(body)
            if not bodies:
                yield node


def _may_change_things(node: Any) -> bool:
    """Whether what the node does is seen, or may be, if it is done twice. (Memory that is written says so by its version.)"""
    if is_op(node.target):
        return node.target.name.endswith("_writes")  # (a custom op: whatever its program writes)
    module = getattr(node.target, "__module__", "")
    return module not in ("_operator", "operator", "math") and node.target not in (set_grad_enabled, set_default_dtype, item)


def _versions(inputs: Sequence) -> list[Any]:
    """How often each tensor was written; of one that does not count it nothing equal."""
    tensors = [t for t in inputs if isinstance(t, _native.Tensor)]
    return [object() if t.is_inference() else t._version for t in tensors]


def _kept(inputs: tuple, written: Collection[int]) -> list[tuple[Any, Any, Any]]:
    """The tensors that a graph writes, with copies and how they lie. Those with a history are left out: it would stay."""
    tensors = [inputs[i] for i in written if isinstance(inputs[i], _native.Tensor)]
    if any(t.requires_grad for t in tensors):
        return []
    return [(t, t.detach().clone(), (t.shape, t.stride())) for t in tensors]


def _put_back(kept: list[tuple[Any, Any, Any]]) -> bool:
    """Make tensors what they were, if none of them has a history or lies otherwise by now."""
    if any(t.requires_grad or (t.shape, t.stride()) != lay for t, _, lay in kept):
        return False
    for t, copy, _ in kept:
        t.detach().copy_(copy)
    return True


def told_to_python(graph: Any, compiled: Callable, written: Collection[int] = ()) -> Callable:
    """A compiled graph that raises GraphFailed where an op raises: the program may handle it, or has done before what is done
    behind the graph. `written`: the inputs that it writes, which are what they were then."""
    is_program = "_runner" in type(compiled).__module__  # which raises it itself, but for what others have written
    if is_program and CAUGHT not in graph.meta:
        return compiled
    nodes = list(_calls(graph))
    if any(map(_may_change_things, nodes)) or not (CAUGHT in graph.meta or any(map(may_refuse, nodes))):
        return compiled
    may_write = any(is_op(n.target) and writes(n) for n in nodes)
    if is_program and (may_write or not any(CAUGHT in n.meta and _is_custom(n) for n in nodes)):
        return compiled

    def run(*inputs: Any) -> Any:
        state = _native.default_generator.get_state()
        before = _versions(inputs) if may_write else None
        kept = _kept(inputs, written) if may_write else []
        others = [t for i, t in enumerate(inputs) if i not in written] if kept else []
        untouched = _versions(others) if kept else []
        try:
            return compiled(*inputs)
        except errors.GraphFailed:
            raise
        except Exception as e:
            # An op that raises leaves the version as it is.
            if may_write and _versions(inputs) != before and not (kept and _versions(others) == untouched and _put_back(kept)):
                raise
            _native.default_generator.set_state(state)
            raise errors.GraphFailed() from e

    return run
