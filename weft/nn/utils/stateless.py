"""Calls of a module with other parameters and buffers than its own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from aten import Tensor
from weft.nn.module import Module

__all__ = ["functional_call", "swapped"]
_STORES = ("_parameters", "_buffers")
_NEW = object()  # stands for what was not there before


def _store(module: Module, path: str) -> tuple[Any, str]:
    """The dict and the name under which a tensor of the module is filed; a new name is a buffer's. Raises AttributeError."""
    owner, _, name = path.rpartition(".")
    found = module.get_submodule(owner)
    for store in _STORES:
        if name in found.__dict__[store]:
            return found.__dict__[store], name
    return found._buffers, name


def _tied(module: Module, values: dict[str, Any]) -> dict[str, Any]:
    """`values`, under the other names of the same tensors too. Raises ValueError where they are given different ones."""
    names: dict[int, list[str]] = {}
    for kind in (module.named_parameters, module.named_buffers):
        for name, tensor in kind(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
    made = dict(values)
    for group in names.values():
        given = [n for n in group if n in values]
        if len(group) == 1 or not given:
            continue
        if any(values[n] is not values[given[0]] for n in given):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        made.update(dict.fromkeys(group, values[given[0]]))
    return made


def _check_names(module: Module, values: dict[str, Any]) -> None:
    """Raises RuntimeError unless the names are all of the module's, and no others."""
    own = {name for kind in (module.named_parameters, module.named_buffers) for name, _ in kind(remove_duplicate=False)}
    problems = [
        f"{what} key(s): {', '.join(map(repr, sorted(names)))}."
        for what, names in (("Unexpected", set(values) - own), ("Missing", own - set(values)))
        if names
    ]
    if problems:
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(problems))


@contextlib.contextmanager
def swapped(module: Module, values: dict[str, Any], *, tie_weights: bool = True, strict: bool = False) -> Iterator[None]:
    """Within the block the parameters and buffers named in `values` are those given.

    tie_weights: what is filed under several names is replaced under all. What the module assigns to its buffers meanwhile
    is found in `values` after it.
    """
    for value in values.values():
        if not (value is None or isinstance(value, Tensor)):
            raise TypeError(f"{value!r} is not an instance of torch.Tensor")
    wanted = _tied(module, values) if tie_weights else values
    if strict:
        _check_names(module, wanted)
    places = [(*_store(module, path), path) for path in wanted]
    before = [store.get(name, _NEW) for store, name, _ in places]
    try:
        for store, name, path in places:
            store[name] = wanted[path]
        yield
    finally:
        for (store, name, path), old in zip(places, before):
            if path in values and store[name] is not values[path]:
                values[path] = store[name]
            if old is _NEW:
                del store[name]
            else:
                store[name] = old


_reparametrize_module = swapped


def call(module: Module, values: dict[str, Any], args: Any, kwargs: Any, *, tie_weights: bool, strict: bool) -> Any:
    """module(*args, **kwargs) with `values`. A single argument may come without a tuple."""
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with swapped(module, values, tie_weights=tie_weights, strict=strict):
        return module(*arguments, **(kwargs or {}))


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The old name of `weft.func.functional_call`."""
    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. Please use "
        "torch.func.functional_call instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)
