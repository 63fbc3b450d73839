"""User-defined functions with their own backward: `autograd.Function`."""

from __future__ import annotations

import inspect
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, dispatch
from aten._native import Tensor
from aten.autograd.grad_mode import no_grad
from aten.autograd.inplace import rewrite
from aten.open_levels import transforming
from aten.scalar.unpatched import functools


class FunctionCtx:
    """What `forward` (or `setup_context`) leaves for `backward`. Any attribute may be set as well."""

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._non_differentiable: tuple[Tensor, ...] = ()
        self._node: Any = None
        self._tensors: tuple[int, ...] = ()  # which arguments are tensors, of a call that was recorded

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs, with their versions. Raises TypeError for what is no tensor."""
        for i, x in enumerate(tensors):
            if not (x is None or isinstance(x, Tensor)):
                raise TypeError(f"save_for_backward can only save variables, but argument {i} is of type {type(x).__name__}")
        self._to_save = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was saved; RuntimeError if it was modified since, or freed by an earlier backward."""
        node = self._node() if self._node is not None else None
        if node is None:
            return self._to_save
        return node.saved[1:]

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs for `jvp`."""
        if not self._to_save:
            self._to_save = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were modified in place and are returned."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs have no gradient."""
        self._non_differentiable = tensors

    def seen_from(self, pairs: Sequence[tuple[Any, Any]]) -> FunctionCtx:
        """The same with other tensors in the place of some: as a transform sees what its values stand for."""
        others = {id(old): new for old, new in pairs}
        made = FunctionCtx(self.needs_input_grad)
        for name, value in vars(self).items():
            setattr(made, name, others.get(id(value), value))
        made._to_save = tuple(others.get(id(t), t) for t in self.saved_tensors)
        made._node = None
        return made

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients of unused outputs come as zeros (the default) or as None."""
        self.materialize_grads = value


def _zeros_of(meta: tuple[Any, Any, Any], like: Tensor) -> Tensor:
    return like.detach().new_zeros(tuple(meta[0]), dtype=meta[1])


def run_backward(cls: type[Function], places: dict[int, int], count: int, node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """`places`: which output of the node each of the function's `count` outputs is; what is no tensor has the gradient None."""
    some = next(g for g in grads if g is not None)
    given = tuple(grads[places[i]] if i in places else None for i in range(count))
    ctx = node.saved[0]
    found = gradients(cls, ctx, given, lambda i: _zeros_of(node.metas[places[i]], some) if i in places else None)
    return for_tensors(cls, ctx, found)


class _NodesOf:
    """The class of the nodes that a Function's calls make."""

    def __get__(self, function: Any, cls: type) -> type:
        return _native.node_class(f"{cls.__name__}Backward")


class Function:
    """Subclass with static `forward(ctx, *args)` and `backward(ctx, *grads)`, and call `.apply(*args)`.

    Or `forward(*args)` with `setup_context(ctx, inputs, output)`, which function transforms ask for. Under vmap the function's own
    `vmap` runs, or with generate_vmap_rule its `forward`, `backward` and `jvp` element by element (by the rules of their ops).
    """

    generate_vmap_rule = False
    _backward_cls = _NodesOf()

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

    @staticmethod
    def vjp(ctx: FunctionCtx, *grads: Any) -> Any:
        """Another name of `backward`: a function has one of the two."""
        return Function.backward(ctx, *grads)

    @staticmethod
    def jvp(ctx: FunctionCtx, *tangents: Any) -> Any:
        """One tangent for each output, from those of the arguments of `forward` (None for what has none)."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """(result, dims of the batch) for arguments with a batch dimension in places `in_dims`."""
        raise NotImplementedError("vmap is not implemented.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the function and record it."""
        if cls.setup_context is not Function.setup_context:
            args, kwargs = _with_defaults(cls.forward, args, kwargs)
        elif transforming():
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
                "the setup_context staticmethod: forward(*args) computes, setup_context(ctx, inputs, output) saves for backward."
            )
        if kwargs and transforming() and any(isinstance(a, Tensor) for a in kwargs.values()):
            raise NotImplementedError(
                f"{cls.__name__}.apply: kwarg-only Tensor args are not supported under function transforms: pass them by position."
            )
        return call(cls, args, kwargs, (False,) * len(args))[0]


class InplaceFunction(Function):
    """A Function that may be told to write its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _with_defaults(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with those that `forward` has by default: `setup_context` is given all."""
    code = getattr(forward, "__func__", forward)
    if not getattr(code, "__defaults__", None):
        return args, kwargs
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _backward_of(cls: type[Function]) -> Callable[..., Any]:
    """The function's `backward` or `vjp`. Raises RuntimeError if it has both."""
    if cls.vjp is Function.vjp:
        return cls.backward
    if cls.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them."
        )
    return cls.vjp


def call(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], asked: tuple[bool, ...]) -> tuple[Any, FunctionCtx]:
    """(the function's value, its context). `asked`: which arguments a transform above wants gradients of."""
    for i in range(dispatch.stack.top - 1, -1, -1):
        level = dispatch.stack.levels[i]
        if level.wants(args) and any(level.own(a) for a in args):
            found = level.call_function(cls, args, kwargs, asked, i)
            if found is not NotImplemented:
                return found
    needs = tuple(want or (isinstance(a, Tensor) and a.requires_grad) for want, a in zip(asked, args))
    output, ctx = forward(cls, args, kwargs, needs)
    several = isinstance(output, tuple)
    outputs = list(output) if several else [output]
    for tensor in ctx._dirty:
        _native.bump_version(tensor) if not _native.is_tracer(tensor) else None
    if _native.is_grad_enabled() and any(isinstance(a, Tensor) and a.requires_grad for a in args):
        _attach(cls, ctx, args, outputs)
    return (tuple(outputs) if several else outputs[0]), ctx


