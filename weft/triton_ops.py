"""Custom ops made of Triton kernels: `triton_op`, whose function launches kernels that `wrap_triton` was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aten import Tensor, _native, pytree
from aten.library import CustomOp, custom_op

__all__ = ["WrappedKernel", "triton_op", "wrap_triton"]


def _has_data(value: Any) -> bool:
    return not isinstance(value, Tensor) or not (value.is_meta or _native.is_tracer(value))


class WrappedKernel:
    """A Triton kernel, launched as `kernel[grid](*args)`; where arguments have no data, as when shapes are asked for, it is not."""

    def __init__(self, kernel: Any, grid: Any = None) -> None:
        self.kernel, self.grid = kernel, grid

    def __getitem__(self, grid: Any) -> WrappedKernel:
        return WrappedKernel(self.kernel, grid)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.grid is None:
            raise RuntimeError("a Triton kernel is launched over a grid: kernel[grid](*args)")
        if all(map(_has_data, pytree.leaves((args, kwargs)))):
            return self.kernel[self.grid](*args, **kwargs)
        return None


def wrap_triton(triton_kernel: Callable, /) -> Any:
    """The kernel of a `triton_op`: what it writes is known to the op, and shapes are found without a launch.

    Raises RuntimeError for what is no function under `triton.jit` or `triton.autotune`.
    """
    if not hasattr(triton_kernel, "__getitem__") or not (hasattr(triton_kernel, "run") or hasattr(triton_kernel, "fn")):
        raise RuntimeError("wrap_triton only works on functions annotated with triton.jit or triton.autotune")
    return WrappedKernel(triton_kernel)


def triton_op(
    name: str, fn: Callable | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """`custom_op` for a function whose kernels are given to `wrap_triton`: its shape rule is the function itself."""

    def make(fn: Callable) -> CustomOp:
        op = custom_op(name, fn, mutates_args=() if isinstance(mutates_args, str) else tuple(mutates_args), schema=schema)
        op.register_fake(fn)
        return op

    return make if fn is None else make(fn)
