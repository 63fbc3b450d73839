"""TorchScript's names. weft has no script: its compiler reads Python itself, so what marks code for scripting leaves it as it is.

`script`, `trace` and the like return what they are given; programs that guard parts with `is_scripting()` take the
Python side. Saved TorchScript files cannot be read.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from weft.jit import annotations
from weft.jit.containers import isinstance
from weft.jit.future import Future, fork, wait
from weft.nn.module import Module

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "ScriptFunction", "ScriptModule", "ScriptWarning",
    "TracerWarning", "annotate", "annotations", "enable_onednn_fusion", "export", "export_opnames", "fork", "freeze",
    "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load", "onednn_fusion_enabled",
    "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing", "script_method",
    "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


class Error(RuntimeError):
    """What scripting raises; weft itself never does."""


class TracerWarning(Warning):
    """A warning of tracing, for filters that name it."""


class ScriptWarning(Warning):
    """A warning of scripting, for filters that name it."""


class Attribute(NamedTuple):
    """A value with its type for scripts."""

    value: Any
    type: Any


class ScriptModule(Module):
    """A Module: its methods run as Python."""


RecursiveScriptModule = TopLevelTracedModule = ScriptModule
"""What scripting and tracing a module give elsewhere: `isinstance` is False of what `script` gives back here."""


class CompilationUnit:
    """Functions in the language of scripts. Raises RuntimeError: write them in Python."""

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        if lang is not None:
            raise RuntimeError("weft does not compile the language of scripts: write the functions in Python, for weft.compile")


class TensorType:
    """TorchScript's type of tensors, which programs say in annotations: no object is one."""


class ScriptFunction:
    """What `isinstance(f, torch.jit.ScriptFunction)` asks for: no function of weft is one."""

    def __init__(self) -> None:
        raise RuntimeError("weft has no TorchScript functions: use the Python function, or weft.compile(function)")


def is_scripting() -> bool:
    """False: nothing is ever scripted."""
    return False


def is_tracing() -> bool:
    """False: tracing for TorchScript does not exist."""
    return False


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """`obj` as it is; weft.compile makes it fast. Raises TypeError for what is neither a function, a class nor a Module."""
    if not callable(obj) and type(obj) not in (list, dict):
        raise TypeError(f"{type(obj)} is neither a function, a class nor a Module")
    return obj


def trace(func: Any = None, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`func` as it is, which also follows control flow that a trace would have fixed."""
    return func


def trace_module(mod: Any, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """`mod` as it is. Raises AttributeError if it lacks a method named in `inputs`."""
    for name in inputs:
        getattr(mod, name)
    return mod


def _unchanged(fn: Callable) -> Callable:
    """The decorated function as it is."""
    return fn


script_method = export = interface = _overload = _overload_method = script_if_tracing = _script_if_tracing = _unchanged


def unused(fn: Any) -> Any:
    """`fn`, marked as what scripts leave out: it is called as ever."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """`fn` left to Python by scripts: called as ever. Used with and without arguments."""
    return drop if callable(drop) else _unchanged


def annotate(the_type: Any, the_value: Any) -> Any:
    """the_value."""
    return the_value


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """`mod`, which must be in evaluation mode (RuntimeError else)."""
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Call .eval() on the module first.")
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """`mod`; weft.compile is what makes it fast."""
    return mod


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block; without scripts there is nothing that it turns on or off."""
    yield


class strict_fusion:
    """A block; weft.compile(fullgraph=True) is what checks that code was captured whole."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


def onednn_fusion_enabled() -> bool:
    """False: fusion is weft.compile's."""
    return False


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """How scripts would be fused: nothing is. Returns what was set before: nothing, once for static and dynamic sizes."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Fusion is weft.compile's, whatever is set here."""


def export_opnames(m: Any) -> list[str]:
    """The ops of a script: none."""
    return []


def _no_files(verb: str, instead: str) -> RuntimeError:
    return RuntimeError(f"weft cannot {verb} TorchScript files; {instead}")


def load(f: Any, map_location: Any = None, **kwargs: Any) -> Any:
    """Raises RuntimeError: a script's code is in a language of its own. ValueError where there is no such file."""
    if (type(f) is str or hasattr(f, "__fspath__")) and not os.path.exists(f):
        raise ValueError(f"The provided filename {f} does not exist")
    raise _no_files("read", "load the module's state_dict with weft.load into the Python module instead")


def save(m: Any, f: Any, **kwargs: Any) -> Any:
    """Raises RuntimeError: there are no scripts to save."""
    raise _no_files("write", "save the module's state_dict() with weft.save instead")
