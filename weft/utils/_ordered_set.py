"""A set that keeps the order in which its elements came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet, Reversible
from typing import Any, TypeVar

T = TypeVar("T")
__all__ = ["OrderedSet"]


class OrderedSet(MutableSet[T], Reversible[T]):
    """OrderedSet(iterable=None)."""

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def add(self, elem: T) -> None:
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        self._dict.pop(elem, None)

    def copy(self) -> OrderedSet[T]:
        return OrderedSet(self)

    def update(self, *others: Iterable[T]) -> None:
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        made = self.copy()
        made.update(*others)
        return made

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        kept = [set(other) for other in others]
        return OrderedSet(x for x in self if all(x in other for other in kept))

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        gone = {x for other in others for x in other}
        return OrderedSet(x for x in self if x not in gone)

    def issubset(self, other: Iterable[T]) -> bool:
        return set(self) <= set(other)

    def issuperset(self, other: Iterable[T]) -> bool:
        return all(x in self for x in other)

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)})"

    def __getstate__(self) -> Any:
        return list(self._dict)

    def __setstate__(self, state: Any) -> None:
        self._dict = dict.fromkeys(state)
