"""The levels and modes of a thread, opened and closed; `On`, the mode in which an op's parts lie where its operands are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from aten import _native, default_device
from aten import dtype as dtypes
from aten.open_levels import stack

CPU = dtypes.device("cpu")
_LEVEL_COUNT, _MODE_COUNT = 24, 32  # bits of the ambient word
OPEN = 0xFF << _LEVEL_COUNT | 0xFF << _MODE_COUNT | default_device.BITS  # those that say what is open


def push_level(level: Any) -> None:
    """Open a level above the others: it is asked first. It has `handle(op, args, kwargs)` and `wants(args) -> bool`."""
    del stack.levels[stack.top :]
    stack.levels.append(level)
    stack.top += 1
    _native.add_ambient_count(_LEVEL_COUNT, 1)


def pop_level() -> Any:
    """Close the top level and return it."""
    stack.top -= 1
    _native.add_ambient_count(_LEVEL_COUNT, -1)
    return stack.levels.pop()


def push_mode(mode: Any) -> None:
    """Open a mode: `mode.handle(op, args, kwargs)` sees every call of this thread first, as written by the caller."""
    stack.modes.insert(stack.mode_top, mode)  # (above those that may be asked now: a mode's handler may open others)
    stack.mode_top += 1
    _native.add_ambient_count(_MODE_COUNT, 1)
    if isinstance(mode, On):
        mode.before = default_device.tell(mode.device)


def pop_mode() -> Any:
    """Close the top mode and return it. RuntimeError if none is open."""
    if stack.mode_top <= 0:
        raise RuntimeError("trying to pop from empty mode stack")
    stack.mode_top -= 1
    mode = stack.modes.pop(stack.mode_top)
    if isinstance(mode, On):
        _native.set_ambient_bits(default_device.BITS, mode.before)
    _native.add_ambient_count(_MODE_COUNT, -1)
    return mode


def set_lowest(before: On | None, mode: On | None) -> None:
    """Put a mode below all others, in the place of the one that was there (None: there was or will be none)."""
    if before is not None:
        stack.modes.remove(before)
    above = next((m for m in stack.modes if isinstance(m, On)), None)
    if mode is not None:
        stack.modes.insert(0, mode)
    change = (mode is not None) - (before is not None)
    stack.mode_top += change
    if above is not None:  # it stays in force
        above.before = default_device.word_of(None if mode is None else mode.device)
        _native.add_ambient_count(_MODE_COUNT, change)
        return
    default_device.tell(None)
    _native.add_ambient_count(_MODE_COUNT, change)
    default_device.tell(None if mode is None else mode.device)


class On:
    """While it is open, factories that name no device make their tensors on `device`; composites run so where their tensors are.

    A mode: native rules, which make tensors of the CPU, are not asked meanwhile.
    """

    def __init__(self, device: Any):
        self.device = device
        self.before = 0  # bits of the ambient word that say the default device below

    def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A factory's call with the device; everything else as it is."""
        if not makes_elsewhere(op, len(args), kwargs):
            return NotImplemented
        return op(*args, **{**kwargs, "device": self.device})

    def __enter__(self) -> On:
        push_mode(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        pop_mode()


def makes_elsewhere(op: Any, given: int, kwargs: dict[str, Any]) -> bool:
    """Whether a call, of so many positional arguments, makes a tensor on the default device."""
    at = op.schema.index.get("device")
    if at is None or op.kind == "inplace" or op.schema.params[0].is_tensor or kwargs.get("device") is not None:
        return False
    return given <= at or op.schema.params[at].kw_only


_AS_IT_IS = contextlib.nullcontext()


def beside(values: Iterable[Any]) -> contextlib.AbstractContextManager[Any]:
    """`On` the device of the first tensor among the values (or in a list of them), which is no news where it is the default."""
    for value in values:
        if type(value) in (list, tuple):
            value = next((v for v in value if hasattr(v, "device")), None)
        device = getattr(value, "device", None)
        if device is not None and hasattr(value, "dtype"):
            return _AS_IT_IS if device == default_device.get_default_device() else On(device)
    return _AS_IT_IS
