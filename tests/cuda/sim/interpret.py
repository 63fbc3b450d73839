"""Runs `@triton.jit` functions by Triton's interpreter on raw addresses, in a process that may also compile them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import triton.language as tl
from triton import knobs
from triton.runtime import interpreter
from triton.runtime.jit import JITFunction

from tests.cuda.sim import faithful

Order = Callable[[tuple[int, int, int]], Iterable[tuple[int, int, int]]]

_rewritten: dict[Any, Any] = {}
_lock = threading.RLock()


def rewritten(fn: Any) -> Any:
    """The Python function that a kernel's source means to the interpreter."""
    if fn not in _rewritten:
        _rewritten[fn] = interpreter.FunctionRewriter(fn).rewrite_ast()
    return _rewritten[fn]


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    kwargs.pop("_semantic", None)
    return rewritten(self.fn)(*args, **kwargs)


class _Everything:
    """Looks like a kernel that sees all of the language."""

    __globals__ = {"tl": tl, "core": tl.core}


@contextlib.contextmanager
def interpreting() -> Iterator[Any]:
    """Triton's language means NumPy inside, for the whole process: nothing may be compiled by it meanwhile."""
    with _lock, knobs.runtime.scope():
        knobs.runtime.interpret = True
        scope = interpreter._patch_lang(_Everything)
        scope.set_attr(JITFunction, "__call__", _call)
        faithful.patch(scope)
        try:
            yield scope
        finally:
            scope.restore()


SCALARS = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u1": np.bool_, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "fp16": np.float16, "fp32": np.float32, "fp64": np.float64,
}  # fmt: skip


def value(kind: str, number: Any) -> Any:
    """An argument as the interpreter holds it: an address for "*fp32", a number for "i32". It has the signature's type."""
    ty = tl.str_to_ty(kind, None)
    dtype = np.uint64 if kind[0] == "*" else faithful.SMALL.get(kind) or SCALARS[kind]
    return tl.tensor(interpreter.TensorHandle(np.array([number]).astype(dtype), ty), ty)


def run(
    fn: Any,
    grid: tuple[int, ...],
    signature: Mapping[str, str],
    values: Mapping[str, Any],
    constants: Mapping[str, Any],
    order: Order | None = None,
) -> None:
    """All programs of a grid, inside of `interpreting`. `signature` as Triton's ASTSource takes it."""
    x, y, z = (*grid, 1, 1)[:3]
    body = rewritten(fn.fn)
    args = {n: constants[n] if k == "constexpr" else value(k, values[n]) for n, k in signature.items()}
    interpreter.interpreter_builder.set_grid_dim(x, y, z)
    for at in order((x, y, z)) if order else np.ndindex(x, y, z):
        interpreter.interpreter_builder.set_grid_idx(*at)
        body(**args)
