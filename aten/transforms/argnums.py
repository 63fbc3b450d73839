"""Which positional arguments of a function a transform differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import dispatch, pytree
from aten._native import Tensor
from aten.layout import strided
from aten.transforms.tracer import Level, Tracer, any_wrapper


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


class Beside:
    """The tensors that a function is given beside those that are differentiated. They are of the level, for the function may
    write them with what is differentiated; whoever passed them sees what was written."""

    def __init__(self, level: Level):
        self.level = level
        self.made: dict[int, tuple[Tracer, Tensor]] = {}  # by the tensor that was given
        self.given: dict[int, Tensor] = {}  # by what it was in the function

    def arguments(self, args: Sequence[Any], places: Sequence[int], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the function gets them, those at `places` left out."""
        return pytree.map_leaves(self._inside, ([None if i in places else a for i, a in enumerate(args)], kwargs))

    def _inside(self, x: Any) -> Any:
        if not isinstance(x, Tensor) or x.layout is not strided or any_wrapper((x,)):
            return x
        if id(x) not in self.made:
            self.made[id(x)] = self.level.lift(x), x
        return self.made[id(x)][0]

    def written(self) -> None:
        """Write what the function did to the tensors that were given."""
        for t, given in self.made.values():
            self.given[id(t)] = given
            now = self.level.value(t)
            if now is given:
                continue
            if given.requires_grad and given.is_leaf:  # written without gradients, as the level saw to
                with dispatch.no_grad():
                    given.copy_(now)
            else:
                given.copy_(now)
