"""`weft._dynamo.graph_break()`: a graph break that the program asks for; and where breaks are errors."""

from __future__ import annotations

import threading

from dynamo import breaks, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables.constant import boolean


class _State(threading.local):
    errors = False  # whether breaks of frames that this thread begins to capture are errors


_state = _State()


def breaks_are_errors() -> bool:
    """Whether a graph break of a frame that is called now raises, as under fullgraph."""
    return _state.errors


def set_error_on_graph_break(errors: bool) -> bool:
    """Say whether graph breaks raise from here on; what was said before. See `error_on_graph_break`."""
    before, _state.errors = _state.errors, bool(errors)
    return before


@trace_rules.handle(set_error_on_graph_break)
def _set_error_on_graph_break(frame, args, kwargs):
    before, frame.output.breaks_are_errors = frame.output.breaks_are_errors, args[0].truth(frame)
    return boolean(before)


def graph_break(msg: str = "") -> None:
    """End the graph being captured here; what follows is captured anew. Does nothing where nothing is captured.

    msg: told where the break is explained, and by the `Unsupported` that `fullgraph=True` raises.
    """


@trace_rules.handle(graph_break)
def _graph_break(frame, args, kwargs):
    message = args[0] if args else kwargs.get("msg")
    raise Unsupported(breaks.ASKED_FOR, "" if message is None else str(message.as_python()))
