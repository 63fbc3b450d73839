"""What users say about their own functions: how compiled code is to treat calls of them."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from aten.op import Method, Op
from dynamo import above, breaks, trace_rules
from dynamo.breaks import Unsupported
from dynamo.constant_results import constant_result
from dynamo.exc import IncorrectUsage
from dynamo.forbidden import forbidden
from dynamo.marks import mark_dynamic, mark_static, mark_static_address, mark_unbacked, maybe_mark_dynamic
from dynamo.stance import set_stance
from dynamo.user_break import graph_break

__all__ = [
    "allow_in_graph", "assume_constant_result", "disallow_in_graph", "forbid_in_graph", "graph_break", "mark_dynamic",
    "nonstrict_trace",
    "mark_static", "mark_static_address", "mark_unbacked", "maybe_mark_dynamic", "set_stance", "substitute_in_graph",
]  # fmt: skip

def __getattr__(name: str) -> Any:
    return above.find(__name__, name)


_allowed: dict[int, Callable] = {}  # functions that allow_in_graph was given, by id


def _each(fn: Any, what: str, do: Callable[[Any], Any]) -> Any:
    if isinstance(fn, (list, tuple)):
        return [_each(f, what, do) for f in fn]
    if not callable(fn):
        raise AssertionError(f"{what} expects a callable, not {type(fn).__name__}")
    return do(fn)


def allow_in_graph(fn: Any) -> Any:
    """Calls of `fn` stand in the graph as they are, and are not looked into; also for a list of functions.

    fn takes and returns tensors, numbers and tuples, lists and dicts of them; the same arguments must give the same
    result, and it must not rely on Python's state, for nothing guards it. Returns fn. Raises AssertionError for what
    cannot be called.
    """

    def allow(f: Any) -> Any:
        if isinstance(f, (Op, Method)):
            trace_rules.mark(f, None)
            return f

        def rule(frame: Any, args: list, kwargs: dict) -> Any:
            from dynamo.in_graph import record_call  # (tracing is loaded when something is traced)

            return record_call(frame, f, args, kwargs)

        _allowed[id(f)] = f
        trace_rules.mark(f, rule)
        return f

    return _each(fn, "allow_in_graph", allow)


def nonstrict_trace(traceable_fn: Any) -> Any:
    """Calls of a function are not looked into: they stand in the graph as they are, and what traces the graph later traces them.

    As `allow_in_graph`, with nested arguments and results too. Returns the function.
    """
    return allow_in_graph(traceable_fn)


def disallow_in_graph(fn: Any) -> Any:
    """Calls of `fn`, an op of the library or a function given to allow_in_graph, break the graph; also for a list.

    Returns fn. Raises IncorrectUsage for other functions: weft.compiler.disable is for these.
    """

    def disallow(f: Any) -> Any:
        if id(f) in _allowed:
            del _allowed[id(f)]
        elif not isinstance(f, (Op, Method)):
            raise IncorrectUsage(
                f"disallow_in_graph is for functions that stand in graphs; {trace_rules.name_of(f)} does not. "
                "weft.compiler.disable(f) leaves a function to Python"
            )

        def rule(frame: Any, args: list, kwargs: dict) -> Any:
            raise Unsupported(breaks.SKIPPED_CALL, f"{trace_rules.name_of(f)}, given to disallow_in_graph")

        trace_rules.mark(f, rule)
        return f

    return _each(fn, "disallow_in_graph", disallow)


def forbid_in_graph(fn: Any) -> Any:
    """A call of `fn` (or of one of a list) in compiled code is an AssertionError. Returns fn."""

    def forbid(f: Any) -> Any:
        trace_rules.mark(f, forbidden)
        return f

    return _each(fn, "forbid_in_graph", forbid)


def assume_constant_result(fn: Callable) -> Callable:
    """`fn` is called while its caller is compiled, and what it returns is a constant of the graph, never looked at again.

    Its arguments have to be known then: numbers, strings, objects and tensors from outside of the compiled function.
    Returns fn.
    """
    if not callable(fn):
        raise AssertionError(f"assume_constant_result expects a callable, not {type(fn).__name__}")

    if isinstance(fn, types.FunctionType):
        setattr(fn, trace_rules.CONSTANT, True)
    else:
        trace_rules.mark(fn, constant_result(fn))
    return fn


def substitute_in_graph(
    original_fn: Callable, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable:
    """Decorator: in compiled code a call of `original_fn` (one of C, say) is one of the decorated Python function.

    can_constant_fold_through: with constant arguments, call the original while compiling. skip_signature_check: the two
    may take other arguments. Elsewhere both are what they were.
    Raises TypeError where the signatures differ, ValueError where original_fn has a substitute.
    """
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {original_fn!r}")

    def substitute(traceable_fn: Callable) -> Callable:
        if not inspect.isfunction(traceable_fn):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}")
        if not skip_signature_check:
            check_signatures(original_fn, traceable_fn)
        if id(original_fn) in _substituted:
            raise ValueError(f"Duplicate dispatch rule for {original_fn!r}: already has a substitute")
        _substituted[id(original_fn)] = original_fn

        @functools.wraps(traceable_fn)
        def original(*args: Any, **kwargs: Any) -> Any:
            return original_fn(*args, **kwargs)

        def rule(frame: Any, args: list, kwargs: dict) -> Any:
            if can_constant_fold_through and all(v.is_constant() for v in (*args, *kwargs.values())):
                given = {k: v.as_python() for k, v in kwargs.items()}
                return frame.values.run(frame, lambda: original_fn(*[v.as_python() for v in args], **given))
            return frame.world.known(traceable_fn).call(frame, args, kwargs)

        trace_rules.handle(original_fn, original)(rule)
        return original

    return substitute


_substituted: dict[int, Callable] = {}


def check_signatures(original: Callable, traceable: Callable) -> None:
    """Raise TypeError unless both can be called in the same ways; what tells no signature is taken at its word."""
    try:
        expected = inspect.signature(original)
    except (TypeError, ValueError):
        return
    given = inspect.signature(traceable)
    kinds = [[(p.name, p.kind, p.default is p.empty) for p in s.parameters.values()] for s in (expected, given)]
    if kinds[0] != kinds[1]:
        raise TypeError(f"Signature mismatch between {original!r} and {traceable!r}: {expected} != {given}")
