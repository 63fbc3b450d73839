"""weft.library: custom ops of users: functions (`custom_op`), or declared as text and implemented by place (`Library`)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any

from aten import library, overrides
from aten.declared_ops import Library, _scoped_library, define, impl, register_kernel
from aten.library import (
    CustomOp,
    custom_op,
    found,
    get_ctx,
    register_autocast,
    register_autograd,
    register_fake,
    register_vmap,
    schema_type,
)
from weft.opcheck import opcheck
from weft.triton_ops import triton_op, wrap_triton

impl_abstract = register_fake  # its name before


def infer_schema(prototype_function: Callable, /, *, mutates_args: Iterable[str], op_name: str | None = None) -> str:
    """What a function's annotations say, as PyTorch declares ops: "(Tensor(a0!) x, SymInt n=2) -> Tensor". mutates_args: names of
    what it writes, or "unknown" for all tensors. Raises ValueError for annotations that are missing or unknown, or other names."""
    text = library.infer_schema(prototype_function, op_name or "")
    signature = inspect.signature(prototype_function, eval_str=True)
    kinds = {name: schema_type(p.annotation, f"parameter {name}") for name, p in signature.parameters.items()}
    written = {n for n, kind in kinds.items() if kind.startswith("Tensor")} if mutates_args == "unknown" else set(mutates_args)
    if written - set(kinds):
        raise ValueError(f"infer_schema(func): mutates_args names {sorted(written - set(kinds))}, which are no arguments of func")
    parts: list[str] = []
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind is p.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = "Sym" + kinds[name].replace("int", "Int", 1) if kinds[name].startswith("int") else kinds[name]
        kind = kind.replace("Tensor", f"Tensor(a{i}!)", 1) if name in written else kind
        default = json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)
        parts.append(f"{kind} {name}" if p.default is p.empty else f"{kind} {name}={default}")
    return f"{op_name or ''}({', '.join(parts)}) ->{text.rpartition('->')[2]}"


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
