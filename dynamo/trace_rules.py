"""What happens at a call: a rule of our own, inlining, or leaving it to Python (a graph break).

Also: which objects are part of libraries, so that nothing is guarded about them.
"""

from __future__ import annotations

import gc
import os
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from aten.scalar.unpatched import functools
from dynamo import _eval_frame, breaks, config
from dynamo.breaks import Unsupported
from dynamo.bytecode.implicit import gives_its_frame, looks_at_variables, shares_its_locals
from dynamo.bytecode.instruction import decode
from dynamo.real_objects import class_module, members_of, mro_of, walk

OWN = frozenset({"weft", "aten", "dynamo", "inductor"})
# Parts of the standard library that are plain Python over values; the rest is left to Python.
TRACED_STDLIB = frozenset(
    {"functools", "contextlib", "collections", "_collections_abc", "dataclasses", "enum", "abc", "typing", "operator",
     "types", "heapq", "bisect", "string", "numbers", "statistics", "fractions", "__future__", "reprlib", "keyword", "os",
     "posixpath", "genericpath", "inspect", "textwrap", "weakref", "_weakrefset"}
)  # fmt: skip
MACHINERY = frozenset({"dynamo", "inductor"})
FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Parts of aten that are plain Python over ops and modes; the rest is machinery that must run for real.
TRACED_ATEN = ("aten.ops", "aten.autocast", "aten.legacy", "aten.return_types", "aten.autograd.grad_mode", "aten.autograd.profiler",
               "aten.autograd.variable",
               "aten.tensor", "aten.info", "aten.fx.tracing", "aten.fx.traceback", "aten.default_device", "aten.device_modes")
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")  # frames of their own before Python 3.12
CONSTANT = "_dynamo_marked_constant"  # PyTorch's attribute, which libraries set too: the result is a constant of the graph
READS = "_weft_reads"  # set by aten.compiling.reads_numbers_of: the place of a tensor whose numbers are read into Python
PASSES_ON = "_weft_passes_on"  # set by aten.compiling.passes_on: the code of a function that only calls the user's
DISABLED = "_weft_disabled"  # set by weft.compiler.disable on functions left to Python

_marked: dict[int, tuple[Callable[[], Any], Callable]] = {}  # the same for objects of the user's, which die
_handlers: dict[int, tuple[Any, Callable]] = {}  # id → (object, rule): looking one up runs no `__hash__` of the user


def handle(*objects: Any):
    """Declare the rule for calls of functions or classes: rule(frame, args, kwargs) on Variables. A class method gets its
    class first."""

    def declare(rule):
        for o in objects:
            o = o.__func__ if isinstance(o, types.MethodType) else o
            _handlers[id(o)] = o, rule
        return rule

    return declare


def handler(obj: Any) -> Callable | None:
    """The rule declared for calls of `obj`, or None."""
    found = _handlers.get(id(obj))
    if found is not None:
        return found[1]
    marked = _marked.get(id(obj))
    return marked[1] if marked is not None and marked[0]() is obj else None


def mark(obj: Any, rule: Callable | None) -> None:
    """Declare the rule for calls of an object of the user's, as long as it lives; None: no rule any more."""
    key = id(obj)
    if rule is None:
        _marked.pop(key, None)
        return
    try:
        reference: Callable[[], Any] = weakref.ref(obj, lambda _, forget=_marked.pop: forget(key, None))
    except TypeError:  # it lives on
        reference = functools.partial(_itself, obj)
    _marked[key] = reference, rule


def _itself(obj: Any) -> Any:
    return obj


def module_of(obj: Any) -> str:
    """The module where a function, class or module is from; "" if it is not known."""
    if issubclass(type(obj), types.ModuleType):
        return obj.__name__
    name = class_module(obj) if issubclass(type(obj), type) else getattr(obj, "__module__", None)
    return name if type(name) is str else ""  # (a program may set anything)


def is_ours(backend: Any) -> bool:
    """Whether a backend or compiler (a partial, or an object that is called, too) is part of weft: what it raises is our error."""
    made_of = getattr(backend, "func", backend)
    module = module_of(made_of if isinstance(made_of, types.FunctionType) else type(made_of))
    return module.partition(".")[0] in OWN


def left_to_python(top: str, code: types.CodeType | None = None) -> bool:
    """Whether a package (by the first part of its modules' names) is left to Python: the machinery, and libraries.

    code: of a function there; a program may have packages of the machinery's names of its own.
    """
    if top in MACHINERY:
        return code is None or code.co_filename.startswith(FOLDER)
    return top in config.libraries


def is_library(obj: Any) -> bool:
    """Whether a function, class or module belongs to weft, the standard library or NumPy: taken as constant."""
    return is_library_name(module_of(obj))


def is_library_name(module: str) -> bool:
    """The same, for the name of a module."""
    top = module.partition(".")[0]
    return top in OWN or top in config.libraries or (top in sys.stdlib_module_names and top != "__main__")


def name_of(obj: Any) -> str:
    """module.name of a callable, for messages."""
    name = getattr(obj, "__qualname__", None) or repr(obj)
    module = module_of(obj)
    return f"{module}.{name}" if module and module != "builtins" else name


PLAIN = ("disable_saved_tensors_hooks",)  # of the machinery, but plain Python over values
MADE_OF_OTHERS = ("linearize",)  # function transforms that are traced as they are written


