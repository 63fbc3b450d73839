"""weft: torch.compile without torch. `import weft as torch` runs PyTorch model code.

Tensors, dtypes and ops are those of `aten` and are looked up there on first use, as are the parts of this package.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from weft import aliases as _aliases

__version__ = "0.1.0"

_aliases.install(
    {"weft._dynamo": "dynamo", "weft._inductor": "inductor", "weft.fx": "aten.fx", "weft.autograd": "aten.autograd",
     "weft.nn.modules.module": "weft.nn.module", "weft.nn.modules.container": "weft.nn.containers"}
)

_PARTS = frozenset({"nn", "optim", "func", "testing", "cuda", "compiler", "linalg", "special", "fft", "signal",
                    "_dynamo", "_inductor", "fx", "autograd", "utils"})
_HOME = {
    "compile": "weft.compilation",
    "explain": "weft.explanation",
    "vmap": "weft.func",
    "save": "weft.serialization",
    "load": "weft.serialization",
}


def __getattr__(name: str) -> _Any:
    if name in _PARTS:
        value = _import_module(f"weft.{name}")
    elif name in _HOME:
        value = getattr(_import_module(_HOME[name]), name)
    elif name.startswith("__") and name != "__array_namespace_info__":
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    else:
        import aten

        try:
            value = getattr(aten, "DType" if name == "dtype" else name)
        except AttributeError:
            raise AttributeError(f"module 'weft' has no attribute '{name}'") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    import aten

    return sorted(set(globals()) | set(dir(aten)) | _PARTS | set(_HOME))
