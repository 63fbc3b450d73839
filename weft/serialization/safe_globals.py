"""Which functions and classes a PyTorch file may name: PyTorch's own of tensors, and what the user allows."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

import aten
from aten import Tensor
from weft.serialization import objects
from weft.serialization.inert_pickle import Global, Refused

_allowed: dict[str, tuple[Any, Any]] = {}  # full name: (object, as it was given)


def _name_of(entry: Any) -> tuple[str, Any]:
    if isinstance(entry, tuple):
        if len(entry) != 2 or not isinstance(entry[1], str):
            raise ValueError(f"add_safe_globals: expected a class or function, or one with its full name, got {entry!r}")
        return entry[1], entry[0]
    return f"{entry.__module__}.{entry.__qualname__}", entry


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Lets `load` make objects of these classes, and call these functions: only what is safe with any arguments."""
    for entry in safe_globals:
        name, what = _name_of(entry)
        _allowed[name] = what, entry


def get_safe_globals() -> list[Any]:
    return [entry for _, entry in _allowed.values()]


def clear_safe_globals() -> None:
    _allowed.clear()


class safe_globals(contextlib.ContextDecorator):
    """add_safe_globals for the length of a `with`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.entries = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_allowed)
        add_safe_globals(self.entries)

    def __exit__(self, *exc: Any) -> None:
        _allowed.clear()
        _allowed.update(self.before)


def users(name: str) -> Any:
    """What the user allowed under this name, PyTorch's or weft's; None if nothing."""
    if name in _allowed:
        return _allowed[name][0]
    if name.startswith("torch."):
        module, _, last = name.rpartition(".")
        try:
            found = objects.imported(module, last)
        except Refused:
            return None
        return next((what for what, _ in _allowed.values() if what is found), None)
    return None


def find(module: str, name: str) -> Any:
    """The class or function `module.name` of a file of weft's, if the user allowed it; raises Refused, with the remedy, else."""
    what = users(f"{module}.{name}")
    if what is None:
        what = next((c for c in objects.CALLED if (c.__module__, c.__qualname__) == (module, name)), None)
    if what is None:
        raise Refused(not_allowed(f"{module}.{name}"))
    return what


def not_allowed(full: str) -> str:
    """The message for a class or function that is not among those allowed."""
    name = full.rpartition(".")[2]
    return (
        f"Weights only load failed. Unsupported global: GLOBAL {full} was not an allowed global by default. If you trust this "
        f"class or function, use `weft.serialization.add_safe_globals([{name}])`; if you trust the file, weights_only=False"
    )


def make(maker: Any, args: tuple) -> Any:
    """An object of what a file names: what the user allowed is called where it has to be, all else is made by objects.make."""
    allowed = any(what is maker for what, _ in _allowed.values())
    if allowed and (not isinstance(maker, type) or args and maker.__new__ is object.__new__):
        return maker(*args)
    return objects.make(maker, args)


# --------------------------------------------------------------------------------------------------- tables
STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
    "BoolStorage": "bool", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
    "UntypedStorage": "uint8",
}  # fmt: skip


class Storage:
    """A class of storages that a file names."""

    def __init__(self, name: str) -> None:
        self.name, self.dtype = name, getattr(aten, STORAGES[name])


def _parameter(data: Tensor, requires_grad: bool = True, hooks: Any = None) -> Tensor:
    return aten.Parameter(data, bool(requires_grad))


def _parameter_with_state(data: Tensor, requires_grad: bool, hooks: Any, state: Any) -> Tensor:
    made = aten.Parameter(data, bool(requires_grad))
    for name, value in (state or {}).items() if isinstance(state, dict) else ():
        if isinstance(name, str) and not hasattr(made, name):
            setattr(made, name, value)
    return made


