"""weft.library: custom ops of users: functions (`custom_op`), or declared as text and implemented by place (`Library`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import overrides
from aten.declared_ops import Library, _scoped_library, define, impl, register_kernel
from aten.library import (
    CustomOp,
    custom_op,
    found,
    get_ctx,
    infer_schema,
    register_autocast,
    register_autograd,
    register_fake,
    register_vmap,
)
from weft.opcheck import opcheck
from weft.triton_ops import triton_op, wrap_triton

impl_abstract = register_fake  # its name before


def fallthrough_kernel() -> None:
    """What `Library.impl` takes to say that a place does nothing of its own. Raises NotImplementedError if it is called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Callable | None = None, /, *, lib: Any = None) -> Any:
    """func(mode, func, types, args, kwargs), of a mode, or func(func, types, args, kwargs), of a kind of tensor, takes the calls of
    the op that would go to the `__torch_dispatch__` of `torch_dispatch_class`. A decorator without `func`."""

    def register(func: Callable) -> Callable:
        overrides.rules[found(op).op, torch_dispatch_class] = func
        return func

    return register if func is None else register(func)


__all__ = [
    "CustomOp", "Library", "_scoped_library", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract",
    "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake",
    "register_kernel", "register_torch_dispatch", "register_vmap", "triton_op", "wrap_triton",
]  # fmt: skip