def check_inline(function: types.FunctionType) -> None:
    """Raise Unsupported if calls of `function` are left to Python."""
    if DISABLED in function.__dict__:
        reason = function.__dict__[DISABLED]
        why = f": {reason}" if isinstance(reason, str) else ""
        raise Unsupported(breaks.SKIPPED_CALL, f"{name_of(function)} is disabled by weft.compiler.disable{why}")
    module = function.__globals__.get("__name__") or ""
    top = module.partition(".")[0]
    if top == "dynamo" and module.startswith("dynamo.polyfills"):
        return
    if module == "aten.autograd.function":
        if function.__qualname__.startswith("FunctionCtx.") or differentiates_once(function):
            return
        raise Unsupported(breaks.USER_FUNCTION, name_of(function))
    if module.startswith("aten.transforms"):
        if function.__qualname__.partition(".")[0] in MADE_OF_OTHERS:
            return
        raise Unsupported(breaks.FUNCTION_TRANSFORM, name_of(function))
    machinery = top == "aten" and not module.startswith(TRACED_ATEN) and function.__qualname__ not in PLAIN
    stdlib = top in sys.stdlib_module_names and top not in TRACED_STDLIB and top != "__main__"
    if left_to_python(top, function.__code__) or machinery or stdlib:
        raise Unsupported(breaks.SKIPPED_CALL, name_of(function))


def place_read(function: types.FunctionType) -> int | None:
    """The place of the argument, a tensor, whose numbers a function reads into Python, if it says so."""
    return function.__dict__.get(READS)


def left_whole(function: types.FunctionType) -> Unsupported:
    """The break at a call of a function that reads numbers which are not known: nothing in the call is captured then."""
    _eval_frame.skip(function.__code__, True)
    return Unsupported(breaks.TENSOR_TO_PYTHON, f"in {name_of(function)}()")


def differentiates_once(function: types.FunctionType) -> bool:
    """Whether it is what `autograd.function.once_differentiable` made."""
    return function.__code__.co_qualname.startswith("once_differentiable.")


def check_construct(cls: type) -> None:
    """Raise Unsupported if objects of `cls` are not made while tracing."""
    if module_of(cls).startswith("dynamo.polyfills"):
        return
    top = module_of(cls).partition(".")[0]
    if left_to_python(top) or (top in sys.stdlib_module_names and top not in TRACED_STDLIB and top != "__main__"):
        raise Unsupported(breaks.SKIPPED_CALL, name_of(cls))


def passed_on(function: types.FunctionType, code: types.CodeType) -> str | None:
    """Why a frame of this function is never captured though calls of it are part of others', or None. (A copy of the function, with
    code of its own, is what was asked to be compiled.)"""
    return "what it calls is captured" if function.__dict__.get(PASSES_ON) is code else None


def skip_code(code: types.CodeType, globals: dict) -> str | None:
    """Why a frame of this code is never captured, or None."""
    if code.co_flags & (0x20 | 0x80 | 0x100 | 0x200) or code.co_name in COMPREHENSIONS:
        return "it is a generator, coroutine or comprehension"
    if not code.co_flags & 0x02:  # NEWLOCALS
        return "it is the code of a module or class"
    module = str(globals.get("__name__") or "")
    top = module.partition(".")[0]
    if top == "aten" or code.co_filename.startswith("<weft graph"):
        return "it is part of weft"
    if module == "dynamo.polyfills.outermost":
        return None
    if left_to_python(top, code) or (top in sys.stdlib_module_names and top != "__main__"):
        return f"module {module} is left to Python"
    if gives_its_frame(code):
        return "it asks for its own frame"
    if shares_its_locals(code):
        return "its calls of locals() share a dict"
    if is_called_by_collector(code):
        return "the garbage collector calls it"
    return None


def is_called_by_collector(code: types.CodeType) -> bool:
    """Whether it is a callback of the garbage collector, which comes in the middle of whatever runs and is no part of it."""
    for callback in gc.callbacks:
        if type(callback) not in (types.FunctionType, types.MethodType):
            callback = walk(mro_of(type(callback)), "__call__")
        function = callback.__func__ if type(callback) is types.MethodType else callback
        if type(function) is types.FunctionType and function.__code__ is code:
            return True
    return False


def names_what_ends(code: types.CodeType, globals: dict, closure: tuple) -> bool:
    """Whether a loop of the code may make something whose end runs code: by a generator function, or by a class with a `__del__`,
    that is defined in it or that it names. What a local holds ends where the local is bound again, which a loop that is left by a
    break has to know before it comes to the call."""
    if not any(0 <= i.target <= i.index for i in decode(code).instructions):
        return False
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    if any(c.co_flags & 0x20 and c.co_name != "<genexpr>" or "__del__" in c.co_names for c in inner):
        return True
    return any(map(_makes_what_ends, _named(code, globals, closure)))


def names_what_looks(code: types.CodeType, globals: dict, closure: tuple) -> bool:
    """Whether the code names a function, or a class with a method, that looks at the variables of frames. A frame that is taken
    apart at a break has to know before it comes to the call."""
    return any(map(_looks_at_variables, _named(code, globals, closure)))


def _named(code: types.CodeType, globals: dict, closure: tuple) -> list:
    """What the names in the code stand for now: globals, members of modules, variables of functions around it."""
    named = [globals.get(name) for name in code.co_names]
    for cell in closure or ():
        try:
            named.append(cell.cell_contents)
        except ValueError:
            continue  # an empty cell
    for module in [v for v in named if type(v) is types.ModuleType]:
        named += [module.__dict__.get(name) for name in code.co_names]
    return named


def _looks_at_variables(obj: Any) -> bool:
    if issubclass(type(obj), type):
        return any(map(_looks_at_variables, [v for v in members_of(obj).values() if type(v) is types.FunctionType]))
    return type(obj) is types.FunctionType and looks_at_variables(obj.__code__)


def _makes_what_ends(obj: Any) -> bool:
    if type(obj) is types.FunctionType:
        return bool(obj.__code__.co_flags & 0x20)
    return issubclass(type(obj), type) and any("__del__" in members_of(c) for c in mro_of(obj))
