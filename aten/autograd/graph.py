"""What `torch.autograd.graph` has: hooks on what is saved for backward, edges of the graph as values, hooks on several tensors."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from aten import _native
from aten._native import Node, Tensor
from aten.autograd.engine import current_walk, kept_state
from aten.autograd.function import run_backward
from aten.autograd.grad_mode import no_grad
from aten.autograd.hook_handle import JoinedHandle, RemovableHandle
from aten.scalar.unpatched import functools

_SAVED_HOOKS = 1 << 7  # bit of the ambient word


class _Hooks(threading.local):
    """A thread's pairs of hooks, innermost last, and why there may be none."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Callable[[Tensor], Any], Callable[[Any], Tensor]]] = []
        self.refusal: str | None = None


_hooks = _Hooks()


def _pack(tensor: Tensor) -> Any:
    """What the innermost hooks make of a tensor that is saved, and what gives it back."""
    if not _hooks.pairs:
        return None
    pack, unpack = _hooks.pairs[-1]
    return pack(tensor), unpack


def _with_history(tensor: Tensor, source: Any) -> Tensor:
    """The unpacked tensor as part of the graph: its gradient goes to `source`, the edge or the leaf that it was saved with."""
    made = tensor.detach()
    if isinstance(source, tuple):
        made._grad_fn = source
    else:
        with no_grad():
            made = made.view_as(made)
        _native.record("SavedLeaf", _through, (source,), (made,), ())
    return made


