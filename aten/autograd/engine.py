"""The public entries of the backward walk (`backward`, `grad`), and hooks. The walk itself is
aten/native/engine.cpp.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, overrides
from aten._native import Tensor
from aten.autograd.hook_handle import ListedHandle, RemovableHandle
from aten.meta import known_equal
from aten.op import ops
from aten.open_levels import transforming
from aten.scalar.unpatched import itertools, math
from aten.tensor import attach


def _show(sizes: Any) -> str:
    return "[" + ", ".join(map(str, sizes)) + "]"


def sum_to(grad: Tensor, sizes: Sequence[Any]) -> Tensor | None:
    """The gradient of a broadcast: summed over what was repeated; None if `sizes` does not broadcast to the
    gradient's. What is not known of symbolic sizes is taken to be as it must be.
    """
    extra = grad.ndim - len(sizes)
    if extra < 0:
        return None
    dims = list(range(extra))
    for dim, (have, want) in enumerate(zip(grad.shape[extra:], sizes), extra):
        if known_equal(have, want):
            continue
        if want == 1 if type(want) is int else not bool(have == want) and bool(want == 1):
            dims.append(dim)
        elif type(want) is int and type(have) is int:
            return None
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.squeeze(list(range(extra))) if extra else grad


def fit(grad: Tensor, meta: tuple[Any, Any, Any], name: str | None, index: int) -> Tensor:
    """`grad` in the sizes and dtype of where it goes; RuntimeError if it cannot be that value's gradient."""
    sizes, dtype, device = meta
    if len(grad.shape) != len(sizes) or not all(map(known_equal, grad.shape, sizes)):
        fitted = sum_to(grad, sizes)
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
        if grad.ndim == 0:
            return grad.to(device)
        where = f"Function {name} returned an invalid gradient" if name else "invalid gradient"
        raise RuntimeError(f"{where} at index {index} - expected device {device} but got {grad.device}")
    return grad


_native.set_fit_gradient(fit)


