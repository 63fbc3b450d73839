"""Elements put around the last dims."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from weft.nn import functional as F
from weft.nn.module import Module
from weft.nn.modules.utils import _ntuple, _pair, _quadruple  # noqa: F401  (taken from here)


class _Pad(Module):
    """`padding`: one number, or two a dim (before, after), the last dim first; negative ones take away."""

    __constants__ = ["padding"]
    _dims: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Pads with `value`."""

    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_Pad):
    """Pads with what lies inside of the border, mirrored."""

    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    """Pads with copies of the border."""

    _mode = "replicate"


class _CircularPadNd(_Pad):
    """Pads with the other end."""

    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._dims
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return super().forward(input)


class ConstantPad1d(_ConstantPadNd):
    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    _dims = 3


class ReflectionPad1d(_ReflectionPadNd):
    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    _dims = 3


class ReplicationPad1d(_ReplicationPadNd):
    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    _dims = 3


class CircularPad1d(_CircularPadNd):
    _dims = 1


class CircularPad2d(_CircularPadNd):
    _dims = 2


class CircularPad3d(_CircularPadNd):
    _dims = 3


class _Zero(_ConstantPadNd):
    """Pads with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Zero, ConstantPad1d):
    pass


class ZeroPad2d(_Zero, ConstantPad2d):
    pass


class ZeroPad3d(_Zero, ConstantPad3d):
    pass
