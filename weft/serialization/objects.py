"""Objects of classes (modules, optimizers, enumerations …) as data: the name of the class, what its `__new__` takes, the state.

Who reads decides which names stand for something: those that `add_safe_globals` allows, or with `weights_only=False` whatever can
be imported. Functions are values: none is called, and no class but those of CALLED, so that a file says what objects are, never
what is done.
"""

from __future__ import annotations

import collections
import copyreg
import enum
import importlib
import sys
from typing import Any, NamedTuple

import aten.op
import aten.random
from aten import Tensor
from weft.nn.uninitialized import UninitializedBuffer, UninitializedParameter
from weft.serialization.inert_pickle import Refused

CALLED: frozenset[Any] = frozenset(
    (
        aten.op.lookup,
        aten.random._rebuild,
        collections.Counter,
        collections.OrderedDict,
        collections.defaultdict,
        collections.deque,
        UninitializedParameter,
        UninitializedBuffer,
    )
)
"""What makes objects by being called, and is safe with any arguments."""


class Parts(NamedTuple):
    """What an object is made of again: `make(maker, args)`, then `set_state`, then the items of a list or of a dict."""

    maker: Any
    args: tuple
    state: Any
    items: list
    pairs: list


def name_of(what: Any) -> tuple[str, str]:
    """(module, qualified name) of a class or function. Raises TypeError where it is not found under them."""
    module, name = getattr(what, "__module__", None), getattr(what, "__qualname__", None) or getattr(what, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        raise TypeError(f"{what!r} has no name under which it could be found again")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not what:
        raise TypeError(
            f"{what!r} is not found as {module}.{name}, so that it could not be made again (a local class or function?)"
        )
    return module, name


def is_named(value: Any) -> bool:
    """Whether a value is saved as its name: classes and functions."""
    return (
        isinstance(value, type)
        or type(value).__reduce_ex__ is object.__reduce_ex__
        and isinstance(value, (type(name_of), type(len)))
    )


def parts(value: Any) -> Parts:
    """What `value` is made of. Raises TypeError where calls of other functions than CALLED would be needed."""
    if type(value) is object:
        raise TypeError("an object has nothing to be saved")
    reduced = value.__reduce_ex__(2)
    if not isinstance(reduced, tuple):
        raise TypeError(f"a {type(value).__name__} is saved under a name of its own")
    maker, args, state, items, pairs = (*reduced, None, None, None)[:5]
    if maker is copyreg.__newobj__:  # type: ignore[attr-defined]
        maker, args = args[0], args[1:]
    elif not callable_by_files(maker, args):
        raise TypeError(f"a {type(value).__name__} is made again by calling {getattr(maker, '__qualname__', maker)}")
    return Parts(maker, args, state, list(items or ()), [*map(list, pairs or ())])


def callable_by_files(maker: Any, args: tuple) -> bool:
    """Whether calling `maker` is no more than making an object."""
    if maker in CALLED:
        return True
    return isinstance(maker, type) and (issubclass(maker, enum.Enum) or maker.__init__ is object.__init__ or not args)


def make(maker: Any, args: tuple) -> Any:
    """The object before its state is known; `__init__` is not called. Raises Refused where a file wants another call."""
    if maker in CALLED or isinstance(maker, type) and issubclass(maker, enum.Enum):
        return maker(*args)
    if isinstance(maker, type):
        return maker.__new__(maker, *args)
    raise Refused(f"Weights only load failed: the file calls {maker!r}, which is not allowed")


def set_state(made: Any, state: Any) -> None:
    """Gives an object its state, as copy and pickle do."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if isinstance(made, Tensor):  # whose attributes do not all lie in a dictionary
        plain, slots = None, {**(plain or {}), **(slots or {})}
    if plain:
        made.__dict__.update(plain)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


def imported(module: str, name: str) -> Any:
    """The class or function of that name; PyTorch's names stand for weft's. Raises Refused where there is none."""
    for path in _paths(module, name):
        try:
            found: Any = importlib.import_module(path)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        return found
    raise Refused(f"load: {module}.{name}, of which the file has an object, cannot be imported here")


def _paths(module: str, name: str) -> list[str]:
    head, _, rest = module.partition(".")
    if head != "torch":
        return [module]
    where = "weft." + rest if rest else "weft"
    return [where, "weft.nn"] if rest.startswith("nn.modules.") else [where]
