"""Compiled functions: the Python side of the frame hook.

`optimize(fn, config)` gives the native callable; the hook is tested once at import, on a toy, and where it does not
work everything runs eager with a reason.
"""

from __future__ import annotations

import copyreg
import types
from collections.abc import Callable
from typing import Any

from aten.collection import lasting_imports
from aten.scalar.unpatched import functools

from . import _eval_frame, above
from ._eval_frame import CompiledFunction, Entry, GuardProgram
from .capture_config import Config, intern_config, whole
from .polyfills.outermost import calling

copyreg.pickle(CompiledFunction, lambda fn: fn.__qualname__)  # by name, as functions are; copies are the same object


class _Compiler:
    """What the native side calls; loads the compiler on first use."""

    def __getattr__(self, name: str) -> Any:
        with lasting_imports():
            from . import convert_frame

        _eval_frame.set_compiler(convert_frame, convert_frame.check_failed())
        return getattr(convert_frame, name)


def __getattr__(name: str) -> Any:
    return above.find(__name__, name)


unavailable: str | None = None  # why frames cannot be captured in this process


def _self_test() -> str | None:
    """Compile a toy by exchanging its code. None, or a sentence saying what did not work."""

    def toy(x, y=2):
        return x + y

    code = toy.__code__
    changed = code.replace(co_name="changed", co_stacksize=code.co_stacksize + 3)
    guards = GuardProgram(
        n_regs=0, fixed_first=0, fixed_count=0, live=[], fixed=[], last=[], keys=[], key_function=False
    )
    seen = []

    class Toy:
        recompile_limit = 1

        @staticmethod
        def compile_frame(code, function, args, config, record):
            seen.append((code, args))
            return Entry(config, guards, code=changed)

    _eval_frame.set_compiler(Toy, None)
    try:
        compiled = CompiledFunction(toy, Toy)
        results = [compiled(1), compiled(1, y=3), compiled(4, 5)]
    except Exception as e:  # whatever it is, it is the reason
        return f"{type(e).__name__}: {e}"
    finally:
        _eval_frame.reset(code)
        _eval_frame.set_compiler(_Compiler(), None)
    if results != [3, 4, 9] or [s[1] for s in seen] != [{"x": 1, "y": 2}]:
        return f"a toy returned {results} after {len(seen)} compilations"
    return "the hook stayed in the interpreter" if _eval_frame.is_open() else None


unavailable = _self_test()


def optimize(fn: Callable, config: Config) -> Callable:
    """`fn` compiled: a native callable for a function, a bound one for a method, a wrapper for another callable.

    Where the frame hook does not work (see `unavailable`) `fn` itself, with one warning.
    """
    if unavailable is not None:
        from aten import errors

        errors.warn_once(f"weft.compile runs eager: this interpreter's frames cannot be captured ({unavailable})")
        return fn
    config = intern_config(config)
    if isinstance(fn, CompiledFunction):
        fn = fn.__wrapped__
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return types.MethodType(_compiled(fn.__func__, config), fn.__self__)
    ours = isinstance(fn, types.FunctionType) and str(fn.__globals__.get("__name__")).startswith("aten.")
    if isinstance(fn, types.FunctionType) and not ours:
        return _compiled(fn, config)
    if callable(fn) and (ours or not isinstance(type(fn).__call__, types.FunctionType)):
        return _compiled(calling(fn), config)  # it has no frame that could be captured
    if not callable(fn):
        raise TypeError(f"compile() takes a callable, not {type(fn).__name__}")

    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    functools.update_wrapper(call, fn, updated=())
    return _compiled(call, config)


def _compiled(fn: types.FunctionType, config: Config) -> CompiledFunction:
    if config.fullgraph:
        whole.add(fn)
    return CompiledFunction(fn, config)


def disable(fn: Callable) -> Callable:
    """`fn`, in whose calls nothing is captured, also when compiled code calls it."""
    if isinstance(fn, CompiledFunction):
        fn = fn.__wrapped__
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return types.MethodType(disable(fn.__func__), fn.__self__)
    if isinstance(fn, types.FunctionType):
        return CompiledFunction(fn, None)

    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    functools.update_wrapper(call, fn, updated=())
    return CompiledFunction(call, None)


def skip_code(code: types.CodeType, recursive: bool = False) -> None:
    """Never capture frames of `code`; with `recursive` nor those that it calls."""
    _eval_frame.skip(code, recursive)


def reset() -> None:
    """Forget every compilation, what was learned about sizes, and the counters."""
    from dynamo import convert_frame, utils

    _eval_frame.reset()
    convert_frame.counters.clear()
    utils.counters.clear()


def reset_code_caches() -> None:
    """Forget every compilation and what was learned about sizes; counters stay."""
    _eval_frame.reset()


def is_dynamo_supported() -> bool:
    """Whether frames can be captured in this process."""
    return unavailable is None