def _through(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    return grads


_native.set_saved_hooks(_pack, _with_history)


def push_hooks(pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
    """Hand what is saved for backward in this thread to `pack` from now on. Raises RuntimeError where that is disabled."""
    if _hooks.refusal is not None:
        raise RuntimeError(_hooks.refusal)
    _hooks.pairs.append((pack, unpack))
    _native.set_ambient_bits(_SAVED_HOOKS, _SAVED_HOOKS)


def pop_hooks() -> None:
    """Take the innermost hooks away."""
    _hooks.pairs.pop()
    if not _hooks.pairs:
        _native.set_ambient_bits(_SAVED_HOOKS, 0)


def _keep_hooks() -> Callable[[], None]:
    open_now = len(_hooks.pairs)

    def restore() -> None:
        while len(_hooks.pairs) > open_now:  # what a hook opened in backward and left open
            pop_hooks()

    return restore


kept_state.append(_keep_hooks)


def saved_tensors_hooks_enabled() -> bool:
    """Whether hooks on saved tensors may be used here: not within `disable_saved_tensors_hooks`."""
    return _hooks.refusal is None


def saves_through_hooks() -> bool:
    """Whether an op that is recorded now hands what it saves to hooks."""
    return bool(_native.ambient() & _SAVED_HOOKS) and _native.is_grad_enabled()


class saved_tensors_hooks:
    """Within the block every tensor that is saved for backward is kept as `pack_hook(tensor)`, any object; backward asks
    `unpack_hook(object)` for a tensor of the same contents. `pack_hook` must not write its argument."""

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Within the block what is saved for backward is moved to main memory, and back when it is needed."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        def pack(tensor: Tensor) -> tuple[Any, Tensor]:
            if tensor.device.type == "cpu":
                return tensor.device, tensor.clone()
            return tensor.device, tensor.cpu()

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within the block hooks on saved tensors raise RuntimeError with this message; so does the block itself if there are some."""
    if _hooks.pairs:
        raise RuntimeError(error_message)
    before, _hooks.refusal = _hooks.refusal, error_message
    try:
        yield
    finally:
        _hooks.refusal = before


# -------------------------------------------------------------------------------------------------- edges
class GradientEdge(NamedTuple):
    """Where a gradient goes in the graph: to output `output_nr` of `node`. May stand for a tensor in backward() and grad()."""

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that a gradient of the tensor goes to. Raises RuntimeError if it requires none."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*_native.gradient_edge(tensor))


def increment_version(tensor: Any) -> None:
    """Tell autograd that the tensor (or each of several) was written by other means."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        t._bump_version()


# --------------------------------------------------------------------------------------------- many tensors
def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> RemovableHandle:
    """`fn(gradients)` once those of all tensors are there (None for what has none), or `fn(gradient)` at the first ("any").

    Counts anew for every backward.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    edges = [get_gradient_edge(t) for t in tensors]
    state: dict[Any, list[Any]] = {}
    lock = threading.Lock()

    def at(index: int, grad: Tensor) -> None:
        walk = current_walk()
        with lock:
            found = state.get(walk)
            if found is None:
                state.clear()
                found = state[walk] = [sum(walk.runs(e.node) for e in edges), [None] * len(edges)]
                first = True
            else:
                first = False
        if mode == "any":
            if first:
                fn(grad)
            return
        found[1][index] = grad
        found[0] -= 1
        if found[0] == 0:
            fn(found[1])

    return JoinedHandle([t.register_hook(functools.partial(at, i)) for i, t in enumerate(tensors)])


# ---------------------------------------------------------------------------------- mutation of saved tensors
class _Saved:
    """A tensor as it was saved. `tensor` is None once a copy stands for it, because its memory was written."""

    __slots__ = ("tensor", "__weakref__")

    def __init__(self, tensor: Tensor):
        self.tensor: Tensor | None = tensor


class _SavedTensors:
    """What is saved within `allow_mutation_on_saved_tensors`, while a graph needs it: by memory, layout and version, and the
    copies that writes made."""

    def __init__(self) -> None:
        self.tid_to_weakhandle: weakref.WeakValueDictionary[Any, _Saved] = weakref.WeakValueDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Saved, Tensor] = weakref.WeakKeyDictionary()
        self.known: weakref.WeakSet[_Saved] = weakref.WeakSet()

    def clear(self) -> None:
        """Forget what was kept."""
        self.tid_to_weakhandle.clear()
        self.cloned.clear()
        self.known.clear()

    def pack(self, tensor: Tensor) -> _Saved:
        """The entry of a tensor: one for all nodes that save it in this version."""
        tid = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor._version)
        entry = self.tid_to_weakhandle.get(tid)
        if entry is None or entry.tensor is None:
            with no_grad():
                entry = self.tid_to_weakhandle[tid] = _Saved(tensor.detach())
            self.known.add(entry)
        return entry

    def unpack(self, entry: _Saved) -> Tensor:
        """What was saved, as it was."""
        if entry not in self.known:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return entry.tensor if entry.tensor is not None else self.cloned[entry]

    def keep(self, written: Tensor) -> None:
        """Copy what lies in the memory of a tensor that is about to be written."""
        memory = written.untyped_storage()
        for entry in list(self.known):
            if entry.tensor is not None and entry.tensor.untyped_storage() == memory:
                with no_grad():
                    self.cloned[entry] = entry.tensor.clone()
                entry.tensor = None


class _CopyBeforeWrite:
    """A mode that copies what is saved before an op writes it."""

    def __init__(self, saved: _SavedTensors) -> None:
        self.saved = saved

    def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Copies are made before the op runs, which is left to the others."""
        if op.kind == "inplace" or kwargs.get("out") is not None:
            target = kwargs.get("out", args[0] if args else None)
            for written in target if isinstance(target, (tuple, list)) else (target,):
                if isinstance(written, Tensor):
                    self.saved.keep(written)
        return NotImplemented


_mutation_allowed = False


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_SavedTensors]:
    """Within the block tensors that are saved for backward may be written in place: a copy is made before the first write.

    Backward must run within the block too. Raises RuntimeError inside of another such block.
    """
    from aten import dispatch  # dispatch records, so it is above this package

    global _mutation_allowed
    if _mutation_allowed:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    saved = _SavedTensors()
    dispatch.push_mode(_CopyBeforeWrite(saved))
    _mutation_allowed = True
    try:
        with saved_tensors_hooks(saved.pack, saved.unpack):
            yield saved
    finally:
        _mutation_allowed = False
        dispatch.pop_mode()
        saved.clear()


# -------------------------------------------------------------------------------------------- nodes' attributes
def _metadata(self: Node) -> dict[Any, Any]:
    return self.__dict__.setdefault("_metadata", {})


def _plan_names(node: Node) -> tuple[str, ...]:
    plan = getattr(node.backward, "plan", None)
    return plan.names if plan is not None else ()


_RESULTS = ("out", "result")


def _node_attribute(self: Node, name: str) -> Any:
    """`_saved_x` is what the op keeps of its parameter x ("self" and "result" as PyTorch calls them), `_raw_saved_x` the
    SavedTensor of it."""
    if getattr(self.backward, "func", None) is run_backward:  # of a Function: what its context has
        if name in ("saved_tensors", "_raw_saved_tensors"):
            return (self._raw_saved if name[0] == "_" else self.saved)[1:]
        ctx = self._raw_saved[0] if not name.startswith("_") else None
        if hasattr(ctx, name):
            return getattr(ctx, name)
    raw = name.startswith("_raw_saved_")
    if raw or name.startswith("_saved_"):
        wanted = name[11 if raw else 7 :]
        names = _plan_names(self)
        for known in (wanted, {"self": "input", "result": "out"}.get(wanted)):
            if known in names:
                return (self._raw_saved if raw else self.backward.shown(self))[names.index(known)]
    raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")


Node.metadata = property(_metadata)
Node.__getattr__ = _node_attribute

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
