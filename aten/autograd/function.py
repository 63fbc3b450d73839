"""User-defined functions with their own backward: `autograd.Function`."""

import functools
import weakref
from collections.abc import Callable
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd.grad_mode import no_grad


class FunctionCtx:
    """What `forward` (or `setup_context`) leaves for `backward`. Any attribute may be set as well."""

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._node: Any = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs, with their versions."""
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved; RuntimeError if it was modified since, or freed by an earlier backward."""
        node = self._node() if self._node is not None else None
        if node is None:
            return self._to_save
        return node.saved[1:]

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were modified in place and are returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients of unused outputs come as zeros (the default) or as None."""
        self.materialize_grads = value


def _zeros_of(meta: tuple[Any, Any, Any], like: Tensor) -> Tensor:
    return like.detach().new_zeros(tuple(meta[0]), dtype=meta[1])


def _run_backward(cls: type["Function"], node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    ctx = node.saved[0]
    if ctx.materialize_grads:
        some = next(g for g in grads if g is not None)
        grads = tuple(_zeros_of(meta, some) if g is None else g for g, meta in zip(grads, node.metas))
    result = cls.backward(ctx, *grads)
    result = result if isinstance(result, tuple) else (result,)
    expected = len(ctx.needs_input_grad)
    if len(result) > expected and all(r is None for r in result[expected:]):
        result = result[:expected]
    if len(result) != expected:
        raise RuntimeError(
            f"function {cls.__name__}Backward returned an incorrect number of gradients (expected "
            f"{expected}, got "
            f"{len(result)})"
        )
    return tuple(r if needed else None for r, needed in zip(result, ctx.needs_input_grad))


class Function:
    """Subclass with static `forward(ctx, *args)` and `backward(ctx, *grads)`, and call `.apply(*args)`.

    Or `forward(*args)` with `setup_context(ctx, inputs, output)`.
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The function's value."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> None:
        """Save for backward, when `forward` takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Any) -> Any:
        """One gradient, or None, for each argument of `forward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        ctx = FunctionCtx(needs)
        with no_grad():
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args, **kwargs)
            else:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
        several = isinstance(output, tuple)
        outputs = list(output) if several else [output]
        for tensor in ctx._dirty:
            _native.bump_version(tensor) if not _native.is_tracer(tensor) else None
        if _native.is_grad_enabled() and any(needs):
            _attach(cls, ctx, args, outputs)
        return tuple(outputs) if several else outputs[0]


def _own_outputs(ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any]) -> None:
    """An input returned as it came, and not dirty, is returned as another tensor on the same memory."""
    for i, out in enumerate(outputs):
        if isinstance(out, Tensor) and any(out is a for a in args) and not any(out is d for d in ctx._dirty):
            outputs[i] = out.detach()
            ctx._to_save = tuple(outputs[i] if s is out and not out.requires_grad else s for s in ctx._to_save)


def _attach(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any]) -> None:
    _own_outputs(ctx, args, outputs)
    for tensor in ctx._dirty:
        _native.check_inplace(tensor)
    differentiable = tuple(
        o for o in outputs if isinstance(o, Tensor) and not any(o is n for n in ctx._non_differentiable)
    )
    if not differentiable:
        return
    everything = tuple(o for o in outputs if isinstance(o, Tensor))
    saved = (ctx, *ctx._to_save)
    ctx._to_save = ()
    backward = functools.partial(_run_backward, cls)
    _native.record(f"{cls.__name__}Backward", backward, args, everything, saved)
    ctx._node = weakref.ref(differentiable[0].grad_fn)
    for tensor in ctx._non_differentiable:
        tensor._grad_fn = None


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """For `backward`: runs without recording, and differentiating its results raises RuntimeError."""

    @functools.wraps(fn)
    def wrapped(ctx: FunctionCtx, *grads: Any) -> Any:
        recording = _native.is_grad_enabled() and any(isinstance(g, Tensor) and g.requires_grad for g in grads)
        with no_grad():
            result = fn(ctx, *grads)
        if not recording:
            return result
        several = isinstance(result, tuple)
        results = tuple(r.detach() if isinstance(r, Tensor) else r for r in (result if several else (result,)))
        tensors = tuple(r for r in results if isinstance(r, Tensor))
        _native.record("OnceDifferentiable", _refuse, tuple(g for g in grads if isinstance(g, Tensor)), tensors, ())
        return results if several else results[0]

    return wrapped


def _refuse(node: Any, grads: tuple[Any, ...]) -> Any:
    raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


__all__ = ["Function", "FunctionCtx", "once_differentiable"]
