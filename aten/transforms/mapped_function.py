"""An autograd.Function under vmap as one of whole batches, so that the levels below record it as they record any other.

Where a Function asks for it (generate_vmap_rule), its `forward`, `backward` and `jvp` run with the vmap open again: what they do
to an element is done to the batch by the rules of their ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aten._native import Tensor
from aten.autograd import function
from aten.autograd.function import Function, FunctionCtx
from aten.transforms.tracer import opened

if TYPE_CHECKING:
    from aten.transforms.batching import VmapLevel


class MappedFunction:
    """`cls` on batches: `function` is the autograd.Function to call with the values below `level`, whose batches are `dims`.

    `out_dims` are the batch dimensions of its outputs, None for what is the same for all elements; known when it was called.
    """

    def __init__(self, level: VmapLevel, cls: type[Function], dims: tuple, kwargs: dict):
        self.level, self.cls, self.dims, self.kwargs = level, cls, dims, kwargs
        self.out_dims: tuple = ()
        body: dict[str, Any] = {"generate_vmap_rule": True, "backward": staticmethod(self.backward), "jvp": staticmethod(self.jvp)}
        if cls.setup_context is Function.setup_context:
            body["forward"] = staticmethod(self.forward_with_context)
        else:
            body["forward"] = staticmethod(self.forward)
            body["setup_context"] = staticmethod(self.setup_context)
        self.function = type(cls.__name__, (Function,), body)

    def forward(self, *values: Any) -> Any:
        with opened(self.level):
            return self._leave(self.cls.forward(*self._enter(values, self.dims), **self.kwargs))

    def setup_context(self, ctx: FunctionCtx, values: tuple, output: Any) -> None:
        inner = FunctionCtx(ctx.needs_input_grad)
        several = isinstance(output, tuple)
        outputs = self._enter(output if several else (output,), self.out_dims)
        with opened(self.level):
            self.cls.setup_context(inner, self._enter(values, self.dims), outputs if several else outputs[0])
        self._keep(ctx, inner)

    def forward_with_context(self, ctx: FunctionCtx, *values: Any) -> Any:
        inner = FunctionCtx(ctx.needs_input_grad)
        with opened(self.level):
            output = self._leave(self.cls.forward(inner, *self._enter(values, self.dims), **self.kwargs))
        self._keep(ctx, inner)
        return output

    def backward(self, ctx: FunctionCtx, *grads: Any) -> tuple:
        seen = self.seen(ctx)
        given = self._enter(grads, self.out_dims)
        with opened(self.level):
            found = function.gradients(self.cls, seen, given, lambda i: given[i])  # zeros were made for the batch
        return tuple([self._along(g, d, total=True) for g, d in zip(found, self.dims)])

    def jvp(self, ctx: FunctionCtx, *tangents: Any) -> Any:
        seen = self.seen(ctx)
        with opened(self.level):
            found = self.cls.jvp(seen, *self._enter(tangents, self.dims))
        several = isinstance(found, tuple)
        out = tuple([self._along(t, d, total=False) for t, d in zip(found if several else (found,), self.out_dims)])
        return out if several else out[0]

    def seen(self, ctx: Any, known: Sequence[tuple[Any, Any]] = ()) -> FunctionCtx:
        """The context as the Function of an element sees it. known: values below with the tensors of the level that they are
        already in, by whose identity the levels above know what was saved."""
        seen = FunctionCtx(ctx.needs_input_grad)
        vars(seen).update(vars(ctx.of_element))
        there = {id(value): tensor for value, tensor in known}
        saved = ctx.saved_tensors
        entered = self._enter(saved, ctx.saved_dims)
        seen._to_save = tuple([there.get(id(value), tensor) for value, tensor in zip(saved, entered)])
        return seen

    def _keep(self, ctx: Any, inner: FunctionCtx) -> None:
        """What the context of an element says, of batches: tensors are saved as those below, which the levels there know."""
        pairs = [self.level.split(t) for t in inner._to_save]
        ctx._to_save, ctx.saved_dims = tuple([v for v, _ in pairs]), tuple([d for _, d in pairs])
        inner._to_save = ()
        ctx._dirty = tuple([self.level.split(t)[0] for t in inner._dirty])
        ctx._non_differentiable = tuple([self.level.split(t)[0] for t in inner._non_differentiable])
        ctx.materialize_grads = inner.materialize_grads
        ctx.of_element = inner

    def _enter(self, values: tuple, dims: tuple) -> tuple:
        wrap = self.level.wrap
        return tuple([v if d is None or v is None else wrap(v, d) for v, d in zip(values, dims)])

    def _leave(self, output: Any) -> Any:
        several = isinstance(output, tuple)
        pairs = [self.level.split(o) for o in (output if several else (output,))]
        self.out_dims = tuple([d for _, d in pairs])
        return tuple([v for v, _ in pairs]) if several else pairs[0][0]

    def _along(self, value: Any, dim: int | None, total: bool) -> Any:
        """A gradient (`total`) or tangent with the batch where its tensor has it, and without one for a tensor that has none."""
        if not isinstance(value, Tensor):
            return value
        value, found = self.level.split(value)
        if dim is None:
            if found is not None and not total:
                raise RuntimeError(f"{self.cls.__name__}.jvp: the tangent of an output that is not batched is batched")
            return value if found is None else value.sum(found)
        if found is None:
            sizes = list(value.shape)
            sizes.insert(dim, self.level.size)
            return value.unsqueeze(dim).expand(sizes)
        return value if found == dim else value.movedim(found, dim)


__all__ = ["MappedFunction"]
