"""Settings: one declaration each, read as `settings.name`, set by assignment, by `patch`, or by an environment
variable.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """What is known of a setting besides its value."""

    name: str
    default: Any
    env: str
    doc: str
    in_cache_key: bool


declared: dict[str, Setting] = {}


def _read(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return text.strip().lower() not in ("", "0", "false", "no", "off")
    if isinstance(default, int):
        return int(text)
    return float(text) if isinstance(default, float) else text


def declare(name: str, default: Any, env: str, doc: str, in_cache_key: bool = False) -> None:
    """Add a setting; its value is `default`, or what the environment variable `env` says."""
    declared[name] = Setting(name, default, env, doc, in_cache_key)
    text = os.environ.get(env)
    globals()[name] = default if text is None else _read(text, default)


def cache_key() -> tuple[tuple[str, Any], ...]:
    """Names and values of the settings that change what is compiled."""
    return tuple((s.name, globals()[s.name]) for s in declared.values() if s.in_cache_key)


@contextlib.contextmanager
def patch(**values: Any) -> Iterator[None]:
    """Give settings other values inside a `with` block. Raises AttributeError for an unknown name."""
    for name in values:
        if name not in declared:
            raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(declared))}")
    before = {name: globals()[name] for name in values}
    globals().update(values)
    try:
        yield
    finally:
        globals().update(before)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"there is no setting {name!r}; known: {', '.join(sorted(declared))}")


declare("strict", False, "WEFT_STRICT", "raise internal errors of the compiler instead of running eager")
declare("logs", "", "WEFT_LOGS", "comma-separated log channels to print, for example graph,guards,kernels")
declare("cache_dir", "", "WEFT_CACHE_DIR", "folder of the compilation cache; empty: weft/ in the user's cache folder")
declare("cache", True, "WEFT_CACHE", "keep compiled programs on disk")
declare("cxx", "", "WEFT_CXX", "C++ compiler; empty: g++ or clang++ on PATH")
declare("exact", False, "WEFT_EXACT", "compiled results equal eager ones bit for bit", in_cache_key=True)
declare("cache_size", 1024, "WEFT_CACHE_SIZE", "MiB that the cache may take; the least recently used goes first")
