"""Exceptions that tracing saw raised and caught, raised for real where a frame breaks while it handles them.

The calls they came through were inlined, and stand in the traceback all the same: stubs with their names and lines.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import NamedTuple


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
        context = exception.__context__
        try:
            through([exception])
        except BaseException as caught:
            BaseException.__setattr__(caught, "__traceback__", caught.__traceback__ and caught.__traceback__.tb_next)
            BaseException.__setattr__(caught, "__context__", context)

    return passed


def _stub(code: types.CodeType, line: int, inner: Callable | None) -> types.FunctionType:
    statement = "raise held.pop()" if inner is None else "inner(held)"
    text = "\n" * (max(line, 1) - 1) + f"def stub(held): {statement}"
    scope: dict = {"inner": inner}
    exec(compile(text, code.co_filename, "exec"), scope)
    stub = scope["stub"]
    stub.__code__ = stub.__code__.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    return stub
