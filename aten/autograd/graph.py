"""What `torch.autograd.graph` has: hooks on what is saved for backward, edges of the graph as values, hooks on several tensors."""

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from aten import _native
from aten._native import Node, Tensor
from aten.autograd.engine import current_walk, kept_state
from aten.autograd.grad_mode import no_grad
from aten.autograd.hook_handle import JoinedHandle, RemovableHandle

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
class _AllowMutationHandle:
    """What `allow_mutation_on_saved_tensors` gives: `clear()` forgets what was saved."""

    def __init__(self) -> None:
        self.live: dict[int, Any] = {}

    def clear(self) -> None:
        """Forget what was kept."""
        self.live.clear()


class _Saved:
    """A tensor as it was saved: itself while nobody wrote it, else the copy that was made before the write."""

    __slots__ = ("tensor", "version", "copy", "__weakref__")

    def __init__(self, tensor: Tensor):
        self.tensor, self.version, self.copy = tensor, tensor._version, None


class _CopyOnWrite:
    """A mode that copies what is saved before an op writes it in place."""

    def __init__(self) -> None:
        self.saved: weakref.WeakSet[_Saved] = weakref.WeakSet()

    def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Copies are made before an in-place op runs, which is left to the others."""
        if op.kind == "inplace" or kwargs.get("out") is not None:
            target = kwargs.get("out", args[0] if args else None)
            for written in target if isinstance(target, (tuple, list)) else (target,):
                if isinstance(written, Tensor):
                    self._keep(written)
        return NotImplemented

    def _keep(self, written: Tensor) -> None:
        memory = written.untyped_storage()
        for entry in list(self.saved):
            if entry.copy is None and entry.tensor.untyped_storage() == memory:
                with no_grad():
                    entry.copy = entry.tensor.detach().clone()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_AllowMutationHandle]:
    """Within the block tensors that are saved for backward may be written in place: a copy is made before the first write."""
    from aten import dispatch  # dispatch records, so it is above this package

    handle, mode = _AllowMutationHandle(), _CopyOnWrite()

    def pack(tensor: Tensor) -> _Saved:
        entry = _Saved(tensor)
        mode.saved.add(entry)
        handle.live[id(entry)] = entry
        return entry

    def unpack(entry: _Saved) -> Tensor:
        if id(entry) not in handle.live:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return entry.tensor if entry.copy is None else entry.copy

    dispatch.push_mode(mode)
    try:
        with saved_tensors_hooks(pack, unpack):
            yield handle
    finally:
        dispatch.pop_mode()
        handle.clear()


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
    raw = name.startswith("_raw_saved_")
    if raw or name.startswith("_saved_"):
        wanted = name[11 if raw else 7 :]
        names = _plan_names(self)
        for known in (wanted, {"self": "input", "result": "out"}.get(wanted)):
            if known in names:
                return (self._raw_saved if raw else self.saved)[names.index(known)]
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
