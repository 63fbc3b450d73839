"""What tracing a frame hands to code generation: plain data that prints, between `interpreter` and `convert_frame`.

`trace_frame` answers with one of

- `Traced`: a graph, guards, and a small program (statements over recipes) that puts the frame's values together;
- `RunEager`: run the original code this time and try again next time (it raises for these inputs, say);
- `Skip`: never try this code object again.

The new code of a frame is: call the graph on `inputs`; run `statements` in order; then `ending`. A recipe may be
evaluated once wherever it stands: what must be evaluated once and used twice was given a `Temp` by an `Assign`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


# ------------------------------------------------------------------------------------- recipes: how to make a value
@dataclass(frozen=True)
class Load:
    """The value at `source` (dynamo.source), read when the recipe is evaluated."""

    source: Any


@dataclass(frozen=True)
class Output:
    """Output `index` of the graph call."""

    index: int


@dataclass(frozen=True)
class Temp:
    """What `Assign(index, …)` stored."""

    index: int


@dataclass(frozen=True, eq=False)
class Const:
    """This very object, kept in the code's constants (it need not be hashable)."""

    value: Any


@dataclass(frozen=True)
class Cell:
    """The frame's own cell of variable `name` (a cell or free variable), as a cell object."""

    name: str


@dataclass(frozen=True)
class Build:
    """A new container: kind is "tuple", "list", "set", "dict" (items: key, value, key, value …), "slice" or "str"
    (the concatenation of its items, each a str)."""

    kind: str
    items: tuple


@dataclass(frozen=True)
class Call:
    """function(*args, **kwargs)."""

    function: Any
    args: tuple = ()
    kwargs: tuple = ()  # pairs (name, recipe)


@dataclass(frozen=True)
class GetAttr:
    object: Any
    name: str


@dataclass(frozen=True)
class GetItem:
    object: Any
    key: Any


@dataclass(frozen=True)
class Null:
    """An empty stack slot (PUSH_NULL): only in `Break.stack`."""


# ---------------------------------------------------------------------------------------------- statements: effects
@dataclass(frozen=True)
class Assign:
    """Keep a value for later recipes."""

    temp: int
    value: Any


@dataclass(frozen=True)
class Do:
    """Evaluate and drop."""

    value: Any


@dataclass(frozen=True)
class SetAttr:
    object: Any
    name: str
    value: Any


@dataclass(frozen=True)
class DelAttr:
    object: Any
    name: str


@dataclass(frozen=True)
class SetItem:
    object: Any
    key: Any
    value: Any


@dataclass(frozen=True)
class SetGlobal:
    """Store into the frame's own globals."""

    name: str
    value: Any


@dataclass(frozen=True)
class DelGlobal:
    name: str


@dataclass(frozen=True)
class SetCell:
    """Store into the frame's own cell of `name`; value None (not a recipe) empties it."""

    name: str
    value: Any


# ------------------------------------------------------------------------------------------------------- endings
@dataclass(frozen=True)
class Return:
    value: Any


@dataclass(frozen=True)
class Break:
    """Go on in Python at the instruction at byte `offset` of the frame's code, which is the one that breaks.

    If that is KW_NAMES or PRECALL, the call it begins, up to its CALL, breaks as one.
    `stack`: recipes from the bottom up, as the instruction expects it (Null for NULL); `locals`: recipes of the live,
    assigned fast locals (cells were stored by SetCell). `reason` is the Unsupported (prints as the user is told).
    """

    offset: int
    stack: tuple
    locals: dict
    reason: Any


@dataclass
class Traced:
    """One frame, traced. `graph` is None when nothing was recorded (then `inputs` is empty and no graph is called).

    `inputs[i]` is the Source of graph placeholder i and `example_inputs[i]` its value in this call. `guards` hold for
    everything but `shape_env.guards`, which the backend may still add to. `mutates` lists the inputs the graph writes;
    `aliases` those of which it returns views (or themselves): the entry guards disjointness by these. `symbols` says
    where each symbol of shape_env is read.
    """

    graph: Any
    inputs: list
    example_inputs: list
    guards: list
    shape_env: Any
    statements: list
    ending: Any
    mutates: frozenset = frozenset()
    aliases: frozenset = frozenset()
    symbols: dict = field(default_factory=dict)
    breaks: list = field(default_factory=list)


@dataclass(frozen=True)
class RunEager:
    """Run the original code for this call only. `raises`: the class of exception it is expected to raise, if any
    (under WEFT_STRICT a call that does not raise is an internal error)."""

    reason: str
    raises: type | None = None


@dataclass(frozen=True)
class Skip:
    """Never trace this code object again."""

    reason: str
