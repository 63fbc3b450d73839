"""Which guards an entry keeps, where the user says so: `options={"guard_filter_fn": fn}` of weft.compile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from aten.records import record
from dynamo.guards import Guard, GuardSet
from dynamo.source import Global, Object, Scope, Source

# Kinds of guard under PyTorch's names; others have their own.
NAMES = {
    "TENSOR": "TENSOR_MATCH", "ID_IS": "ID_MATCH", "TYPE_IS": "TYPE_MATCH", "EQUALS": "EQUALS_MATCH", "LENGTH": "SEQUENCE_LENGTH",
    "SHAPE": "SHAPE_ENV", "SAME_OBJECT": "DUPLICATE_INPUT", "FUNCTION_CODE": "FUNCTION_MATCH", "GLOBALS": "FUNCTION_MATCH",
}  # fmt: skip


@record(frozen=True)
class GuardFilterEntry:
    """A guard, as the filter sees it. `value` is what stands at its source in the call that is compiled, `is_global` whether it is
    reached through a global or what a module holds."""

    name: str
    has_value: bool
    value: Any
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    orig_guard: Guard


def filtered(guards: Iterable[Guard], keeps: Callable[[Sequence[GuardFilterEntry]], Sequence[bool]], scope: Scope) -> GuardSet:
    """The guards that `keeps(entries)` has a true value for. Raises ValueError for another number of answers."""
    guards = list(guards)
    answers = list(keeps([_entry(guard, scope) for guard in guards]))
    if len(answers) != len(guards):
        raise ValueError(f"guard_filter_fn gave {len(answers)} answers for {len(guards)} guards")
    return GuardSet(guard for guard, kept in zip(guards, answers) if kept)


def _entry(guard: Guard, scope: Scope) -> GuardFilterEntry:
    source = guard.source if isinstance(guard.source, Source) else None
    has_value, value = False, None
    if source is not None:
        try:
            has_value, value = True, source.get(scope)
        except (KeyError, AttributeError, IndexError, ValueError, TypeError):
            has_value = False
    kind = NAMES.get(guard.kind.name, guard.kind.name)
    is_global = source is not None and isinstance(source.root, (Global, Object))
    return GuardFilterEntry("" if source is None else str(source), has_value, value, kind, (kind,), is_global, guard)

