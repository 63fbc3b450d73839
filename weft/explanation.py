"""What `weft.explain` answers: the graphs, breaks and guards of one call, as an object that prints."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weft.compilation import compiled


@dataclass
class Explanation:
    """graphs: the GraphModules captured, in order. breaks: the Unsupported that ended them. skipped: (function, reason)
    of frames that stayed in Python. guards: a list for each graph. result: what the call returned."""

    graphs: list = field(default_factory=list)
    breaks: list = field(default_factory=list)
    skipped: list = field(default_factory=list)
    guards: list = field(default_factory=list)
    result: Any = None

    @property
    def graph_count(self) -> int:
        return len(self.graphs)

    @property
    def graph_break_count(self) -> int:
        return len(self.breaks)

    @property
    def op_count(self) -> int:
        return sum(node.op == "call_function" for gm in self.graphs for node in gm.graph.nodes)

    @property
    def break_reasons(self) -> list:
        return self.breaks

    @property
    def ops_per_graph(self) -> list:
        """The targets of the calls of each graph."""
        return [[node.target for node in gm.graph.nodes if node.op.startswith("call")] for gm in self.graphs]

    @property
    def out_guards(self) -> list:
        """The guards of all graphs."""
        return [guard for guards in self.guards for guard in guards]

    def __str__(self) -> str:
        count = lambda n, what: f"{n} {what}{'' if n == 1 else 's'}"
        parts = (self.graph_count, "graph"), (self.graph_break_count, "break"), (self.op_count, "op")
        lines = [", ".join(count(*p) for p in parts)]
        for i, gm in enumerate(self.graphs):
            lines += ["", f"graph {i}:", str(gm).rstrip(), f"guards of graph {i}:"]
            lines += [f"  {g}" for g in self.guards[i]]
        for i, reason in enumerate(self.breaks):
            lines += ["", f"break {i}: {reason}"]
        for name, reason in self.skipped:
            lines += ["", f"left to Python: {name}: {reason}"]
        return "\n".join(lines)

    __repr__ = __str__


def explain_call(fn: Any, args: tuple, kwargs: dict, dynamic: bool | None) -> Explanation:
    """Capture and run fn(*args, **kwargs) op by op."""
    from dynamo import outcome
    from dynamo.backends import eager
    from dynamo.eval_frame import Config
    from dynamo.interpreter import trace

    told = Explanation()

    def listen(code: Any, made: Any) -> None:
        if isinstance(made, outcome.Traced):
            told.breaks += made.breaks
            if made.graph is not None:
                told.graphs.append(made.graph)
                told.guards.append([str(g) for g in made.guards] + [str(g) for g in made.shape_env.guards])
        else:
            told.skipped.append((code.co_qualname, made.reason))

    call: Callable = compiled(fn, Config(eager, dynamic=dynamic))
    trace.listeners.append(listen)
    try:
        told.result = call(*args, **kwargs)
    finally:
        trace.listeners.remove(listen)
    return told


def explain(fn: Any, *extra_args: Any, dynamic: bool | None = None, **extra_kwargs: Any) -> Any:
    """explain(fn)(*args) runs fn once and tells its graphs, breaks and guards, as an Explanation that prints.

    explain(fn, *args) is the same, as it used to be written.
    """
    if extra_args or extra_kwargs:
        warnings.warn(
            "explain(f, *args) is deprecated: write explain(f)(*args)",
            FutureWarning,
            stacklevel=2,
        )
        return explain_call(fn, extra_args, extra_kwargs, dynamic)

    def call(*args: Any, **kwargs: Any) -> Any:
        return explain_call(fn, args, kwargs, dynamic)

    return call
