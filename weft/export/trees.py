"""Arguments of exported programs: their names, and the sizes that were said of each."""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from aten import Tensor, pytree
from dynamo.exc import UserError, UserErrorType
from weft.export.dynamic_shapes import Dim, Hint, ShapesCollection


def register_dataclass(cls: type) -> None:
    """Dataclasses of this class are taken apart as arguments and results of exported programs."""
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    names = tuple(f.name for f in dataclasses.fields(cls) if f.init)

    def flatten(value: Any) -> tuple[list, tuple]:
        return [getattr(value, name) for name in names], names

    pytree.register(cls, flatten, lambda items, names: cls(**dict(zip(names, items))))


def argument_names(fn: Callable, args: tuple, kwargs: dict) -> dict[str, Any]:
    """The arguments of fn(*args, **kwargs) by parameter: those of *args as `args_0` …, those of **kwargs by their names."""
    call = getattr(fn, "forward", fn)
    try:
        bound = inspect.signature(call).bind(*args, **kwargs)
    except ValueError:  # it has no signature
        return {**{f"arg{i}": a for i, a in enumerate(args)}, **kwargs}
    except TypeError as e:
        raise UserError(UserErrorType.INVALID_INPUT, f"the arguments do not fit: {e}") from None
    found: dict[str, Any] = {}
    for parameter in bound.signature.parameters.values():
        if parameter.name not in bound.arguments:
            continue
        value = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            found.update({f"{parameter.name}_{i}": a for i, a in enumerate(value)})
        elif parameter.kind is parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[parameter.name] = value
    return found


def in_order(fn: Callable, args: tuple, kwargs: dict) -> list[str]:
    """The names of the arguments as (args, kwargs) is flattened: positional ones, then keywords as they were given."""
    named = argument_names(fn, args, kwargs)
    positional = [name for name in named if name not in kwargs]
    return [*positional[: len(args)], *kwargs]


def leaf_names(fn: Callable, args: tuple, kwargs: dict) -> list[str]:
    """A name for each leaf of (args, kwargs)."""
    names = in_order(fn, args, kwargs)
    found = []
    for name, value in zip(names, (*args, *kwargs.values())):
        found += [f"{name}{path}" for path, _ in _paths(value)]
    return found


def _paths(tree: Any) -> Iterator[tuple[str, Any]]:
    _, spec = pytree.flatten(tree)

    def walk(s: pytree.Spec, path: str) -> Iterator[tuple[str, Any]]:
        if s.kind is None:
            yield path, None
        keys = s.context if isinstance(s.context, tuple) else range(len(s.children))
        for key, child in zip(keys, s.children):
            yield from walk(child, f"{path}_{key}")

    return walk(spec, "")


def said_of_tensors(fn: Callable, args: tuple, kwargs: dict, dynamic_shapes: Any) -> list[tuple[Tensor, dict[int, Any]]]:
    """(tensor, {dim: Dim or Hint}) of the tensors among the arguments of which something was said.

    Raises UserError where dynamic_shapes has another structure than the arguments.
    """
    found: list[tuple[Tensor, dict[int, Any]]] = []
    if not dynamic_shapes:
        return found
    if isinstance(dynamic_shapes, ShapesCollection):
        for leaf in pytree.flatten((args, kwargs))[0]:
            said = dynamic_shapes.of(leaf) if isinstance(leaf, Tensor) else None
            if said:
                found.append((leaf, said))
        return found
    named = argument_names(fn, args, kwargs)
    if isinstance(dynamic_shapes, Mapping):
        given = _by_name(fn, named, args, kwargs, dynamic_shapes)
    else:
        values = [*args, *kwargs.values()]
        if len(dynamic_shapes) != len(values):
            raise _invalid(f"it has {len(dynamic_shapes)} entries, and the function {len(values)} arguments")
        given = list(zip(values, dynamic_shapes))
    for value, said in given:
        _descend(value, said, found)
    return found


def _by_name(fn: Callable, named: dict, args: tuple, kwargs: dict, shapes: Mapping) -> list[tuple[Any, Any]]:
    call = getattr(fn, "forward", fn)
    variadic = [p for p in inspect.signature(call).parameters.values() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    given = []
    for name, said in shapes.items():
        if name in named:
            given.append((named[name], said))
            continue
        parameter = next((p for p in variadic if p.name == name), None)
        if parameter is None:
            raise _invalid(f"{name!r} is none of its arguments {list(named)}")
        if parameter.kind is parameter.VAR_KEYWORD:
            given += [(named[key], s) for key, s in (said or {}).items()]
        else:
            rest = [v for key, v in named.items() if key.startswith(f"{name}_") and key not in kwargs]
            given += list(zip(rest, said or ()))
    return given


def _descend(value: Any, said: Any, found: list) -> None:
    if said is None:
        return
    if isinstance(value, Tensor):
        shape = dict(enumerate(said)) if isinstance(said, (tuple, list)) else said
        if not isinstance(shape, Mapping):
            raise _invalid(f"a tensor's sizes are said by a dict, list or tuple, not by {said!r}")
        if isinstance(said, (tuple, list)) and len(said) != value.ndim:
            raise _invalid(f"{said} has {len(said)} entries, and the tensor {value.ndim} dimensions")
        for dim, what in shape.items():
            if type(dim) is not int or not -value.ndim <= dim < value.ndim:
                raise _invalid(f"dimension {dim!r} of a tensor of {value.ndim} dimensions")
            if what is not None and not isinstance(what, (int, Dim, Hint)):
                raise _invalid(f"a size is a Dim, an int or None, not {what!r}")
            if type(what) is int and what != value.shape[dim]:
                raise _invalid(f"the size {value.shape[dim]} of dimension {dim} is said to be {what}")
        found.append((value, {d % value.ndim: what for d, what in shape.items() if isinstance(what, (Dim, Hint))}))
        return
    if dataclasses.is_dataclass(value) and isinstance(said, (Mapping, Sequence)):
        names = [f.name for f in dataclasses.fields(value)]
        pairs = said.items() if isinstance(said, Mapping) else zip(names, said)
        for name, inner in pairs:
            _descend(getattr(value, name), inner, found)
    elif isinstance(value, Mapping) and isinstance(said, Mapping):
        if set(said) != set(value):
            raise _invalid(f"its keys are {list(said)}, and those of the argument {list(value)}")
        for key, inner in said.items():
            _descend(value[key], inner, found)
    elif isinstance(value, (tuple, list)) and isinstance(said, (tuple, list)):
        if len(said) != len(value):
            raise _invalid(f"{len(said)} entries for {len(value)} values")
        for v, inner in zip(value, said):
            _descend(v, inner, found)
    else:
        raise _invalid(f"{said!r} says nothing of a {type(value).__name__}")


def _invalid(text: str) -> UserError:
    return UserError(UserErrorType.INVALID_INPUT, f"dynamic_shapes does not match the arguments: {text}")


def warn_of_lost(what: str) -> None:
    """An effect that an exported program does not have."""
    warnings.warn(f"the exported program does not {what}: effects on Python's objects are not part of it", stacklevel=4)
