"""torch.distributed for one process: a group of one, whose collectives leave tensors as they are.

`is_available()` is False: there is no way to other processes, and programs that ask take their single-process side. Those that
do not ask may `init_process_group(world_size=1, rank=0)` and go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from importlib import import_module
from typing import Any

import aten
from aten import Tensor

__all__ = [
    "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "get_backend",
    "get_rank", "get_world_size", "group", "init_process_group", "is_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_gloo_available", "is_torchelastic_launched", "monitored_barrier", "new_group", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


class ReduceOp(Enum):
    """How values of the processes are made one; with one process each is that value."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


class ProcessGroup:
    """The group of this one process."""

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 1


class group:
    """`group.WORLD` is the group that is open, or None."""

    WORLD: ProcessGroup | None = None


GroupMember = group


class Work:
    """A collective that was asked for with `async_op`: done already."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


def is_available() -> bool:
    """False: there are no other processes to reach."""
    return False


def is_initialized() -> bool:
    """Whether the group of one is open."""
    return group.WORLD is not None


def is_mpi_available() -> bool:
    """False."""
    return False


is_nccl_available = is_gloo_available = is_ucc_available = is_xccl_available = is_torchelastic_launched = is_mpi_available


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Opens the group of one process. Raises RuntimeError for more, ValueError if one is open."""
    if group.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if world_size > 1 or rank > 0:
        raise RuntimeError(f"weft runs in one process: no group of {world_size} processes (rank {rank})")
    group.WORLD = ProcessGroup()


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Closes it."""
    _world()
    _close()


def _close() -> None:
    group.WORLD = None


def _world() -> ProcessGroup:
    if group.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return group.WORLD


def new_group(ranks: Sequence[int] | None = None, *args: Any, **kwargs: Any) -> ProcessGroup:
    """A group of some of the processes, which is this one."""
    _world()
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(f"the only rank is 0, not {list(ranks)}")
    return ProcessGroup()


def get_rank(group: ProcessGroup | None = None) -> int:
    """0."""
    return _world().rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """1."""
    return _world().size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of what carries messages: "single"."""
    _world()
    return "single"


def _done(async_op: bool) -> Work | None:
    _world()
    return Work() if async_op else None


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """`tensor` becomes the reduction over all processes: itself."""
    return _done(async_op)


def reduce(tensor: Tensor, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """As all_reduce, for the process `dst`."""
    return _done(async_op)


def broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """`tensor` becomes that of the process `src`: itself."""
    return _done(async_op)


def _fill(targets: Sequence[Tensor], values: Sequence[Tensor], async_op: bool) -> Work | None:
    done = _done(async_op)
    if len(targets) != len(values):
        raise ValueError(f"a group of one process gives {len(values)} tensors, not {len(targets)}")
    with aten.no_grad():
        for target, value in zip(targets, values):
            target.copy_(value.reshape(target.shape))
    return done


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """tensor_list[i] becomes the tensor of process i."""
    return _fill(tensor_list, [tensor], async_op)


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """gather_list[i] of the process `dst` becomes the tensor of process i."""
    return _fill(gather_list or [], [tensor], async_op)


def scatter(
    tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int = 0, group: Any = None, async_op: bool = False
) -> Work | None:
    """`tensor` becomes scatter_list[rank] of the process `src`."""
    return _fill([tensor], scatter_list or [], async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`output` becomes the reduction of input_list[rank]."""
    return _fill([output], input_list, async_op)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False) -> Any:
    """Process i gets input_tensor_list[i] of each."""
    return _fill(output_tensor_list, input_tensor_list, async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """The tensors of all processes, one after the other."""
    return _fill([output_tensor], [input_tensor], async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """`output` becomes this process's part of the reduction: all of it."""
    return _fill([output], [input], async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Process i gets part i of each: all of it."""
    return _fill([output], [input], async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """object_list[i] becomes the object of process i."""
    _world()
    object_list[:] = [obj]


def broadcast_object_list(object_list: list[Any], src: int = 0, group: Any = None, device: Any = None) -> None:
    """The objects of the process `src`: these."""
    _world()


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits for all processes."""
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Waits for all processes."""
    _world()


_PARTS = ("algorithms", "device_mesh", "distributed_c10d", "elastic", "nn", "rpc")


def __getattr__(name: str) -> Any:
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(import_module("weft.distributed.device_mesh"), name)
    if name in _PARTS:
        return import_module(f"weft.distributed.{name}")
    raise AttributeError(f"module 'weft.distributed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, "DeviceMesh", "init_device_mesh"})
