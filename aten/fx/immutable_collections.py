"""Lists and dictionaries that cannot be changed, as arguments of nodes."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    kind = type(self).__bases__[0].__name__
    raise NotImplementedError(f"{type(self).__name__!r} object does not support mutation: make a new {kind} of it first")


class immutable_list(list):
    """A list whose elements stay."""

    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (list(self),)


class immutable_dict(dict):
    """A dictionary whose items stay."""

    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]
    __delitem__ = __ior__ = __setitem__ = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (dict(self),)
