"""Devices in a grid with named dims: with one process, a grid of one."""

from __future__ import annotations

import math
from typing import Any

import aten
from weft.distributed import ProcessGroup, _world, init_process_group, is_initialized

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of the ranks of processes. RuntimeError for more of them than there are: one."""

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None) -> None:
        self.mesh = aten.as_tensor(mesh, dtype=aten.int64)
        if self.mesh.numel() != 1:
            raise RuntimeError(f"weft runs in one process: no mesh of {self.mesh.numel()} devices")
        if not is_initialized():
            init_process_group(world_size=1, rank=0)
        self.device_type, self.mesh_dim_names = device_type, mesh_dim_names

    @property
    def ndim(self) -> int:
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, along a dim or in all."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    def _dim(self, name: str) -> int:
        if self.mesh_dim_names is None or name not in self.mesh_dim_names:
            raise KeyError(f"Invalid mesh_dim_name {name} specified. Valid mesh_dim_names are {self.mesh_dim_names}.")
        return self.mesh_dim_names.index(name)

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part along some of the dims."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        sizes = [self.mesh.shape[self._dim(name)] for name in names]
        return DeviceMesh(self.device_type, self.mesh.reshape(sizes), mesh_dim_names=names)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of the processes along a dim."""
        if isinstance(mesh_dim, str):
            self._dim(mesh_dim)
        elif mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified."
            )
        return _world()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's place along a dim."""
        return self.get_group(mesh_dim).rank()

    def get_rank(self) -> int:
        """This process's place among all."""
        return _world().rank()

    def get_coordinate(self) -> list[int]:
        """This process's place along every dim."""
        return [0] * self.ndim

    def __repr__(self) -> str:
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}, mesh_dim_names={self.mesh_dim_names})"


def init_device_mesh(device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None) -> DeviceMesh:
    """A grid of all processes. RuntimeError for names of another number, or twice the same, and for more than one process."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape): {len(mesh_shape)}."
            )
    return DeviceMesh(device_type, aten.arange(math.prod(mesh_shape)).reshape(mesh_shape), mesh_dim_names=mesh_dim_names)
