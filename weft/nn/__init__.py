"""Neural networks: modules, functions on them, initial values. Layers are looked up in `weft.nn.modules` on first use."""

from importlib import import_module as _import_module
from typing import Any as _Any

from aten import Parameter
from weft.nn import functional, init, modules, utils
from weft.nn.uninitialized import UninitializedBuffer, UninitializedParameter

_PARTS = ("attention", "common_types", "grad", "parallel", "parameter")
_ELSEWHERE = {
    "Buffer": "weft.nn.parameter",
    "DataParallel": "weft.nn.parallel",
    "LinearCrossEntropyOptions": "weft.nn.linear_cross_entropy",
}
__all__ = [
    "Buffer", "DataParallel", "LinearCrossEntropyOptions", "Parameter", "UninitializedBuffer", "UninitializedParameter",
    "functional", "init", "modules", "utils",
] + modules.__all__  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _PARTS:
        return _import_module(f"{__name__}.{name}")
    if name in _ELSEWHERE:
        value = getattr(_import_module(_ELSEWHERE[name]), name)
    elif name in modules.__all__:
        value = getattr(modules, name)
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PARTS})
