"""`weft._dynamo.graph_break()`: a graph break that the program asks for."""

from __future__ import annotations

from dynamo import breaks, trace_rules
from dynamo.breaks import Unsupported


def graph_break(msg: str = "") -> None:
    """End the graph being captured here; what follows is captured anew. Does nothing where nothing is captured.

    msg: told where the break is explained, and by the `Unsupported` that `fullgraph=True` raises.
    """


@trace_rules.handle(graph_break)
def _graph_break(frame, args, kwargs):
    message = args[0] if args else kwargs.get("msg")
    raise Unsupported(breaks.ASKED_FOR, "" if message is None else str(message.as_python()))
