"""The user's own line that led to a function being captured: what a warning about a library's function names."""

from __future__ import annotations

import functools
import linecache
import sys
import types

from dynamo import trace_rules


@functools.cache
def installed() -> tuple[str, ...]:
    """The folders of the standard library and of installed packages."""
    import sysconfig  # here: it reads the whole of Python's configuration

    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def is_users(code: types.CodeType, module: str) -> bool:
    """Whether code is the user's own: not of weft, of a library on the list, of an installed package, or made up."""
    top = module.partition(".")[0]
    if top in trace_rules.OWN or trace_rules.left_to_python(top):
        return False
    return not code.co_filename.startswith((*installed(), "<frozen"))


def users_line() -> str:
    """`file:line, in function: text` of the innermost frame of the user's own, or "" if there is none."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code, str(frame.f_globals.get("__name__") or "")):
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            return f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_qualname}: {text}"
        frame = frame.f_back
    return ""
