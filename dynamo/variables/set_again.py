"""Sets as the program made and changed them, done again.

Python iterates over a set by the places of its items in its hash table, which depend on all that was done to it. A set that would
not be the same were its items put into a new one is made by what the program did, in the same order; and what it did to one from
outside is done again to the real one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamo import breaks, outcome
from dynamo.breaks import Unsupported

if TYPE_CHECKING:
    from dynamo.variables.sets import Given, SetVariable

MOST = 32  # steps, beside as many as there are items: a set from outside that changed more is filled anew
LARGEST = 1 << 13  # tables up to this size are tried
REMOVING = frozenset(  # which leave others where they would not be had these never come
    "discard pop clear difference difference_update symmetric_difference symmetric_difference_update".split()
)


def anew(emit: Any, made: SetVariable) -> Any:
    """The recipe of a set like `made` (if frozen, of what gives one); None if one of its items, put in one by one, is like it."""
    history = made.history
    if len(made.entries) < 2 or made.is_outside() or not (history.known and made.has_known_hashes()):
        return None
    if made.twin is not None:
        simple: Any = set(list(made.entries))
        simple = frozenset(simple) if made.frozen else simple
        if list(simple) == list(made.twin) and sys.getsizeof(simple) == sys.getsizeof(made.twin):
            return None
    try:
        return done_anew(emit, made)
    except Unsupported:
        names = [name for name, _ in history.steps] + [history.made[0] if history.made is not None else None]
        if any(name in REMOVING for name in names) or not has_one_order(made):
            raise
        return None


def done_anew(emit: Any, made: SetVariable) -> Any:
    history = made.history
    if history.made is None:
        begun = outcome.Build("list" if made.frozen else "set", tuple(map(emit.value, history.first)))
    else:
        name, *operands = history.made
        args = tuple(g if isinstance(g, outcome.Const) else operand(emit, g, made, False) for g in operands)
        begun = outcome.Call(outcome.Const(name if callable(name) else getattr(made.python_type(), name)), args)
    if not history.steps:
        return begun
    steps = [outcome.Build("tuple", (outcome.Const(f), *args)) for f, *args in calls(emit, made, False)]
    return outcome.Call(outcome.Const(done_again), (begun, *steps))


def replay(emit: Any, made: SetVariable, target: Any) -> bool:
    """Statements that change `target` as `made` was changed. False: there is no order to be kept, or too much was done."""
    history = made.history
    if not (history.known and made.has_known_hashes()) or len(history.steps) > MOST + len(made.entries):
        return False
    try:
        steps = calls(emit, made, True)
    except Unsupported:
        if has_one_order(made):
            return False
        raise
    for function, *args in steps:
        emit.after(outcome.Do(outcome.Call(outcome.Const(function), (target, *args))))
    return True


def calls(emit: Any, made: SetVariable, in_effects: bool) -> list[tuple]:
    """(method of set, arguments behind the set) of each step."""
    found = []
    for name, given in made.history.steps:
        args = () if given is None else (operand(emit, given, made, in_effects),)
        found.append((getattr(set, name), *args))
    return found


def operand(emit: Any, given: Any, made: SetVariable, in_effects: bool) -> Any:
    """The recipe of an item, or of a set or iterable as it was then. `in_effects`: sets from outside may have changed by then."""
    if not hasattr(given, "kind"):
        return emit.value(given)
    if given.kind != "set":
        items = outcome.Build("list", tuple(map(emit.value, given.items)))
        return items if given.kind == "list" else outcome.Call(outcome.Const(dict.fromkeys), (items,))
    if not can_be_read(given, made, in_effects):
        raise Unsupported(breaks.NOT_REBUILT, "a set whose order depends on what another set was then")
    return emit.value(given.set)


def can_be_read(given: Given, made: SetVariable, in_effects: bool) -> bool:
    """Whether the set is what it was, where the recipe reads it."""
    other = given.set
    if other is made:
        return False
    if other.is_outside():  # the real one changes with the effects
        return not given.shape and not (in_effects and other.shape)
    return other.shape == given.shape and not other.is_part()


def has_one_order(made: SetVariable) -> bool:
    """Whether its items lie in the same order in tables of every size, none in the place of another."""
    hashes = list(map(hash, made.entries))
    order = None
    size = 8
    while size <= LARGEST:
        if len(hashes) * 5 < (size - 1) * 3:
            places = [h & (size - 1) for h in hashes]
            here = sorted(range(len(hashes)), key=places.__getitem__)
            if len(set(places)) < len(places) or (order is not None and here != order):
                return False
            order = here
        size *= 2
    return order is not None


def done_again(made: set, *steps: tuple[Callable, Any]) -> set:
    for function, *args in steps:
        function(made, *args)
    return made
