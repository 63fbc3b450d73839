"""Errors and warnings of weft.

Ops raise Python's own classes, as PyTorch does (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError).
This file holds what has no class there: problems of the compiler itself, and linear algebra's own error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import Any

from aten import _native

OURS = ("aten", "dynamo", "inductor", "weft")  # packages


class CompilerWarning(UserWarning):
    """Something in the compiler failed; the program went on without it."""


class LinAlgError(RuntimeError):
    """A matrix does not have the property that a decomposition needs."""


class AcceleratorError(RuntimeError):
    """A device said that something went wrong there."""


class CudaError(AcceleratorError):
    """What the driver of a cuda device answered: `code` is its number, the text names the call and what it was for."""

    code = 0


class OutOfMemoryError(RuntimeError):
    """A device's memory is full, though all that was free has been given back. (The host's memory gives MemoryError.)"""


_warned: set[str] = set()
_always = False


Hearer = Callable[[FrameType, str, type[Warning], bool], bool]


class _Hearers(dict[CodeType, Hearer]):
    """A table by code, with the names of the functions, which tell sooner than their code."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __setitem__(self, code: CodeType, hearer: Hearer) -> None:
        super().__setitem__(code, hearer)
        self.names.add(code.co_name)


# By the code of a function of ours that may stand among the callers of an op that warns: (its frame, text, category, once) →
# whether it deals with the warning. Capture has it told by the captured program, whose lines are none of the callers'.
hearers = _Hearers()
HEARER = "__hears_warnings__"  # the same, as a global of code that is generated


def warn_caller(text: str, category: type[Warning] = UserWarning, once: bool = False) -> None:
    """A warning at the line of the program that called into ours, however many calls are in between. `once`: in this process."""
    if _native.not_replayed():
        return  # the call itself warns
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_ours(frame.f_globals, frame.f_code):
        code = frame.f_code
        hearer = hearers.get(code) if code.co_name in hearers.names else None  # (the hash of code reads all of it)
        hearer = hearer or frame.f_globals.get(HEARER)
        if hearer is not None and hearer(frame, text, category, once):
            return
        frame, level = frame.f_back, level + 1
    if once and not _always and text in _warned:
        return
    if once:
        _warned.add(text)
    warnings.warn(text, category, stacklevel=level)


def is_ours(globals: dict[str, Any], code: CodeType) -> bool:
    """Whether it is code of weft, written or generated."""
    return _is_module_of_ours(str(globals.get("__name__"))) or code.co_filename.startswith("<weft")


@cache
def _is_module_of_ours(name: str) -> bool:
    return name.partition(".")[0] in OURS


def warn_once(text: str, category: type[Warning] = CompilerWarning, stacklevel: int = 3, about: str | None = None) -> None:
    """Warn with `text` the first time it is seen in this process (or anything `about` the same), or each time under
    `set_warn_always`."""
    say_once(about or text, lambda: warnings.warn(text, category, stacklevel=stacklevel + 2))


def say_once(about: str, say: Callable[[], None]) -> None:
    """Call `say` unless something `about` the same was said in this process."""
    if _always or about not in _warned:
        _warned.add(about)
        say()


def set_warn_always(always: bool) -> None:
    """Whether `warn_once` speaks each time."""
    global _always
    _always = always


def warns_always() -> bool:
    """What `set_warn_always` was last told; False at first."""
    return _always


def forget_warnings() -> None:
    """Let every `warn_once` speak again (used by `compiler.reset`)."""
    _warned.clear()


def internal(what: str, exc: BaseException) -> None:
    """Report a failure inside the compiler: `what` says in a line which step could not be done.

    Warns once a text and returns, so that the caller can run eager instead; under `settings.strict` raises `exc`.
    """
    from aten import settings

    if settings.strict:
        raise exc
    warn_once(f"{what}: {type(exc).__name__}: {exc}. Running without it; WEFT_STRICT=1 shows where it failed.", stacklevel=3)


class DataDependentError(RuntimeError):
    """Something was asked (of a size, say) that exists only once the kernels have run."""


class NoShapeRule(NotImplementedError):
    """A custom op that says nothing about the results that it gives: it cannot be part of a graph."""


class GraphFailed(RuntimeError):
    """A check of a compiled graph failed, nothing visible was written: the same call, run eager, says what is wrong.

    `op`, `argument` and `line` name what was checked ("" where not known); `value` broke the limit `bound`.
    """

    def __init__(self, record: tuple[str, str, str] | None = None, value: int = 0, bound: int = 0):
        self.op, self.argument, self.line = record or ("", "", "")
        self.value, self.bound = value, bound
        what = f"{self.op}({self.argument})" if self.op else "a size"
        super().__init__(f"{self.line or 'compiled graph'}: {what} failed a check: {value} against {bound}")


class PromiseBroken(GraphFailed):
    """A number is another than was taken for granted while capturing, data decided it, or it needs more than 64 bits: this call has
    to be run eager."""


class ConstraintViolationError(RuntimeError):
    """A size that was said to differ between calls is the same in all calls that the program works for."""
