"""The device that factories make their tensors on where none is named, as the thread's ambient word says it.

`set_default_device` and `with device:` open modes (`dispatch.On`), of which the innermost is in force.
"""

from typing import Any

from aten import _native
from aten import dtype as dtypes

BITS = 0xFFFF << 48  # of the ambient word
_TYPES = ("cpu", "cuda", "meta")


def word_of(device: Any) -> int:
    """A device as those bits of an ambient word; None is none of them."""
    if device is None:
        return 0
    return (_TYPES.index(device.type) + 1 | (0 if device.index is None else device.index + 1) << 4) << 48


def of_word(word: int) -> Any:
    """The device that an ambient word says, or None."""
    code = word >> 48
    if not code:
        return None
    kind = _TYPES[(code & 0xF) - 1]
    return dtypes.device(kind, (code >> 4) - 1) if code >> 4 else dtypes.device(kind)


def current() -> Any:
    """The device that is in force, or None where nobody has said any."""
    return of_word(_native.ambient())


def tell(device: Any) -> int:
    """Say in the thread's ambient word which device is in force; returns what it said."""
    return _native.set_ambient_bits(BITS, word_of(device))


def get_default_device() -> Any:
    """The device of new tensors."""
    return current() or dtypes.device("cpu")


__all__ = ["current", "get_default_device"]
