"""Exceptions that tracing saw raised and caught, raised for real where a frame breaks while it handles them.

The calls they came through were inlined, and stand in the traceback all the same: stubs with their names and lines.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import NamedTuple

# What every exception keeps in C, past what the program's classes do where attributes are read and set, or have under these names.
TRACEBACK, CONTEXT = (BaseException.__dict__[name] for name in ("__traceback__", "__context__"))


class Step(NamedTuple):
    """A call that an exception came through: the code that ran, and the line it had come to."""

    code: types.CodeType
    line: int


def raiser(trace: Sequence[Step]) -> Callable[[list[BaseException]], None]:
    """A function that raises what is in the list that it is given from within calls that look like those of `trace`, innermost
    first. (It takes it out: a frame in the traceback that held the exception would keep all of them alive.)"""
    function: Callable | None = None
    for code, line in trace:
        function = _stub(code, line, function)
    assert function is not None
    return function


def passer(trace: Sequence[Step]) -> Callable[[BaseException], None]:
    """A function that lets its argument pass through such calls, which then stand in its traceback, and catches it."""
    through = raiser(trace)

    def passed(exception: BaseException) -> None:
        context = CONTEXT.__get__(exception)
        try:
            through([exception])
        except BaseException as caught:
            here = TRACEBACK.__get__(caught)
            TRACEBACK.__set__(caught, here and here.tb_next)
            CONTEXT.__set__(caught, context)

    return passed


def _stub(code: types.CodeType, line: int, inner: Callable | None) -> types.FunctionType:
    statement = "raise held.pop()" if inner is None else "inner(held)"
    text = "\n" * (max(line, 1) - 1) + f"def stub(held): {statement}"
    scope: dict = {"inner": inner}
    exec(compile(text, code.co_filename, "exec"), scope)
    stub = scope["stub"]
    stub.__code__ = stub.__code__.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    return stub
