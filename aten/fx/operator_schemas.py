"""What operations may be called with, and calls with their arguments put in order (torch.fx.operator_schemas)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from aten.fx.targets import is_op
from aten.op import Method

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable) -> list[inspect.Signature] | None:
    """The signatures that an operation has; None for what is none."""
    op = op.op if isinstance(op, Method) else op
    return [_signature(op)] if is_op(op) else None


def _signature(op: Any) -> inspect.Signature:
    empty, kinds = inspect.Parameter.empty, inspect.Parameter
    return inspect.Signature(
        [
            inspect.Parameter(
                p.name, kinds.KEYWORD_ONLY if p.kw_only else kinds.POSITIONAL_OR_KEYWORD, default=empty if p.required else p.default
            )
            for p in op.schema.params
        ]
    )


def normalize_function(
    target: Callable, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, arg_types: Any = None, kwarg_types: Any = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call of an operation or a function of Python with its defaults filled in: positional ones in place, or
    all by their names. None for a call that its signature does not take. (Each operation has one signature, so types do not
    matter.)"""
    found = get_signature_for_torch_op(target)
    if found is None and not inspect.isfunction(target):
        return None
    signature = found[0] if found else inspect.signature(target)
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: Any, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, normalize_to_only_use_kwargs: bool = False
) -> ArgsKwargsPair | None:
    """The same for a call of a module of `root`."""
    signature = inspect.signature(root.get_submodule(target).forward)
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(signature: inspect.Signature, args: tuple, kwargs: dict[str, Any], named: bool) -> ArgsKwargsPair | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    if any(p.kind not in (*POSITIONAL, inspect.Parameter.KEYWORD_ONLY) for p in signature.parameters.values()):
        return ArgsKwargsPair(bound.args, dict(bound.kwargs))
    return ArgsKwargsPair((), dict(bound.arguments)) if named else ArgsKwargsPair(bound.args, dict(bound.kwargs))


__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]
