"""Settings: one declaration each, read as `settings.name`, set by assignment, by `patch`, or by an environment
variable. Those that are options of the compiler can be given to one compilation too: `weft.compile(f, options={…})`
reads them through `options`, which holds in its own thread only.
"""

from __future__ import annotations

import contextlib
import os
import sys
import types
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from aten.records import record


@record(frozen=True)
class Setting:
    """What is known of a setting besides its value."""

    name: str
    default: Any
    env: str
    doc: str
    in_cache_key: bool
    option: bool


declared: dict[str, Setting] = {}
_values: dict[str, Any] = {}
_given: ContextVar[Mapping[str, Any]] = ContextVar("options of the compilation under way", default={})  # noqa: B039


def _read(text: str, default: Any, env: str) -> Any:
    if isinstance(default, bool):
        return text.strip().lower() not in ("", "0", "false", "no", "off")
    try:
        return type(default)(text)
    except ValueError:
        raise ValueError(f"{env}={text} is not {_a(type(default))}") from None


def _a(kind: type) -> str:
    return f"an {kind.__name__}" if kind.__name__[0] in "aeiou" else f"a {kind.__name__}"


def declare(name: str, default: Any, env: str, doc: str, in_cache_key: bool = False, option: bool = False) -> None:
    """Add a setting; its value is `default`, or what the environment variable `env` says. An `option` can be given to
    weft.compile."""
    declared[name] = Setting(name, default, env, doc, in_cache_key, option)
    text = os.environ.get(env)
    _values[name] = default if text is None else _read(text, default, env)


def _option(name: str, default: Any, doc: str) -> None:
    """Declare an option of the compiler."""
    declare(name, default, f"WEFT_{name.upper()}", doc, in_cache_key=True, option=True)


def cache_key() -> tuple[tuple[str, Any], ...]:
    """Names and values of the settings that change what is compiled."""
    return tuple((s.name, __getattr__(s.name)) for s in declared.values() if s.in_cache_key)


@contextlib.contextmanager
def patch(**values: Any) -> Iterator[None]:
    """Give settings other values inside a `with` block. Raises AttributeError for an unknown name."""
    for name in values:
        _known(name)
    before = {name: _values[name] for name in values}
    _values.update(values)
    try:
        yield
    finally:
        _values.update(before)


def checked_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options by their declared names ("-" counts as "_"). Raises RuntimeError for one that is not declared, or
    whose value has another type."""
    out = {}
    for given, value in values.items():
        name = given.replace("-", "_") if isinstance(given, str) else given
        setting = declared.get(name)
        if setting is None or not setting.option:
            known = sorted(s.name for s in declared.values() if s.option)
            raise RuntimeError(f"Unexpected optimization option {given}, known options are {known}")
        kind = type(setting.default)
        if type(value) is not kind:
            raise RuntimeError(f"Unexpected type of option {given}, got {type(value)} should be {kind}")
        out[name] = value
    return out


@contextlib.contextmanager
def options(values: Mapping[str, Any]) -> Iterator[None]:
    """Let this thread see the options `values` (see `checked_options`) inside a `with` block."""
    token = _given.set({**_given.get(), **values})
    try:
        yield
    finally:
        _given.reset(token)


def _known(name: str) -> None:
    if name not in declared:
        raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(declared))}")


def __getattr__(name: str) -> Any:
    given = _given.get()
    if name in given:
        return given[name]
    if name not in _values:
        _known(name)
    return _values[name]


class _Settings(types.ModuleType):
    """A module whose settings are assigned by name; an unknown name is an error."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            _known(name)
            _values[name] = value


declare("strict", False, "WEFT_STRICT", "raise internal errors of the compiler instead of running eager")
declare("logs", "", "WEFT_LOGS", "comma-separated log channels to print, for example graph,guards,kernels")
declare("cache_dir", "", "WEFT_CACHE_DIR", "folder of the compilation cache; empty: weft/ in the user's cache folder")
declare("cache", True, "WEFT_CACHE", "keep compiled programs on disk")
declare("check_metas", False, "WEFT_CHECK_METAS", "compare what compiled graphs return with what is known of it")
declare("replay_after", 6, "WEFT_REPLAY_AFTER", "calls of a kind before what they come to is replayed natively; 0: never")
declare(
    "compile_threads",
    min(32, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1),
    "WEFT_COMPILE_THREADS",
    "C++ compilers that run side by side for one graph; as many as there are cores, at most 32",
    option=True,
)
declare("cxx", "", "WEFT_CXX", "C++ compiler; empty: g++ or clang++ on PATH")
declare("cache_size", 1024, "WEFT_CACHE_SIZE", "MiB that the cache may take; the least recently used goes first")

# ---------------------------------------------------------------------------- options: weft.compile(f, options={name: …})
_option("exact", False, "compiled results equal eager ones bit for bit")
_option("fusion", True, "let ops share a kernel; without, each has its own, which shows what is slow or wrong")
_option("epilogue_fusion", True, "let the kernel of a matrix product compute what follows it")
_option("max_fusion_size", 1024, "scalar operations that the ops of one kernel have together at most")
_option("realize_opcount_threshold", 160, "scalar operations beyond which a value is stored and read again")
_option("realize_reads_threshold", 12, "loads beyond which a value is stored and read again")
_option("combo_kernels", False, "run large independent loops in one kernel as well as small ones: fewer launches")
_option("cudagraphs", False, "play the launches of a call on a device as graphs of its driver: less time on the host")
_option("max_autotune", False, "compile several schedules of a graph, run them on the inputs at hand, keep the fastest")

sys.modules[__name__].__class__ = _Settings