def is_edge(value: Any) -> bool:
    """Whether the value is an edge of the graph: (node, output number)."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], _native.Node)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, Tensor) or is_edge(value) else tuple(value)


class _Walk:
    """A backward walk that is under way: what it starts from and, if only some are wanted, where it goes."""

    __slots__ = ("roots", "inputs", "accumulates", "number", "callbacks", "_runs", "__weakref__")
    _numbers = itertools.count()

    def __init__(self, roots: tuple[Any, ...], inputs: tuple[Any, ...] | None, accumulates: bool):
        self.roots, self.inputs, self.accumulates = roots, inputs, accumulates
        self.number = next(self._numbers)
        self.callbacks: list[Callable[[], None]] = []
        self._runs: set[Any] | None = None

    @staticmethod
    def _nodes(values: tuple[Any, ...]) -> list[Any]:
        return [v[0] if is_edge(v) else _native.gradient_edge(v)[0] for v in values]

    def runs(self, node: Any) -> bool:
        """Whether the walk reaches the node (on its way to an input, if only some are wanted)."""
        if self._runs is None:
            self._runs = self._reached()
        return node in self._runs

    def _reached(self) -> set[Any]:
        order, seen = [], set()
        waiting = self._nodes(self.roots)
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            order.append(at)
            waiting += [n for n, _ in at.next_functions if n is not None]
        if self.inputs is None:
            return seen
        ends = set(self._nodes(self.inputs))
        kept: set[Any] = set()
        for at in sorted(order, key=lambda n: n._sequence_nr if n.next_functions else 0):
            if at in ends or any(n in kept for n, _ in at.next_functions):
                kept.add(at)
        return kept


class _Walks(threading.local):
    """The walks of this thread; `compiled`: what makes functions of them (`dynamo.compiled_autograd`), if that is on."""

    def __init__(self) -> None:
        self.open: list[_Walk] = []
        self.compiled: Callable | None = None


walks = _Walks()
kept_state: list[Callable[[], Callable[[], None]]] = []  # of a thread, which backward leaves as it was: each gives what restores it


def current_walk() -> _Walk:
    """The innermost walk of this thread. Raises RuntimeError outside of backward."""
    if not walks.open:
        raise RuntimeError("this is only known while backward runs")
    return walks.open[-1]


def open_walk() -> _Walk | None:
    """The innermost walk of this thread, if one is under way."""
    return walks.open[-1] if walks.open else None


def queue_callback(callback: Callable[[], None]) -> None:
    """Call `callback()` when the backward that runs now is done."""
    if not walks.open:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    walks.open[-1].callbacks.append(callback)


def walk(
    outs: tuple[Any, ...],
    seeds: tuple[Any, ...],
    keep: Any,
    create_graph: bool,
    ins: tuple[Any, ...] | None,
    accumulate: bool,
    run: Callable[..., Any] | None = None,
) -> Any:
    """What backward and grad do: the gradients of `ins`, None where there is none. run: which walk, by default that of whoever
    the outputs belong to."""
    now = _Walk(outs, ins, accumulate)
    undo = [keep_state() for keep_state in kept_state]
    walks.open.append(now)
    overrides.state.off += 1  # derivatives are no calls of the program: no `__torch_function__` is asked
    try:
        found = (run or _runner_of(outs))(outs, seeds, keep, create_graph, ins, accumulate)
        while now.callbacks:
            now.callbacks.pop(0)()
        return found
    finally:
        overrides.state.off -= 1
        walks.open.pop()
        for restore in undo:
            restore()


def _runner_of(outs: tuple[Any, ...]) -> Callable[..., Any]:
    for t in outs:
        if _native.is_tracer(t) and hasattr(t.level, "run_backward"):
            return t.level.run_backward
    return _native.run_backward if walks.compiled is None else walks.compiled


def _sizes_of(value: Any) -> tuple[Any, Any, Any]:
    """(sizes, dtype, device) of a tensor, or of the output that an edge leads to."""
    if isinstance(value, Tensor):
        return value.shape, value.dtype, value.device
    node, nr = value
    if not node.next_functions and hasattr(node, "variable"):
        return _sizes_of(node.variable)
    return node.metas[nr]


def _seeds(outputs: tuple[Tensor, ...], grads: Any) -> tuple[Tensor, ...]:
    """The gradients that the walk starts from; ones for scalars that have none given."""
    given = (None,) * len(outputs) if grads is None else (grads,) if isinstance(grads, Tensor) else tuple(grads)
    if len(given) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    seeds = []
    for i, (out, seed) in enumerate(zip(outputs, given)):
        if isinstance(out, Tensor) and not out.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        sizes, dtype, device = _sizes_of(out)
        if seed is None:
            if math.prod(sizes) != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if not dtype.is_floating_point:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
            ones = ops.ones if is_edge(out) else out.detach().new_ones
            seed = ones(sizes, dtype=dtype, device=device) if is_edge(out) else ones(sizes)
        elif not isinstance(seed, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(seed).__name__}")
        elif tuple(seed.shape) != tuple(sizes):
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {_show(seed.shape)} and "
                f"output[{i}] has a "
                f"shape of {_show(sizes)}."
            )
        elif seed.dtype.is_complex != dtype.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{i}] has a dtype of {seed.dtype} and output[{i}] has a dtype of {dtype}."
            )
        seeds.append(seed)
    return tuple(seeds)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Accumulate the gradients of `tensors` into the `.grad` of the leaves they depend on, or of `inputs` only.

    Tensors may be edges of the graph (graph.GradientEdge). `grad_variables` is the old name of `grad_tensors`.
    """
    if transforming():
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
            "instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    outputs = _as_tuple(tensors)
    if inputs is not None:
        inputs = _as_tuple(tuple(inputs.values()) if isinstance(inputs, dict) else inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph and not _warned_of_cycle:
        _warn_of_cycle()
    found = walk(outputs, _seeds(outputs, grad_tensors), keep, create_graph, inputs, True)
    for tensor, value in zip(inputs or (), found or ()):
        if isinstance(tensor, Tensor) and tensor.grad_fn is not None and value is not None:
            tensor.grad = value.clone() if tensor._held_grad is None else tensor._held_grad + value


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` (weighted by `grad_outputs`) with respect to `inputs`, as a tuple; of a dict, as a dict.

    With is_grads_batched, grad_outputs (and so the result) have a first dimension more: one walk for all of them.
    Raises RuntimeError for an input that was not used, unless `allow_unused` (then None) or `materialize_grads`
    (zeros).
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of "
            "the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(inputs, dict):
        found = grad(
            outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph,
            allow_unused=allow_unused, is_grads_batched=is_grads_batched, materialize_grads=materialize_grads,
        )  # fmt: skip
        return dict(zip(inputs, found))
    outs, ins = _as_tuple(outputs), _as_tuple(inputs)
    if not ins:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    others = {*map(type, ins)} - _PLAIN
    if others and any(sparse := [hasattr(type(t), "_gradient") for t in ins]):  # autograd goes through their values
        values = tuple([t._val if of_values else t for t, of_values in zip(ins, sparse)])
        found = grad(
            outputs, values, grad_outputs, retain_graph, create_graph,
            allow_unused=allow_unused, is_grads_batched=is_grads_batched, materialize_grads=materialize_grads,
        )  # fmt: skip
        return tuple([t._gradient(g) if of_values and g is not None else g for t, g, of_values in zip(ins, found, sparse)])
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    keep = create_graph if retain_graph is None else retain_graph
    if not (is_grads_batched or materialize_grads):
        found = walk(outs, _seeds(outs, grad_outputs), keep, create_graph, ins, False)
        if not allow_unused:
            _check_used(found)
        return found
    batch: list[int] = []
    if is_grads_batched:
        seeds = _as_tuple(grad_outputs)
        batch = [seeds[0].shape[0]]
        _check_batched(outs, seeds)
        found = _batched_walk(outs, seeds, keep, create_graph, ins)
    else:
        outs, grad_outputs = _differentiable_only(outs, grad_outputs)
        wanted = [i for i, t in enumerate(ins) if is_edge(t) or t.requires_grad]
        if not outs:
            found = (None,) * len(ins)
        elif len(wanted) < len(ins):
            part = walk(outs, _seeds(outs, grad_outputs), keep, create_graph, tuple(ins[i] for i in wanted), False)
            found = tuple(part[wanted.index(i)] if i in wanted else None for i in range(len(ins)))
        else:
            found = walk(outs, _seeds(outs, grad_outputs), keep, create_graph, ins, False)
    if materialize_grads:
        if any(is_edge(t) and g is None for t, g in zip(ins, found)):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        zeros = lambda t: t.detach().new_zeros([*batch, *t.shape]).requires_grad_(create_graph)
        return tuple(zeros(t) if g is None else g for t, g in zip(ins, found))
    if not allow_unused:
        _check_used(found)
    return found


_PLAIN = {Tensor}


def _check_used(found: tuple[Any, ...]) -> None:
    if any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
            "the desired behavior."
        )


def _differentiable_only(outs: tuple[Any, ...], seeds: Any) -> tuple[tuple[Any, ...], Any]:
    """The outputs that require grad, with what was given for them: where gradients are materialised the others give zeros."""
    given = (None,) * len(outs) if seeds is None else _as_tuple(seeds)
    pairs = [(o, s) for o, s in zip(outs, given) if is_edge(o) or o.requires_grad]
    return tuple(o for o, _ in pairs), tuple(s for _, s in pairs)


def _check_batched(outs: tuple[Any, ...], seeds: tuple[Any, ...]) -> None:
    for i, (out, seed) in enumerate(zip(outs, seeds)):
        sizes = tuple(_sizes_of(out)[0])
        if tuple(seed.shape[1:]) != sizes:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                "The sizes of "
                f"the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {_show(seed.shape)} and output[{i}] has a shape of {_show(sizes)}. If you "
                f"only want "
                "some tensors in `grad_output` to be considered batched, consider using vmap."
            )


_warned_of_cycle: list[bool] = []


def _warn_of_cycle() -> None:
    _warned_of_cycle.append(True)
    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
        "can cause "
        "a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
        "function, make "
        "sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak.",
        stacklevel=4,
    )


def _batched_walk(
    outs: tuple[Tensor, ...], seeds: tuple[Tensor, ...], keep: bool, create_graph: bool, ins: tuple[Tensor, ...]
) -> tuple[Any, ...]:
    """One backward walk with batches of gradients (first dimension); None for an input that was not used."""
    from aten.transforms import batched

    used: list[int] = []

    def once(*grads: Tensor) -> tuple[Any, ...]:
        found = walk(outs, grads, keep, create_graph, ins, False)
        used[:] = [i for i, g in enumerate(found) if g is not None]
        return tuple(found[i] for i in used)

    results: list[Any] = [None] * len(ins)
    for i, value in zip(used, batched(once)(*seeds)):
        results[i] = value
    return tuple(results)


# ------------------------------------------------------------------------------------------------ hooks
def _append(entries: list[Any], entry: Any) -> RemovableHandle:
    entries.append(entry)
    return ListedHandle(entries, entry)


def _register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """`hook(grad)` is called with the tensor's gradient when that is complete; what it returns replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = self.grad_fn
    if _native.is_tracer(self):
        hook = self.level.hooked(hook)  # type: ignore[attr-defined]
    if node is None:
        return ListedHandle(*_native.add_leaf_hook(self, 0, hook))
    return _append(node._pre_hooks, (self.output_nr, hook))


def _register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """`hook(leaf)` is called after a gradient was accumulated into the leaf's `.grad`."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return ListedHandle(*_native.add_leaf_hook(self, 1, hook))


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
            tensor.grad = gradient.clone() if tensor.grad is None else tensor.grad + gradient  # (others may hold it, too)

    keep.of = ref  # type: ignore[attr-defined]  # by which `move_retained` finds it
    node._pre_hooks.append((-1 - self.output_nr, keep))
    _native.set_retains_grad(self)


def move_retained(tensor: Tensor, node: Any) -> None:
    """A tensor written in place keeps the gradient of what it now is: its hook leaves `node`, which it was made by."""
    mine = [entry for entry in node._pre_hooks if getattr(entry[1], "of", None) is not None and entry[1].of() is tensor]
    node._pre_hooks[:] = [entry for entry in node._pre_hooks if not any(entry is m for m in mine)]
    now = tensor.grad_fn
    if now is not None:
        now._pre_hooks.extend((-1 - tensor.output_nr, hook) for _, hook in mine)


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Accumulate this tensor's gradients into the leaves it depends on."""
    backward((self,), None if gradient is None else (gradient,), retain_graph, create_graph, inputs=inputs)


def _detach_(self: Tensor) -> Tensor:
    """Forget the history of this tensor, in place."""
    if self._view_of is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    if _native.is_tracer(self):
        self.level.forget(self)  # type: ignore[attr-defined]
    self._grad_fn = None
    return self


def _register_node_hook(self: Any, hook: Callable[[Any, Any], Any]) -> RemovableHandle:
    """`hook(grad_inputs, grad_outputs)` is called after the node ran; what it returns replaces `grad_inputs`."""
    return _append(self._post_hooks, _hook_of(self, hook))


def register_node_prehook(self: Any, hook: Callable[[Any], Any]) -> RemovableHandle:
    """`hook(grad_outputs)` is called before the node runs; what it returns replaces them."""
    return _append(self._pre_hooks, (None, _hook_of(self, hook)))


def _hook_of(node: Any, hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook as the walk calls it: of a Node that a level recorded, with the level's tensors."""
    variable = getattr(node, "variable", None)
    level = getattr(node.backward, "level", None) if variable is None else getattr(variable, "level", None)
    return hook if level is None else level.hooked(hook)


for _name, _fn in {
    "backward": _backward,
    "register_hook": _register_hook,
    "retain_grad": _retain_grad,
    "detach_": _detach_,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
}.items():
    attach(_name, _fn)
_native.Node.register_hook = _register_node_hook
_native.Node.register_prehook = register_node_prehook

__all__ = [
    "RemovableHandle",
    "backward",
    "current_walk",
    "fit",
    "grad",
    "is_edge",
    "move_retained",
    "open_walk",
    "queue_callback",
    "register_node_prehook",
    "walk",
]
