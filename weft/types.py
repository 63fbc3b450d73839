"""Types that annotations name."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any, Union

import aten
from aten import Tensor
from aten.symbolic.symint import SymBool, SymFloat, SymInt

__all__ = ["Device", "FileLike", "IntLikeType", "Number", "Storage"]

_bool, _int, _float, _complex = builtins.bool, builtins.int, builtins.float, builtins.complex
_dtype, _device = aten.DType, aten.Device
_size = Union[aten.Size, list[int], tuple[int, ...]]  # noqa: UP007
_TensorOrTensors = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
Number = Union[int, float, bool]  # noqa: UP007
Device = Union[aten.Device, str, int, None]  # noqa: UP007
FileLike = Union[str, os.PathLike, Any]  # noqa: UP007
IntLikeType, FloatLikeType, BoolLikeType = Union[int, SymInt], Union[float, SymFloat], Union[bool, SymBool]  # noqa: UP007
_layout = aten.Layout
py_sym_types = (SymInt, SymFloat, SymBool)
Storage = Any
