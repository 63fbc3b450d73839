"""recompute: a call whose graph is kept, but not the tensors that the graph saves: backward makes the call again for them.

The hooks on saved tensors carry it: a place is kept instead of each tensor, and the first place that is asked for fills all of
them. So hooks, several backward walks, derivatives of derivatives and `autograd.grad` are those of the call itself.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd.engine import open_walk
from aten.autograd.grad_mode import enable_grad
from aten.autograd.graph import saved_tensors_hooks
from aten.op import registry


class _Switches(threading.local):
    def __init__(self) -> None:
        self.early_stop = True


_switches = _Switches()


@contextlib.contextmanager
def early_stop(enable: bool) -> Iterator[None]:
    """Whether calls that are checkpointed within the block end, when made again, once all that is needed has been computed."""
    before, _switches.early_stop = _switches.early_stop, enable
    try:
        yield
    finally:
        _switches.early_stop = before


class CheckpointError(RuntimeError):
    """The second call of a checkpointed function did something else than the first."""


class _Stop(Exception):
    """All that was asked for is there."""


class _Place:
    """What a node keeps instead of a tensor; `found`: the tensor again, for each walk that has asked."""

    __slots__ = ("found", "__weakref__")

    def __init__(self) -> None:
        self.found: weakref.WeakKeyDictionary[Any, Tensor] = weakref.WeakKeyDictionary()


def _facts(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tuple(tensor.shape), "dtype": tensor.dtype, "device": tensor.device}


class _Frame:
    """One checkpointed call: the places of what its graph saves, in order, and how to make the call again."""

    def __init__(self, again: Callable[[], None], compare: bool, explain: Callable[[], str] | None):
        self.again, self.compare, self.explain = again, compare, explain
        self.stop_early = _switches.early_stop
        self.complete = False  # a walk within the call itself asks for what was saved so far
        self.places: list[weakref.ref[_Place]] = []
        self.facts: list[dict[str, Any]] = []
        self.made: weakref.WeakSet[Any] = weakref.WeakSet()  # walks for which the call was made again

    def pack(self, tensor: Tensor) -> _Place:
        place = _Place()
        self.places.append(weakref.ref(place))
        self.facts.append(_facts(tensor))
        return place

    def unpack(self, place: _Place) -> Tensor:
        walk = open_walk() or _Once()
        if walk not in self.made:
            self.made.add(walk)
            try:
                self._recompute(walk)
            except CheckpointError as error:
                if self.explain is None:
                    raise
                raise CheckpointError(self.explain()) from error
        return place.found[walk]

    def _recompute(self, walk: Any) -> None:
        count = 0

        def keep(tensor: Tensor) -> Tensor:
            nonlocal count
            at, count = count, count + 1
            if at >= len(self.places):
                if self.stop_early or not self.complete:
                    return tensor
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
                    "pass."
                )
            if self.compare:
                self._compare(at, tensor)
            place = self.places[at]()
            if place is not None:
                place.found[walk] = tensor
            if self.stop_early and count == len(self.places):
                raise _Stop
            return tensor

        with saved_tensors_hooks(keep, lambda tensor: tensor), enable_grad():
            self.again()
        if self.complete and count != len(self.places):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                "recomputation.\n"
                f"Number of tensors saved during forward: {len(self.places)}\nNumber of tensors saved during recomputation: {count}"
            )

    def _compare(self, at: int, tensor: Tensor) -> None:
        now = _facts(tensor)
        if now != self.facts[at]:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\ntensor at position {at}:\nsaved metadata: {self.facts[at]}\nrecomputed metadata: {now}"
            )


class _Once:
    """Stands for a walk where a saved tensor is asked for outside of one."""


def _save_inputs(tensors: tuple[Tensor, ...]) -> Any:
    """A node that keeps tensors as any node does: a call around this one, checkpointed too, computes them again."""
    source = registry["empty"]([0]).requires_grad_()
    made = source.detach()
    _native.record("CheckpointInputs", _no_gradients, (source,), (made,), tensors)
    return made.grad_fn


def _no_gradients(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    return (None,)


def recompute(
    call: Callable[[list[Any]], Any],
    leaves: list[Any],
    first: Any,
    restored: Callable[[], Any],
    compare: bool = True,
    explain: Callable[[], str] | None = None,
) -> Any:
    """call(leaves) in the context `first`; made again in backward within the one that `restored()` gives.

    compare: a second call whose saved tensors differ in sizes, dtype or device raises CheckpointError; explain: what it says then.
    """
    if not _native.is_grad_enabled():
        with first:
            return call(leaves)
    at = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and not _native.is_tracer(x)]
    node = _save_inputs(tuple(leaves[i] for i in at)) if at else None
    others = [None if i in at else x for i, x in enumerate(leaves)]

    def again() -> None:
        given = list(others)
        for i, x in zip(at, node.saved if node is not None else ()):
            given[i] = x
        with restored(), contextlib.suppress(_Stop):
            call(given)

    frame = _Frame(again, compare, explain)
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = call(leaves)
    frame.complete = True
    return result


__all__ = ["CheckpointError", "early_stop", "recompute"]
