"""Helpers around training: each part is loaded when it is first named."""

from importlib import import_module as _import_module
from typing import Any as _Any

_PARTS = frozenset({
    "_foreach_utils", "_pytree", "benchmark", "checkpoint", "collect_env", "cpp_extension", "data", "deterministic", "dlpack",
    "_contextlib", "_device", "_mode_utils", "_ordered_set", "_python_dispatch", "_triton", "_typing_utils",
    "file_baton", "flop_counter", "hooks", "model_zoo", "module_tracker", "tensorboard", "weak",
})  # fmt: skip
_HOME = {"swap_tensors": "swap"}


def set_module(obj: _Any, mod: _Any) -> None:
    """Lets `obj` say that it is of the module named `mod`."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> _Any:
    if name in _PARTS:
        return _import_module(f"weft.utils.{name}")
    if name in _HOME:
        value = globals()[name] = getattr(_import_module(f"weft.utils.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module 'weft.utils' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*_PARTS, *_HOME, *globals()})
