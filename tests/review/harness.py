"""What one program does, plain and compiled: its result or exception, what it prints, and the globals it leaves behind.

A program is `f(C)`: it makes functions, passes them through C, which is the identity or `weft.compile`, calls them,
changes what they read between the calls, and returns what is to be the same both ways.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import re
import sys
import types
import warnings

import numpy as np

import weft
from dynamo import convert_frame

ADDRESS = re.compile(r"0x[0-9a-f]+|\bat [0-9A-F]{9,}")


def prog(f):
    """Marks a program, for `collect`."""
    f.is_program = True
    return f


idiom = prog


def x0():
    return weft.arange(4.0)


def times(C, f, *argss):
    """What f answers to each call, or the error: its class and text."""
    c = C(f)
    return [told(c, *a) for a in argss]


def told(f, *args, **named):
    """What f answers, or the error: its class and text."""
    try:
        return f(*args, **named)
    except Exception as e:
        return type(e).__name__, str(e)


def told_whole(f, *args, **named):
    """What f answers, or the error with what led to it and what was added."""
    try:
        return f(*args, **named)
    except BaseException as e:
        led = type(e.__context__).__name__, type(e.__cause__).__name__
        return type(e).__name__, str(e), *led, e.__suppress_context__, getattr(e, "__notes__", None)


def brk():
    weft._dynamo.graph_break()


def norm(v, depth: int = 0):
    """A value as plain data: kind, type and content. Objects go by their text, without addresses."""
    if depth > 20:
        return "..."
    down = lambda items: [norm(i, depth + 1) for i in items]
    if isinstance(v, weft.Tensor):
        return ["tensor", str(v.dtype), list(v.shape), bool(v.requires_grad), v.detach().tolist()]
    if isinstance(v, np.ndarray):
        return ["ndarray", str(v.dtype), list(v.shape), norm(v.tolist(), depth + 1)]
    if isinstance(v, np.generic):
        return ["scalar", str(v.dtype), norm(v.item(), depth + 1)]
    if isinstance(v, dict):
        return [type(v).__name__, [down(pair) for pair in v.items()]]
    if isinstance(v, (list, tuple)):
        return [type(v).__name__, down(v)]
    if isinstance(v, (set, frozenset)):
        return [type(v).__name__, sorted(ADDRESS.sub("", repr(i)) for i in v)]
    if type(v) is str:
        return ADDRESS.sub("", v)
    if v is None or type(v) in (int, float, bool):
        return v
    return [type(v).__name__, ADDRESS.sub("", repr(v))]


def alike(a, b, tolerance: float = 0.0) -> bool:
    """Equality of what `norm` gives; floats apart by `tolerance`, nan equal to itself, 0.0 apart from -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(alike(x, y, tolerance) for x, y in zip(a, b))
    if isinstance(a, float):
        if a == b:
            return math.copysign(1, a) == math.copysign(1, b)
        return (a != a and b != b) or abs(a - b) <= tolerance * max(1.0, abs(a))
    return a == b


def failure(e: BaseException) -> list:
    """An exception: class, text, and the classes of what led to it."""
    chain = [type(c).__name__ if c is not None else None for c in (e.__cause__, e.__context__)]
    return ["RAISED", type(e).__name__, ADDRESS.sub("", str(e))[:300], chain]


def state_of(module) -> list:
    """The data among the globals of a module."""
    code = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
    data = {k: v for k, v in vars(module).items() if not k.startswith("__") and not isinstance(v, code)}
    return [[k, norm(v)] for k, v in sorted(data.items())]


@contextlib.contextmanager
def quiet():
    """Output and warnings are kept; yields both."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as told, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        warnings.simplefilter("always")
        yield out, told


def observe(f, *args, module=None) -> tuple[list, list[str]]:
    """Everything that can be seen of f(*args), and the compiler's warnings."""
    weft.manual_seed(0)
    np.random.seed(0)
    with quiet() as (out, told):
        try:
            result = norm(f(*args))
        except Exception as e:
            result = failure(e)
    seen = [result, out.getvalue(), state_of(module) if module else []]
    return seen, [str(w.message).split("\n")[0] for w in told if "Compiler" in w.category.__name__]


def compiler(backend: str):
    """What `C` is in the compiled run."""

    def compile(fn=None, **options):
        if fn is None:
            return lambda g: compile(g, **options)
        options.setdefault("backend", backend)
        return weft.compile(fn, **options)

    return compile


def identity(fn=None, **options):
    return fn if fn is not None else (lambda g: g)


@dataclasses.dataclass
class Verdict:
    same: bool
    plain: list
    compiled: list
    warnings: list[str]
    counters: dict


def judge(plain: list, told: tuple[list, list[str]], backend: str) -> Verdict:
    compiled, words = told
    equal = alike(plain, compiled, 0.0 if backend == "eager" else 1e-6)
    return Verdict(equal, plain, compiled, words, dict(convert_frame.counters))


def check_program(f, backend: str) -> Verdict:
    """The program f, plain and then compiled."""
    module = sys.modules[f.__module__]
    plain, _ = observe(f, identity, module=module)
    weft.compiler.reset()
    convert_frame.counters.clear()
    return judge(plain, observe(f, compiler(backend), module=module), backend)


def check_calls(f, arguments: list, backend: str, start=lambda: None, module=None) -> Verdict:
    """Calls of f with fresh arguments each time, plain and then compiled; what becomes of the arguments counts."""

    def calls(function):
        start()
        seen = []
        for make in arguments:
            given = make()
            try:
                result = norm(function(*given))
            except Exception as e:
                result = failure(e)
            seen.append([result, norm(given)])
        return seen

    plain, _ = observe(calls, f, module=module)
    weft.compiler.reset()
    convert_frame.counters.clear()
    return judge(plain, observe(calls, weft.compile(f, backend=backend), module=module), backend)


def check_handled(operation, make, backend: str) -> Verdict:
    """An operation inside of a handler that decides by the exception, between tensor operations."""

    def f(x, *args):
        y = x + 1
        try:
            r = operation(*args)
        except Exception as e:
            r = f"caught {type(e).__name__}: {e}"
        return y * 2, r

    return check_calls(f, [lambda: (weft.ones(1), *make())] * 2, backend)


def collect(module) -> dict:
    """The programs of a module, in their order."""
    return {name: f for name, f in vars(module).items() if getattr(f, "is_program", False)}
