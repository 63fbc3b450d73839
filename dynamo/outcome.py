"""What tracing a frame hands to code generation: plain data that prints, between `interpreter` and `convert_frame`.

`trace_frame` answers with one of

- `Traced`: a graph, guards, and a small program (statements over recipes) that puts the frame's values together;
- `RunEager`: run the original code this time and try again next time (it raises for these inputs, say);
- `Skip`: never try this code object again.

The new code of a frame is: call the graph on `inputs`; run `statements` in order; then `ending`. A recipe may be
evaluated once wherever it stands: what must be evaluated once and used twice was given a `Temp` by an `Assign`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Part:
    """What recipes, statements and endings share: fields given by position or name, compared and printed by them.

    (Written out, because twenty dataclasses take as long to define as the rest of dynamo's plain data together.)
    """

    __slots__: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}

    def __init__(self, *values: Any, **named: Any):
        names = self.__slots__
        for name, value in zip(names, values):
            setattr(self, name, value)
        for name in names[len(values) :]:
            setattr(self, name, named[name] if name in named else self.defaults[name])

    if TYPE_CHECKING:  # the fields

        def __getattr__(self, name: str) -> Any: ...

    def values(self) -> tuple:
        """The fields, in order."""
        return tuple([getattr(self, name) for name in self.__slots__])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash((type(self), self.values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


# ------------------------------------------------------------------------------------- recipes: how to make a value
class Load(Part):
    """The value at `source` (dynamo.source), read when the recipe is evaluated."""

    __slots__ = ("source",)


class Output(Part):
    """Output `index` of the graph call."""

    __slots__ = ("index",)


class Temp(Part):
    """What `Assign(index, …)` stored."""

    __slots__ = ("index",)


class Const(Part):
    """This very object, kept in the code's constants (it need not be hashable)."""

    __slots__ = ("value",)

    def __eq__(self, other: object) -> bool:
        return type(other) is Const and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Cell(Part):
    """The frame's own cell of variable `name` (a cell or free variable), as a cell object."""

    __slots__ = ("name",)


class Build(Part):
    """A new container: kind is "tuple", "list", "set", "dict" (items: key, value, key, value …), "slice" or "str"
    (the concatenation of its items, each a str)."""

    __slots__ = ("kind", "items")


class Call(Part):
    """function(*args, **kwargs); kwargs are pairs (name, recipe)."""

    __slots__ = ("function", "args", "kwargs")
    defaults = {"args": (), "kwargs": ()}


class GetAttr(Part):
    __slots__ = ("object", "name")


class GetItem(Part):
    __slots__ = ("object", "key")


class Null(Part):
    """An empty stack slot (PUSH_NULL): only in `Break.stack`."""

    __slots__ = ()


class Handled(Part):
    """What PUSH_EXC_INFO pushes: what was handled before this exception. Only in `Break.stack`.

    `value` makes the exception; `trace` is what it came through (reraise.Step, the first one first), at last `line` of the
    frame itself. `context`: its `__context__`, or None where raising it says that. `again`: it was raised before the frame
    began, or for a slot below, and keeps its traceback and context.
    """

    __slots__ = ("value", "trace", "line", "context", "again")


# ---------------------------------------------------------------------------------------------- statements: effects
class Assign(Part):
    """Keep a value for later recipes."""

    __slots__ = ("temp", "value")


class Do(Part):
    """Evaluate and drop."""

    __slots__ = ("value",)


class SetAttr(Part):
    __slots__ = ("object", "name", "value")


class DelAttr(Part):
    __slots__ = ("object", "name")


class SetItem(Part):
    __slots__ = ("object", "key", "value")


class SetGlobal(Part):
    """Store into the frame's own globals."""

    __slots__ = ("name", "value")


class DelGlobal(Part):
    __slots__ = ("name",)


class SetCell(Part):
    """Store into the frame's own cell of `name`; value None (not a recipe) empties it."""

    __slots__ = ("name", "value")


# ------------------------------------------------------------------------------------------------------- endings
class Return(Part):
    __slots__ = ("value",)


class Break(Part):
    """Go on in Python at the instruction at byte `offset` of the frame's code, which is the one that breaks.

    If that is KW_NAMES or PRECALL, the call it begins, up to its CALL, breaks as one.
    `stack`: recipes from the bottom up, as the instruction expects it (Null for NULL); `locals`: recipes of the live,
    assigned fast locals (cells were stored by SetCell). `reason` is the Unsupported (prints as the user is told).
    `handling`: for a frame that was entered inside an except block and has left it, the exception handled now.
    """

    __slots__ = ("offset", "stack", "locals", "reason", "handling")
    defaults = {"handling": None}


class Traced(Part):
    """One frame, traced. `graph` is None when nothing was recorded (then `inputs` is empty and no graph is called).

    `inputs[i]` is the Source of graph placeholder i and `example_inputs[i]` its value in this call. `guards` hold for
    everything but `shape_env.guards`, which the backend may still add to. `mutates` lists the inputs the graph writes;
    the entry guards that they overlap no other. `symbols` says where each symbol of shape_env is read. `held` keeps alive
    what guards know by its address, until an entry is made.
    """

    __slots__ = (
        "graph", "inputs", "example_inputs", "guards", "shape_env", "statements", "ending", "mutates",
        "symbols", "breaks", "held",
    )  # fmt: skip
    defaults = {"mutates": frozenset(), "symbols": {}, "breaks": [], "held": []}


class RunEager(Part):
    """Run the original code for this call only. `raises`: the class of exception it is expected to raise, if any (a call
    that then does not raise is an internal error). `guards` and the rest say for which calls it was found to be so."""

    __slots__ = ("reason", "raises", "guards", "shape_env", "symbols")
    defaults = {"raises": None, "guards": (), "shape_env": None, "symbols": {}}


class Skip(Part):
    """Never trace this code object again."""

    __slots__ = ("reason",)
