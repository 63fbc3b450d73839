"""The result of a captured frame, put together from stand-ins: where each part of it comes from."""

from __future__ import annotations

from typing import Any

from aten import Tensor, _native
from dynamo import outcome
from dynamo.source import Scope
from weft.export.trees import warn_of_lost
from weft.nn.module import Module


class Leaf:
    """Stands for leaf `index` of the arguments."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


class Out:
    """Stands for output `index` of the captured graph."""

    __slots__ = ("index",)

    def __init__(self, index: int):
        self.index = index


class Evaluator:
    """Runs the statements of a frame's outcome on stand-ins. What they change outside is not part of an exported program.

    Raises AssertionError where they change a module's attribute.
    """

    def __init__(self, scope: Scope):
        self.scope = scope
        self.temps: dict[int, Any] = {}
        self.made: dict[int, Any] = {}  # what the statements made, by id

    def result(self, traced: Any) -> Any:
        for statement in traced.statements:
            self.run(statement)
        return self.value(traced.ending.value)

    def run(self, statement: Any) -> None:
        if isinstance(statement, outcome.Assign):
            self.temps[statement.temp.index if isinstance(statement.temp, outcome.Temp) else statement.temp] = self.value(
                statement.value
            )
            return
        if isinstance(statement, outcome.SetItem):
            target = self.value(statement.object)
            if id(target) in self.made:
                target[self.value(statement.key)] = self.value(statement.value)
        elif isinstance(statement, (outcome.SetAttr, outcome.DelAttr)):
            self.set_attribute(statement)
        elif isinstance(statement, outcome.Do):
            self.do(statement.value)
        else:
            warn_of_lost("change globals and cells")

    def set_attribute(self, statement: Any) -> None:
        target = self.value(statement.object)
        deleted = isinstance(statement, outcome.DelAttr)
        self.store(target, statement.name, None if deleted else self.value(statement.value), deleted)

    def store(self, target: Any, name: str, value: Any, deleted: bool = False) -> None:
        """target.name = value. A module may not come to hold a tensor of the call; other effects outside are left out."""
        if id(target) in self.made and not deleted:
            object.__setattr__(target, name, value)
        elif isinstance(target, Module) and isinstance(value, (Leaf, Out, Tensor)):
            raise AssertionError(f"Mutating module attribute {name} during export.")
        else:
            warn_of_lost(f"change the attribute {name} of a {type(target).__name__}")

    def do(self, recipe: Any) -> None:
        """Calls of methods of what was made are run; others are effects outside."""
        if not isinstance(recipe, outcome.Call):
            return
        if isinstance(recipe.function, outcome.GetAttr):
            if id(self.value(recipe.function.object)) in self.made:
                self.value(recipe)
        elif isinstance(recipe.function, outcome.Const) and getattr(recipe.function.value, "__name__", "") == "__setattr__":
            target, name, value = [self.value(a) for a in recipe.args]
            self.store(target, name, value)

    def value(self, recipe: Any) -> Any:
        if isinstance(recipe, outcome.Output):
            return Out(recipe.index)
        if isinstance(recipe, outcome.Const):
            return recipe.value
        if isinstance(recipe, outcome.Temp):
            return self.temps[recipe.index]
        if isinstance(recipe, outcome.Load):
            return recipe.source.get(self.scope)
        if isinstance(recipe, outcome.GetAttr):
            return getattr(self.value(recipe.object), recipe.name)
        if isinstance(recipe, outcome.GetItem):
            return self.value(recipe.object)[self.value(recipe.key)]
        made = self.made_of(recipe)
        self.made[id(made)] = made
        return made

    def made_of(self, recipe: Any) -> Any:
        if isinstance(recipe, outcome.Call):
            args = [self.value(a) for a in recipe.args]
            if isinstance(recipe.function, outcome.Const) and recipe.function.value is _native.as_inference:
                return args[0]  # the mode in which a tensor was made, which is that of whoever runs the program
            return self.value(recipe.function)(*args, **{k: self.value(v) for k, v in recipe.kwargs})
        if not isinstance(recipe, outcome.Build):
            raise TypeError(f"a result that is {recipe!r}")
        items = [self.value(i) for i in recipe.items]
        if recipe.kind == "dict":
            return dict(zip(items[::2], items[1::2]))
        if recipe.kind == "str":
            return "".join(items)
        if recipe.kind == "slice":
            return slice(*items)
        kinds: dict[str, Any] = {"tuple": tuple, "list": list, "set": set}
        return kinds[recipe.kind](items)
