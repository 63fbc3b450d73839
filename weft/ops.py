"""torch.ops: ops by namespace and name. `ops.aten.add` is the op add, `ops.mylib.smooth` the custom op "mylib::smooth".

The names of overloads (`.default`, `.Tensor`, `.dim_IntList` …) are accepted and mean the op, which resolves its arguments itself.
"""

from __future__ import annotations

import os
from typing import Any

import aten as _aten
from aten import Tensor as _Tensor
from aten import library as _library
from aten import registry as _registry
from aten.declared_ops import lookup
from aten.library import CustomOp
from aten.ops.native_activations import NATIVE_LOSSES as _NATIVE_LOSSES
from dynamo import trace_rules
from dynamo.breaks import Again

_BUILT_IN = ("aten", "prims")
# Ops that take or give something else here than the function, or the core op, of that name.
_OWN = {
    "convolution": "native_convolution",
    "embedding": "native_embedding",
    "elu": "native_elu",
    "adaptive_max_pool2d": "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d": "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d": "native_fractional_max_pool2d",
    "fractional_max_pool3d": "native_fractional_max_pool3d",
    **_NATIVE_LOSSES,
}


def _built_in(name: str) -> Any:
    """What stands for an op of PyTorch's own: the op, or where weft has none the function or method of that name."""
    op = _registry.get(_OWN.get(name, name))
    if op is None:
        op = getattr(_aten, name, None) or vars(_Tensor).get(name)
    return op if callable(op) else None


def _entry_of(op: Any) -> Any:
    """What is called for a custom op: the op itself, where that says all."""
    return op.op if type(op) is CustomOp and op.is_plain else op


def _lookup_overload(packet: OpOverloadPacket, name: str) -> Any:
    found = _library.lookup(f"{packet._qualified}.{name}")
    return packet.op if found is None else _entry_of(found)


class OpOverload:
    """An op under the name of one of its overloads; calls are the op's."""

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket, self._overloadname = packet, name
        self._op = packet.op if name == "default" else _lookup_overload(packet, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._op(*args, **kwargs)
        except TypeError:
            _library.check(self.name().removesuffix(".default"), args, kwargs)
            raise

    def name(self) -> str:
        """namespace::name.overload."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return self.overloadpacket._qualified + suffix

    @property
    def __name__(self) -> str:
        return f"{self.overloadpacket.__name__}.{self._overloadname}"

    @property
    def namespace(self) -> str:
        """The library's name."""
        return self.overloadpacket._qualified.partition("::")[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_op":
            raise AttributeError(name)
        return getattr(self._op, name)

    def __eq__(self, other: Any) -> bool:
        """Nodes of graphs call the op: it is equal to all of its overloads."""
        return other is self or other is self._op

    def __hash__(self) -> int:
        return hash(self._op)

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket._qualified.replace('::', '.')}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self.overloadpacket._qualified.replace('::', '.')}.{self._overloadname}"


class OpOverloadPacket:
    """An op; its attributes are its overloads."""

    def __init__(self, qualified: str, op: Any) -> None:
        self._qualified, self.op = qualified, op
        self.__name__ = qualified.partition("::")[2]
        self.__doc__ = getattr(op, "__doc__", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.op(*args, **kwargs)
        except TypeError:
            _library.check(self._qualified, args, kwargs)
            raise

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self.__dict__[name] = OpOverload(self, name)
        return made

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified.replace('::', '.')}')>"

    def __str__(self) -> str:
        return self._qualified.replace("::", ".")


class _Namespace:
    """The ops of a library."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        op: Any = _built_in(name) if self.name in _BUILT_IN else lookup(f"{self.name}::{name}")
        op = _entry_of(op)
        if op is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        made = self.__dict__[name] = OpOverloadPacket(f"{self.name}::{name}", op)
        return made


def _forget(name: str) -> None:
    """The entry of a custom op is looked up again."""
    namespace, _, short = name.partition("::")
    entries = globals().get(namespace)
    if isinstance(entries, _Namespace):
        entries.__dict__.pop(short.partition(".")[0], None)


_library.changed.append(_forget)


@trace_rules.handle(_Namespace.__getattr__, OpOverloadPacket.__getattr__)
def _entry(frame: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """While tracing an entry is made for real, and then it is there."""
    try:
        getattr(args[0].value, args[1].as_python())
    except AttributeError as error:
        raise frame.values.error(frame, AttributeError, str(error)) from None
    raise Again


_OF_TENSOR_OR_NUMBER = frozenset(
    "add sub mul div rsub remainder fmod floor_divide eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor".split()
)
_OVERLOADS = {  # of ops with several: the name of the one that the arguments mean
    "pow": lambda args, kwargs: "Tensor_Tensor" if len(args) > 1 and isinstance(args[1], _Tensor) else "Tensor_Scalar",
    "sum": lambda args, kwargs: "default" if _whole(args, kwargs) else "dim_IntList",
    "mean": lambda args, kwargs: "default" if _whole(args, kwargs) else "dim",
    "select": lambda args, kwargs: "int",
    "slice": lambda args, kwargs: "Tensor",
    "transpose": lambda args, kwargs: "int",
    "var_mean": lambda args, kwargs: "correction",
    "std_mean": lambda args, kwargs: "correction",
    "var": lambda args, kwargs: "correction",
    "std": lambda args, kwargs: "correction",
    "index": lambda args, kwargs: "Tensor",
}


def _whole(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a reduction is over all dims."""
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    return dim is None or len(dim) == args[0].ndim


def overload_of(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The name under which users know an op that is called with these arguments; the op itself where they know it by none."""
    packet = aten_ops.__dict__.get(op.name)
    if packet is None:
        packet = getattr(aten_ops, op.name, None)
    if packet is None or packet.op is not op:
        return op
    if op.name in _OF_TENSOR_OR_NUMBER:
        return packet.Tensor if len(args) > 1 and isinstance(args[1], _Tensor) else packet.Scalar
    named = _OVERLOADS.get(op.name)
    return getattr(packet, named(args, kwargs) if named is not None else "default")


def load_library(path: str | os.PathLike) -> None:
    """Raises OSError: an extension built for PyTorch cannot be loaded without it."""
    raise OSError(f"{path}: weft cannot load libraries that were built for PyTorch; declare the op with weft.library.custom_op")


aten = aten_ops = _Namespace("aten")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'weft.ops' has no attribute {name!r}")
    made = globals()[name] = _Namespace(name)
    return made
