"""Which positional arguments of a function a transform differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def chosen_places(argnums: Any, args: Sequence[Any]) -> list[int]:
    """The places that `argnums`, an int or a tuple of them, names among `args`. Raises RuntimeError where it names none, one
    that is not there, or one twice."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    given = (argnums,) if isinstance(argnums, int) else argnums
    if not given:
        raise RuntimeError("argnums must be non-empty")
    for i in given:
        if not isinstance(i, int):
            raise RuntimeError(f"argnum must be int, got: {type(i)}")
        if not -len(args) <= i < len(args):
            raise RuntimeError(f"Got argnum={i}, but only {len(args)} positional inputs")
    places = [i + len(args) if i < 0 else i for i in given]
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return places


def chosen_arguments(args: Sequence[Any], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments that `argnums` names, as a tuple; with as_tuple=False the one that an int names as it is."""
    found = tuple([args[i] for i in chosen_places(argnums, args)])
    return found if as_tuple or not isinstance(argnums, int) else found[0]


def with_arguments(func: Callable, args: Sequence[Any], places: Sequence[int], kwargs: dict[str, Any]) -> Callable:
    """`func` of the arguments in these places alone; the others are those of `args` and `kwargs`."""

    def of(*chosen: Any) -> Any:
        full = list(args)
        for i, value in zip(places, chosen):
            full[i] = value
        return func(*full, **kwargs)

    return of
