"""What a traced program did to a dict from outside, done again to the real one in the same order.

A dict is iterated over by the places of its keys, which depend on what came and went: whoever stands in a loop over the
dict while compiled code changes it (a loop with a break in it does) is to find what plain Python would.
"""

from __future__ import annotations

import collections
from typing import Any

from dynamo import outcome
from dynamo.variables import hashed
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE

MOST = 32  # steps, beside as many as there are items: a dict that changed more is filled anew


class DictChanges:
    """`steps`: (what, hash key, key, further argument) of each key that came, went or moved; `stored`: hash keys under which a
    value was put in the place of another."""

    __slots__ = ("steps", "stored")

    def __init__(self) -> None:
        self.steps: list[tuple[str, Any, Variable, Variable]] = []
        self.stored: dict[Any, None] = {}

    def note(self, what: str, hash_key: Any = None, key: Variable = NONE, more: Variable = NONE) -> None:
        self.steps.append((what, hash_key, key, more))

    def names(self) -> set[Any] | None:
        """The hash keys of what came, went or has another value; None if that may be any."""
        if any(what not in ("add", "del", "move") for what, *_ in self.steps):
            return None
        return {*self.stored, *(step[1] for step in self.steps)}

    def can_be_replayed(self, entries: dict) -> bool:
        """Whether doing the same asks no `__hash__` and `__eq__` of the program, and is not longer than filling the dict."""
        keys = [*entries, *(step[1] for step in self.steps)]
        return len(self.steps) <= MOST + len(entries) and not any(map(hashed.asks_program, keys))

    def replay(self, emit: Any, cls: type[dict], target: Any, entries: dict) -> None:
        """Statements that do it to `target`, by the methods of `cls`. Only what stays has its value."""
        last = {hash_key: i for i, (what, hash_key, _, _) in enumerate(self.steps) if what == "add"}
        for i, (what, hash_key, key, more) in enumerate(self.steps):
            if what == "add":
                value = entries[hash_key][1] if hash_key in entries and last[hash_key] == i else NONE
                self.emit(emit, cls.__setitem__, target, key, value)
            elif what == "del":
                self.emit(emit, cls.__delitem__, target, key)
            elif what == "move":
                self.emit(emit, collections.OrderedDict.move_to_end, target, key, more)
            else:
                self.emit(emit, cls.clear if what == "clear" else cls.popitem, target)
        for hash_key in self.stored:
            if hash_key in entries and hash_key not in last:
                self.emit(emit, cls.__setitem__, target, *entries[hash_key])

    def emit(self, emit: Any, function: Any, target: Any, *args: Variable) -> None:
        emit.after(outcome.Do(outcome.Call(outcome.Const(function), (target, *map(emit.value, args)))))
