"""Mutations of Python objects made while tracing, and how the new code replays them after the graph.

Until then the objects themselves are untouched: reads while tracing look here first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from dynamo import breaks, outcome
from dynamo.breaks import Unsupported
from dynamo.source import Item, Local, Object
from dynamo.variables.base import Variable
from dynamo.variables.storage import Namespace, Storage


class SideEffects:
    """What was changed: `dirty` are the storages, containers and cells from outside that changed, in order.

    `storages` has the attributes of every object looked at, new ones too; `classes` those of the classes that changed.
    """

    def __init__(self) -> None:
        self.storages: dict[Variable, Storage] = {}
        self.classes: dict[type, Storage] = {}
        self.namespaces: dict[int, Namespace] = {}
        self.dirty: dict[Any, None] = {}
        self.frozen: set[Variable] | None = None  # what a function must not change that runs never or often

    def __bool__(self) -> bool:
        return bool(self.dirty)

    # ------------------------------------------------------------------------------------- attributes, globals
    def namespace(self, globals: dict) -> Namespace:
        """The globals of a module, as changed so far."""
        found = self.namespaces.get(id(globals))
        if found is None:
            found = self.namespaces[id(globals)] = Namespace(globals)
        return found

    def global_value(self, globals: dict, name: str) -> Variable | None:
        """The value stored while tracing, NULL if deleted, None if untouched."""
        found = self.namespaces.get(id(globals)) if self.namespaces else None
        return None if found is None else found.changes.get(name)

    # -------------------------------------------------------------------------------------- containers
    def changed(self, value: Variable) -> None:
        """A container or cell is about to change; only those that came from outside are replayed."""
        self.check(value, value.comes_from_outside)
        if value.comes_from_outside:
            self.dirty.setdefault(value)

    def check(self, value: Any, outside: bool) -> None:
        """Raise Unsupported for a change of what was there before, in a function that may run never or often."""
        if self.frozen is not None and (outside or value in self.frozen):
            raise Unsupported(breaks.HIGHER_ORDER, "a function that changes what was there before it was called")

    @contextlib.contextmanager
    def freeze(self, frame: Any) -> Iterator[None]:
        """Within, nothing may change that the frame, or those that called it, can reach."""
        before, found = self.frozen, set[Variable]()
        while frame is not None:
            reach([*frame.locals.values(), *frame.stack], found, self.storages)
            frame = frame.parent
        self.frozen = found | (before or set())
        try:
            yield
        finally:
            self.frozen = before

    def outgrows(self, guards) -> bool:
        """Whether a dict that lives on (it hangs on an object, global or cell) has another size than guarded: the entry
        would not answer the next call, so compiling it is a waste the first time."""
        for value in self.dirty:
            source = value.source
            while isinstance(source, Item):
                source = source.base
            if source is None or isinstance(source, Local):
                continue
            size = len(getattr(value, "entries", ()))
            for guard in guards if size else ():
                if guard.source == value.source and guard.kind.name in ("LENGTH", "DICT_KEYS"):
                    if size != (guard.values[0] if guard.kind.name == "LENGTH" else len(guard.values[0])):
                        return True
        return False

    def replay(self, emit: Emission) -> None:
        """Emit everything that happened to objects from outside."""
        for value in list(self.dirty):
            value.replay(emit)


def _contents(value: Any) -> Iterable[Any] | None:
    """The items of a container, else None. Real ones are met as well (a function's globals, which may hold themselves): what a
    class of the user's says of its items is not asked."""
    if isinstance(value, dict):
        return dict.values(value)
    return list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value) if isinstance(value, tuple) else None


def reach(value: Any, found: set[Variable], storages: dict[Variable, Storage]) -> None:
    """Add the Variables that can be reached from these, attributes included."""
    waiting, seen = [value], set[int]()
    while waiting:
        value = waiting.pop()
        if (contents := _contents(value)) is not None:
            if id(value) not in seen:
                seen.add(id(value))
                waiting.extend(contents)
        elif isinstance(value, Variable) and value not in found:
            found.add(value)
            names = {name for cls in type(value).__mro__ for name in getattr(cls, "__slots__", ())}
            waiting.extend(getattr(value, name, None) for name in names)
            if (storage := storages.get(value)) is not None:
                waiting += [storage.mapping, storage.changes]


