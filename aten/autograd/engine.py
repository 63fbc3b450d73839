"""The public entries of the backward walk (`backward`, `grad`), and hooks. The walk itself is
aten/native/engine.cpp.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.tensor import attach


def _show(sizes: Any) -> str:
    return "[" + ", ".join(map(str, sizes)) + "]"


def _sum_to(grad: Tensor, sizes: Sequence[Any]) -> Tensor | None:
    """The gradient of a broadcast: summed over what was repeated; None if `sizes` does not broadcast to the
    gradient's.
    """
    extra = grad.ndim - len(sizes)
    if extra < 0:
        return None
    dims = list(range(extra))
    for dim, (have, want) in enumerate(zip(grad.shape[extra:], sizes), extra):
        if type(want) is int and want == 1:
            if not (type(have) is int and have == 1):
                dims.append(dim)
        elif have != want:
            return None
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.reshape(tuple(sizes)) if extra else grad


def fit(grad: Tensor, meta: tuple[Any, Any, Any], name: str | None, index: int) -> Tensor:
    """`grad` in the sizes and dtype of where it goes; RuntimeError if it cannot be that value's gradient."""
    sizes, dtype, device = meta
    if tuple(grad.shape) != tuple(sizes):
        fitted = _sum_to(grad, sizes)
        if fitted is None:
            where = f"Function {name} returned an invalid gradient" if name else "got an invalid gradient"
            raise RuntimeError(
                f"{where} at index {index} - got {_show(grad.shape)} but expected shape compatible with {_show(sizes)}"
            )
        grad = fitted
    if grad.dtype is not dtype:
        if grad.dtype.is_complex and not dtype.is_complex:
            grad = grad.real
        grad = grad.to(dtype)
    if grad.device != device:
        raise RuntimeError(f"{name} returned a gradient at index {index} on {grad.device}, expected {device}")
    return grad


_native.set_fit_gradient(fit)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, Tensor) else tuple(value)


def _seeds(outputs: tuple[Tensor, ...], grads: Any) -> tuple[Tensor, ...]:
    """The gradients that the walk starts from; ones for scalars that have none given."""
    given = (None,) * len(outputs) if grads is None else (grads,) if isinstance(grads, Tensor) else tuple(grads)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    seeds = []
    for i, (out, seed) in enumerate(zip(outputs, given)):
        if not out.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if seed is None:
            if out.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            seed = out.detach().new_ones(out.shape)
        elif tuple(seed.shape) != tuple(out.shape):
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {_show(seed.shape)} and "
                f"output[{i}] has a "
                f"shape of {_show(out.shape)}."
            )
        seeds.append(seed)
    return tuple(seeds)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of `tensors` into the `.grad` of the leaves they depend on, or of `inputs` only."""
    outputs = _as_tuple(tensors)
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("'inputs' argument to backward cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    found = _native.run_backward(outputs, _seeds(outputs, grad_tensors), keep, create_graph, inputs, True)
    for tensor, value in zip(inputs or (), found or ()):
        if tensor.grad_fn is not None and value is not None:
            tensor.grad = value if tensor.grad is None else tensor.grad + value


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` (weighted by `grad_outputs`) with respect to `inputs`, as a tuple.

    With is_grads_batched, grad_outputs (and so the result) have a first dimension more: one walk for all of them.
    Raises RuntimeError for an input that was not used, unless `allow_unused` (then None) or `materialize_grads`
    (zeros).
    """
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    batch: list[int] = []
    level = next((o.level for o in outs if _native.is_tracer(o) and o.requires_grad and hasattr(o.level, "gradients")), None)  # type: ignore[attr-defined]
    if is_grads_batched:
        seeds = _as_tuple(grad_outputs)
        batch = [seeds[0].shape[0]]
        found = _batched_walk(outs, seeds, keep, create_graph, ins)
    elif level is not None:
        found = level.gradients(outs, _seeds(outs, grad_outputs), ins, create_graph)
    else:
        found = _native.run_backward(outs, _seeds(outs, grad_outputs), keep, create_graph, ins, False)
    if materialize_grads:
        return tuple(t.detach().new_zeros([*batch, *t.shape]) if g is None else g for t, g in zip(ins, found))
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
            "the desired behavior."
        )
    return found


def _batched_walk(
    outs: tuple[Tensor, ...], seeds: tuple[Tensor, ...], keep: bool, create_graph: bool, ins: tuple[Tensor, ...]
) -> tuple[Any, ...]:
    """One backward walk with batches of gradients (first dimension); None for an input that was not used."""
    from aten.transforms import vmap

    used: list[int] = []

    def walk(*grads: Tensor) -> tuple[Any, ...]:
        found = _native.run_backward(outs, grads, keep, create_graph, ins, False)
        used[:] = [i for i, g in enumerate(found) if g is not None]
        return tuple(found[i] for i in used)

    results: list[Any] = [None] * len(ins)
    for i, value in zip(used, vmap(walk)(*seeds)):
        results[i] = value
    return tuple(results)


# ------------------------------------------------------------------------------------------------ hooks
class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away; a context manager that does so at its end."""

    __slots__ = ("_entries", "_entry", "__weakref__")

    def __init__(self, entries: list[Any], entry: Any):
        self._entries, self._entry = entries, entry

    def remove(self) -> None:
        """Take the hook away; once is enough."""
        self._entries[:] = [e for e in self._entries if e is not self._entry]

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def _append(entries: list[Any], entry: Any) -> RemovableHandle:
    entries.append(entry)
    return RemovableHandle(entries, entry)


def _register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """`hook(grad)` is called with the tensor's gradient when that is complete; what it returns replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if _native.is_tracer(self) and hasattr(self.level, "hook"):
        return RemovableHandle(*self.level.hook(self, hook))
    node = self.grad_fn
    if node is None:
        return RemovableHandle(*_native.add_leaf_hook(self, 0, hook))
    return _append(node._pre_hooks, (self.output_nr, hook))


def _register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """`hook(leaf)` is called after a gradient was accumulated into the leaf's `.grad`."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return RemovableHandle(*_native.add_leaf_hook(self, 1, hook))


def _retain_grad(self: Tensor) -> None:
    """Keep the gradient of a non-leaf in `.grad`."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    node = self.grad_fn
    if node is None or self.retains_grad:
        return
    ref = weakref.ref(self)

    def keep(gradient: Tensor) -> None:
        tensor = ref()
        if tensor is not None:
            tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient

    node._pre_hooks.append((-1 - self.output_nr, keep))
    _native.set_retains_grad(self)


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate this tensor's gradients into the leaves it depends on."""
    backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs)


def _detach_(self: Tensor) -> Tensor:
    """Forget the history of this tensor, in place."""
    if self._view_of is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    self._grad_fn = None
    return self


def _register_node_hook(self: Any, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
    """`hook(grad_inputs, grad_outputs)` is called after the node ran; what it returns replaces `grad_inputs`."""
    return _append(self._post_hooks, hook)


def _register_node_prehook(self: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """`hook(grad_outputs)` is called before the node runs; what it returns replaces them."""
    return _append(self._pre_hooks, (None, hook))


for _name, _fn in {
    "backward": _backward,
    "register_hook": _register_hook,
    "retain_grad": _retain_grad,
    "detach_": _detach_,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
}.items():
    attach(_name, _fn)
_native.Node.register_hook = _register_node_hook
_native.Node.register_prehook = _register_node_prehook

__all__ = ["RemovableHandle", "backward", "fit", "grad"]