def forward(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], needs: tuple[bool, ...]) -> tuple[Any, FunctionCtx]:
    """(what `forward` gives, the context), without recording."""
    ctx = FunctionCtx(needs)
    with no_grad():
        if cls.setup_context is Function.setup_context:
            return cls.forward(ctx, *args, **kwargs), ctx
        output = cls.forward(*args, **kwargs)
        cls.setup_context(ctx, args, output)
    return output, ctx


def context(cls: type[Function], found: FunctionCtx, args: tuple[Any, ...], output: Any) -> FunctionCtx:
    """The context of a call that a transform made with `args`: what `setup_context` makes of them where there is one."""
    if cls.setup_context is Function.setup_context:
        return found
    ctx = FunctionCtx(found.needs_input_grad)
    with no_grad():
        cls.setup_context(ctx, args, output)
    return ctx


def gradients(
    cls: type[Function], ctx: FunctionCtx, grads: tuple[Any, ...], zeros: Callable[[int], Tensor | None]
) -> tuple[Any, ...]:
    """What `backward` makes of the gradients of the outputs: one for each argument. zeros(i): those of output i."""
    if ctx.materialize_grads:
        grads = tuple(zeros(i) if g is None else g for i, g in enumerate(grads))
    result = _backward_of(cls)(ctx, *grads)
    result = result if isinstance(result, tuple) else (result,)
    expected = len(ctx.needs_input_grad)
    if len(result) > expected and all(r is None for r in result[expected:]):
        result = result[:expected]
    if len(result) != expected:
        raise RuntimeError(
            f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {expected}, got {len(result)})"
        )
    return result


def tensors_of(ctx: FunctionCtx, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """The arguments that the Node of a call has edges for."""
    ctx._tensors = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor))
    return tuple(args[i] for i in ctx._tensors)


def for_tensors(cls: type[Function], ctx: FunctionCtx, found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of the gradients of all arguments those of tensors. Raises RuntimeError for one of something else."""
    for i, g in enumerate(found):
        if g is not None and i not in ctx._tensors:
            raise RuntimeError(
                f"function {cls.__name__}Backward returned a gradient different than None at position {i + 1}, but the "
                "corresponding forward input was not a Variable"
            )
    return tuple(found[i] for i in ctx._tensors)


def _own_outputs(ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any]) -> None:
    """An input returned as it came, and not dirty, is returned as another tensor on the same memory."""
    for i, out in enumerate(outputs):
        if isinstance(out, Tensor) and any(out is a for a in args) and not any(out is d for d in ctx._dirty):
            with no_grad():
                outputs[i] = out.detach() if _native.is_tracer(out) else out.view_as(out)
            outputs[i]._grad_fn = None
            ctx._to_save = tuple(outputs[i] if s is out and not out.requires_grad else s for s in ctx._to_save)


def _check_dirty(ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any]) -> None:
    """Raises RuntimeError where what was marked dirty was not returned, or is a view that several results were returned with."""
    for tensor in ctx._dirty:
        if not any(tensor is o for o in outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                "modified inplace must all be outputs of the Function."
            )
        if not any(tensor is a for a in args):
            warnings.warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, there is no need to pass it "
                "to mark_dirty().",
                stacklevel=5,
            )
        elif not _native.is_tracer(tensor) and tensor._view_of is not None and len(outputs) > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
                "more than one Tensor. Return only the modified view, or do not write in place."
            )


def _attach(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], outputs: list[Any]) -> None:
    _check_dirty(ctx, args, outputs)
    _own_outputs(ctx, args, outputs)
    for tensor in ctx._dirty:
        _native.check_inplace(tensor)
    tensors = [i for i, o in enumerate(outputs) if isinstance(o, Tensor)]
    differentiable = [i for i in tensors if not any(outputs[i] is n for n in ctx._non_differentiable)]
    if not differentiable:
        return
    # A view that was written gives its base a history, by way of a tensor that stands for what was written into it.
    views = [t for t in ctx._dirty if not _native.is_tracer(t) and t._view_of is not None]
    written = {id(t): t.detach() for t in views}
    places = {i: nr for nr, i in enumerate(tensors)}
    made = [written.get(id(outputs[i]), outputs[i]) for i in places]
    saved = (ctx, *(written.get(id(t), t) for t in ctx._to_save))
    ctx._to_save = ()
    backward = functools.partial(run_backward, cls, places, len(outputs))
    _native.record(f"{cls.__name__}Backward", backward, tensors_of(ctx, args), tuple(made), saved)
    ctx._node = weakref.ref(made[places[differentiable[0]]].grad_fn)
    for tensor in ctx._non_differentiable:
        tensor._grad_fn = None
    for i in differentiable:
        if not any(outputs[i] is d for d in ctx._dirty):
            _native.made_by_function(outputs[i], len(differentiable) > 1)
    for view in views:
        rewrite(view, written[id(view)])


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


__all__ = ["Function", "FunctionCtx", "InplaceFunction", "call", "context", "gradients", "once_differentiable"]
