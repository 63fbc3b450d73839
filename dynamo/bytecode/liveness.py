"""Which local variables are read later, and which are certainly assigned: data flow over instructions."""

from __future__ import annotations

import types
from typing import Any

from .. import _eval_frame
from .implicit import implicit_reads
from .instruction import Decoded, decode

KEPT = "keeps locals"
_ENDS = frozenset(("DELETE_FAST", "DELETE_DEREF", "LOAD_FAST_AND_CLEAR"))  # behind which a variable has no value


def live_before(code: types.CodeType) -> list[frozenset[str]]:
    """For each instruction (by index) the fast locals that may be read from there on before they are stored."""
    record = _eval_frame.record(code)
    found = record.get("live")
    if found is None:
        decoded = decode(code)
        found = record["live"] = _live(decoded, implicit_reads(code, decoded, KEPT in record))
    return found


def keep_locals(code: types.CodeType) -> None:
    """From now on every local counts as read at the return and where it is bound again: one of them may be something
    whose end runs code, a generator say."""
    record = _eval_frame.record(code)
    if KEPT not in record:
        record[KEPT] = True
        record.pop("live", None)


def keeps_locals(code: types.CodeType) -> bool:
    """Whether `keep_locals` was called for the code."""
    return KEPT in _eval_frame.record(code)


def live_at(code: types.CodeType, offset: int) -> frozenset[str]:
    """The fast locals that may be read from the instruction at byte `offset` on (its own reads included)."""
    return live_before(code)[decode(code).index_of[offset]]


def uses(name: str, value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(read, stored) fast locals of one instruction; reads come first."""
    if name in ("LOAD_FAST", "LOAD_FAST_CHECK", "DELETE_FAST"):
        return (value,), ()
    if name == "LOAD_FAST_AND_CLEAR":
        return (value,), (value,)
    if name == "STORE_FAST":
        return (), (value,)
    if name == "LOAD_FAST_LOAD_FAST":
        return value, ()
    if name == "STORE_FAST_LOAD_FAST":
        first, second = value
        return (() if first == second else (second,)), (first,)
    if name == "STORE_FAST_STORE_FAST":
        return (), value
    return (), ()


def _accesses(decoded: Decoded) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [uses(inst.name, inst.value) for inst in decoded.instructions]


def _live(decoded: Decoded, implicit: dict[int, tuple[str, ...]]) -> list[frozenset[str]]:
    n = len(decoded)
    accesses = _accesses(decoded)
    for index, names in implicit.items():
        read, stored = accesses[index]
        accesses[index] = (*read, *names), stored
    live: list[frozenset[str]] = [frozenset()] * n
    handlers = [decoded.handler_of(i) for i in range(n)]
    changed = True
    while changed:
        changed = False
        for i in range(n - 1, -1, -1):
            after: frozenset[str] = frozenset()
            for s in decoded.successors(i):
                if s < n:
                    after |= live[s]
            read, stored = accesses[i]
            now = after.difference(stored).union(read) if read or stored else after
            handler = handlers[i]
            if handler is not None:
                now |= live[handler.target]
            if now != live[i]:
                live[i] = now
                changed = True
    return live


def cells_assigned(code: types.CodeType, decoded: Decoded) -> list[frozenset[str] | None]:
    """For each instruction the cells that the code has certainly given a value there (an inner function may take it away)."""
    many = bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + many]
    accesses = [_of_cells(i.name, i.value) for i in decoded.instructions]
    return assigned_before(decoded, 0, frozenset(arguments).intersection(code.co_cellvars), accesses)


def _of_cells(name: str, value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if name == "STORE_DEREF":
        return (), (value,)
    return ((value,), ()) if name in _ENDS else ((), ())


def assigned_before(
    decoded: Decoded, start: int, known: frozenset[str], accesses: list | None = None
) -> list[frozenset[str] | None]:
    """For each instruction the locals certainly assigned there, when control starts at `start` with `known` assigned.

    None where control does not come from `start`.
    """
    n = len(decoded)
    accesses = _accesses(decoded) if accesses is None else accesses
    # What an inlined comprehension cleared is restored by a STORE_FAST, which stores "no value" where there was none.
    restored = frozenset(i.value for i in decoded.instructions if i.name == "LOAD_FAST_AND_CLEAR")
    before: list[frozenset[str] | None] = [None] * n
    pending = [(start, known)]
    while pending:
        i, assigned = pending.pop()
        if i >= n:
            continue
        old = before[i]
        new = assigned if old is None else old & assigned
        if new == old:
            continue
        before[i] = new
        read, stored = accesses[i]
        after = new.union(s for s in stored if s not in restored)
        if decoded.instructions[i].name in _ENDS:
            after = after.difference(read)
        handler = decoded.handler_of(i)
        if handler is not None:
            pending.append((handler.target, new & after))
        pending += [(s, after) for s in decoded.successors(i)]
    return before