def _from_type(func: Any, kind: Any, args: Any, state: Any) -> Any:
    """A tensor of a class with attributes: its class is among those allowed, attributes are set if they can be."""
    if not isinstance(func, Global) or func.call is None:
        raise Refused(f"Weights only load failed: the file calls {func!r}, which is not allowed")
    made = func.call(*args)
    for name, value in state.items() if isinstance(state, dict) else ():
        setattr(made, name, value)
    return made


def _encode(text: str, encoding: str = "latin1") -> bytes:
    return text.encode("latin1" if encoding == "latin1" else "utf-8")


def _numpy_dtype(text: Any, align: Any = False, copy: Any = True) -> np.dtype:
    kind = np.dtype(str(text))
    if kind.hasobject or kind.names:
        raise Refused(f"Weights only load failed: NumPy's dtype {kind} is not allowed")
    return kind


def _set_dtype_state(made: np.dtype, state: Any) -> np.dtype:
    return made.newbyteorder(">") if state[1] == ">" else made


def _numpy_scalar(kind: np.dtype, data: Any) -> Any:
    data = _encode(data) if isinstance(data, str) else data
    return np.frombuffer(data, kind, 1)[0]


class _Array:
    """A NumPy array before its state is known."""


def _set_array_state(made: Any, state: Any) -> np.ndarray:
    _version, shape, kind, fortran, data = state
    data = _encode(data) if isinstance(data, str) else data
    array = np.frombuffer(data, kind).reshape(shape, order="F" if fortran else "C")
    return array.copy("K")


def _layout(name: Any) -> Any:
    found = getattr(aten, str(name).removeprefix("torch."), None)
    if not isinstance(found, aten.Layout):
        raise ValueError(f"a layout {name!r}")
    return found


def _default_dict(factory: Any = None, *args: Any) -> collections.defaultdict:
    kinds = {"builtins.dict": dict, "builtins.list": list, "builtins.int": int, "builtins.float": float, "builtins.set": set}
    name = factory.name if isinstance(factory, Global) else None
    return collections.defaultdict(kinds.get(name) if name is not None else None, *args)


def _table() -> dict[str, Any]:
    table: dict[str, Any] = {}

    def give(names: str, call: Callable | None, build: Callable | None = None) -> None:
        for name in names.split():
            table[name] = Global(name, call, build)

    give("collections.OrderedDict", lambda *args: collections.OrderedDict(*args))
    give("collections.Counter", lambda *args: collections.Counter(*args))
    give("collections.defaultdict", _default_dict)
    for kind in (set, frozenset, list, dict, tuple, bytearray, complex, int, float, bool, str, bytes, slice, range):
        give(f"builtins.{kind.__name__}", None if kind in (int, float, bool, str, bytes, range) else kind)
    table["builtins.Ellipsis"] = Ellipsis
    give("_codecs.encode", _encode)
    give("torch.Size", lambda *args: aten.Size(*args))
    give("torch.device", lambda *args: aten.Device(*args))
    give("torch.nn.parameter.Parameter torch.Tensor", None)
    give("torch._utils._rebuild_parameter", _parameter)
    give("torch._utils._rebuild_parameter_with_state", _parameter_with_state)
    give("torch._tensor._rebuild_from_type_v2", _from_type)
    give("torch.serialization._get_layout", _layout)
    give("numpy.core.multiarray.scalar numpy._core.multiarray.scalar", _numpy_scalar)
    give("numpy.dtype", _numpy_dtype, _set_dtype_state)
    give("numpy.ndarray", None)
    give(
        "numpy.core.multiarray._reconstruct numpy._core.multiarray._reconstruct",
        lambda *args: _Array(),
        _set_array_state,
    )
    for name in STORAGES:
        table[f"torch.{name}"] = table[f"torch.storage.{name}"] = Storage(name)
    for name, value in list(vars(aten).items()):
        if isinstance(value, aten.DType):
            table[f"torch.{name}"] = value
    return table


TABLE = _table()
"""Full names that PyTorch's files use, and what they stand for here; those of tensors are added by their reader."""
