"""checkpoint: a call whose intermediate values are not kept for backward, but computed again there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native, dispatch, pytree
from aten._native import Tensor
from aten.op import Op, registry


class _Inputs:
    """A mode that notes which tensors that require grad are used. Under no_grad no result does, so they are from outside."""

    def __init__(self) -> None:
        self.found: dict[int, Tensor] = {}

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        for leaf in pytree.leaves((args, kwargs)):
            if isinstance(leaf, Tensor) and leaf.requires_grad:
                self.found.setdefault(id(leaf), leaf)
        return NotImplemented


class _Substitute:
    """A mode that puts other tensors in the place of some."""

    def __init__(self, others: dict[int, Tensor]):
        self.others = others

    @staticmethod
    def current(tensor: Tensor) -> Tensor:
        """What the open ones put in the place of a tensor."""
        for mode in reversed(dispatch.stack.modes[: dispatch.stack.mode_top]):
            if isinstance(mode, _Substitute):
                tensor = mode.others.get(id(tensor), tensor)
        return tensor

    def handle(self, op: Op, args: tuple, kwargs: dict) -> Any:
        leaves, spec = pytree.flatten((args, kwargs))
        if not any(id(leaf) in self.others for leaf in leaves):
            return NotImplemented
        args, kwargs = pytree.unflatten([self.others.get(id(leaf), leaf) for leaf in leaves], spec)
        return op(*args, **kwargs)


def checkpoint(function: Callable, *args: Any, preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """function(*args, **kwargs), remembering only its inputs: backward calls it once more.

    Whatever tensors it uses get their gradients, arguments or not. Random numbers are drawn again as they were unless
    preserve_rng_state is False. The function must do the same at its second call.
    """
    if not _native.is_grad_enabled():
        return function(*args, **kwargs)
    generator = _native.default_generator
    state = generator.get_state() if preserve_rng_state else None
    inputs = _Inputs()
    before = _native.set_grad_enabled(False)
    dispatch.push_mode(inputs)
    try:
        result = function(*args, **kwargs)
    finally:
        dispatch.pop_mode()
        _native.set_grad_enabled(before)
    leaves, spec = pytree.flatten(result)
    names = tuple(inputs.found.values())
    used = tuple([_Substitute.current(t) for t in names])  # this call may be part of one made again
    outputs = [i for i, x in enumerate(leaves) if isinstance(x, Tensor) and _differentiable(x) and id(x) not in inputs.found]
    if not used or not outputs:
        return result
    leaves = [x.detach() if i in outputs and x._base is not None else x for i, x in enumerate(leaves)]

    def backward(node: Any, grads: tuple) -> tuple:
        # Gradients end at these: one of the inputs may have been computed from another.
        others = _aliases(names, used)
        flat = pytree.leaves(_again(function, args, kwargs, state, others))
        pairs = [(flat[i], g) for i, g in zip(outputs, grads) if g is not None and flat[i].requires_grad]
        if not any(flat[i].requires_grad for i in outputs):
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        if not pairs:
            return (None,) * len(used)
        ys, gs = zip(*pairs)
        create = _native.is_grad_enabled()
        return tuple(_native.run_backward(tuple(ys), tuple(gs), create, create, tuple(others.values()), False))

    _native.record("CheckpointBackward", backward, used, tuple([leaves[i] for i in outputs]), ())
    return pytree.unflatten(leaves, spec)


def _differentiable(x: Tensor) -> bool:
    return x.dtype.is_floating_point or x.dtype.is_complex


def _aliases(names: tuple, tensors: tuple) -> dict[int, Tensor]:
    before = _native.set_grad_enabled(True)
    try:
        return {id(name): registry["alias"](t) for name, t in zip(names, tensors)}
    finally:
        _native.set_grad_enabled(before)


def _again(function: Callable, args: tuple, kwargs: dict, state: Any, others: dict[int, Tensor]) -> Any:
    """The call once more, with gradients, and with the generator where it was."""
    generator = _native.default_generator
    now = generator.get_state()
    before = _native.set_grad_enabled(True)
    dispatch.push_mode(_Substitute(others))
    try:
        if state is not None:
            generator.set_state(state)
        return function(*args, **kwargs)
    finally:
        dispatch.pop_mode()
        _native.set_grad_enabled(before)
        if state is not None:
            generator.set_state(now)
