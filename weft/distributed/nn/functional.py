"""Collectives as functions, which gradients go through: with one process each gives the tensor, in a new place."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from weft.distributed import ReduceOp, _world

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of the process `src`."""
    _world()
    return tensor.clone()


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes, in the process `dst`."""
    return (broadcast(tensor, dst),)


def scatter(tensors: list[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This process's part of what the process `src` has."""
    (part,) = tensors
    return broadcast(part, src)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction over all processes, in the process `dst`."""
    return broadcast(tensor, dst)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """This process's part of the reduction; its values are what `output` would get."""
    (part,) = input_list
    return broadcast(part, 0)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return (broadcast(tensor, 0),)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None) -> tuple[Tensor, ...]:
    """Part i of each process, for process i."""
    _world()
    return tuple(t.clone() for t in input_tensor_list)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Tensor:
    """Part i of each process, for process i: all of it."""
    return broadcast(input, 0)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction over all processes."""
    return broadcast(tensor, 0)