class Emission:
    """Turns the values that are alive at the end into recipes and statements.

    First come `assigns`, which read and build, then `effects`, which store: so a value is what it was before the
    effects. `outputs` are the arguments of the graph's output node.
    """

    def __init__(self, output):
        self.output = output
        self.assigns: list = []
        self.effects: list = []
        self.last: list = []
        self.outputs: list = []
        self._output_index: dict[Any, int] = {}
        self._temps: dict[Variable, outcome.Temp] = {}
        self._loads: dict[Any, outcome.Temp] = {}
        self._building: set[Variable] = set()
        self._count = 0
        self._own_cells: dict[Variable, None] = {}

    def value(self, variable: Variable) -> Any:
        """The recipe of a value."""
        temp = self._temps.get(variable)
        return temp if temp is not None else variable.recipe(self)

    def load(self, source) -> Any:
        """The recipe of what came from outside, as it was before any effect."""
        if isinstance(source, Object):
            return outcome.Const(source.value)
        if self._stays(source) or not (self.output.side_effects or self._in_cell(source.root)):
            return outcome.Load(source)
        temp = self._loads.get(source)
        if temp is None:
            temp = self._loads[source] = self._assign(outcome.Load(source))
        return temp

    def _stays(self, source) -> bool:
        """Whether effects leave alone what is read there: arguments that live in no cell."""
        return isinstance(source, Local) and not self._in_cell(source)

    def _in_cell(self, source) -> bool:
        return isinstance(source, Local) and source.key in self.output.root.code.co_cellvars

    def shared(self, variable: Variable, make, fill=None) -> outcome.Temp:
        """A value made once, however often it is used: make() gives its recipe, fill(temp) adds what refers to it."""
        if variable in self._temps:
            return self._temps[variable]
        if variable in self._building:
            raise Unsupported(breaks.NOT_REBUILT, f"{variable.describe()} contains itself")
        self._building.add(variable)
        temp = self._assign(make())
        self._building.discard(variable)
        self._temps[variable] = temp
        if fill is not None:
            fill(temp)
        return temp

    def after(self, statement) -> None:
        """An effect, behind all assigns and earlier effects."""
        self.effects.append(statement)

    def at_last(self, statement) -> None:
        """An effect behind all others, also those to come."""
        self.last.append(statement)

    def graph_output(self, arg: Any) -> outcome.Output:
        """Output of the graph: a node, or a symbolic number."""
        key = str(arg) if hasattr(arg, "shape_env") else arg
        if key not in self._output_index:
            self._output_index[key] = len(self.outputs)
            self.outputs.append(arg)
        return outcome.Output(self._output_index[key])

    def own_cell(self, cell) -> None:
        """A cell of the frame itself escapes: its contents are stored."""
        if cell not in self._own_cells:
            self._own_cells[cell] = None
            cell.replay(self)

    def _assign(self, recipe) -> outcome.Temp:
        temp = outcome.Temp(self._count)
        self._count += 1
        self.assigns.append(outcome.Assign(temp.index, recipe))
        return temp

    def finish(self, ending) -> tuple[list, Any]:
        """(statements, ending), with temporaries that are used once put where they are used."""
        effects = [*self.effects, *self.last]
        if not self.assigns:
            return effects, ending
        uses: dict[int, int] = {}
        for part in (*self.assigns, *effects, ending):
            count_temps(part, uses)
        single = {t for t, n in uses.items() if n == 1}
        values: dict[int, Any] = {}
        statements: list = []
        for assign in self.assigns:
            value = substitute(assign.value, values)
            if assign.temp in single and (not effects or not self._reads_outside(value)):
                values[assign.temp] = value
            elif assign.temp in uses:
                statements.append(outcome.Assign(assign.temp, value))
        statements += [substitute(s, values) for s in effects]
        return statements, substitute(ending, values)

    def _reads_outside(self, recipe: Any) -> bool:
        """Whether evaluating the recipe later could give another value: it reads or runs something."""
        if isinstance(recipe, outcome.Load):
            return not self._stays(recipe.source)
        if isinstance(recipe, outcome.Build):
            return any(map(self._reads_outside, recipe.items))
        return isinstance(recipe, (outcome.Call, outcome.GetAttr, outcome.GetItem, outcome.Temp))


def count_temps(part: Any, uses: dict[int, int]) -> None:
    """Count the uses of each temporary in a recipe, statement or ending."""
    if isinstance(part, outcome.Temp):
        uses[part.index] = uses.get(part.index, 0) + 1
    elif isinstance(part, (tuple, list)):
        for p in part:
            count_temps(p, uses)
    elif isinstance(part, dict):
        count_temps(list(part.values()), uses)
    elif isinstance(part, outcome.Part) and not isinstance(part, outcome.Const):
        count_temps(part.values(), uses)


def substitute(part: Any, values: dict[int, Any]) -> Any:
    """The part with temporaries replaced by recipes."""
    if not values or isinstance(part, (outcome.Const, str, int)) or part is None:
        return part
    if isinstance(part, outcome.Temp):
        return values.get(part.index, part)
    if isinstance(part, tuple):
        return tuple(substitute(p, values) for p in part)
    if isinstance(part, dict):
        return {k: substitute(v, values) for k, v in part.items()}
    if isinstance(part, outcome.Part):
        return type(part)(*[substitute(v, values) for v in part.values()])
    return part


__all__ = ["Emission", "SideEffects"]
