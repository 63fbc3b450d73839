"""Tensors in parts on several processes. weft runs in one process, so no tensor is one; programs ask whether theirs are."""

from __future__ import annotations

from typing import Any, NoReturn

from aten import Tensor
from weft.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DTensor", "DeviceMesh", "distribute_module", "distribute_tensor", "init_device_mesh"]


class DTensor(Tensor):
    """A tensor in parts. There are none."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("weft runs in one process: there are no tensors in parts")


def distribute_tensor(tensor: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: there is one process."""
    raise RuntimeError("weft runs in one process: no tensor is distributed")


def distribute_module(module: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: there is one process."""
    raise RuntimeError("weft runs in one process: no module is distributed")
