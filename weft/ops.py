"""torch.ops: ops by namespace and name. `ops.aten.add` is the op add, `ops.mylib.smooth` the custom op "mylib::smooth".

The names of overloads (`.default`, `.Tensor`, `.dim_IntList` …) are accepted and mean the op, which resolves its arguments itself.
"""

from __future__ import annotations

import os
from typing import Any

from aten import registry as _registry
from aten.library import CustomOp, lookup

_BUILT_IN = ("aten", "prims")


class OpOverload:
    """An op under the name of one of its overloads; calls are the op's."""

    def __init__(self, packet: OpOverloadPacket, name: str) -> None:
        self.overloadpacket, self._overloadname = packet, name
        self._op = packet.op

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._op(*args, **kwargs)

    def name(self) -> str:
        """namespace::name.overload."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return self.overloadpacket._qualified + suffix

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
        return self.op(*args, **kwargs)

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
        op: Any = _registry.get(name) if self.name in _BUILT_IN else lookup(f"{self.name}::{name}")
        if isinstance(op, CustomOp) and not op.mutates:
            op = op.op
        if op is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        made = self.__dict__[name] = OpOverloadPacket(f"{self.name}::{name}", op)
        return made


def load_library(path: str | os.PathLike) -> None:
    """Raises OSError: an extension built for PyTorch cannot be loaded without it."""
    raise OSError(f"{path}: weft cannot load libraries that were built for PyTorch; declare the op with weft.library.custom_op")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'weft.ops' has no attribute {name!r}")
    made = globals()[name] = _Namespace(name)
    return made
