"""Which values of a joint graph its forward saves for backward: what backends may ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def min_cut_rematerialization_partition(joint_module: Any, joint_inputs: Any = None, *, num_fwd_outputs: int | None = None):
    """(forward, backward) of a joint graph, cut where the fewest bytes are saved; what is cheap is computed once more."""
    from aten.aot.partition import partition  # here: what compiles from the cache on disk cuts nothing

    forward, backward, _ = partition(joint_module)
    return forward, backward


def check_partition(partition_fn: Callable | None) -> None:
    """Raise NotImplementedError for any other way to cut."""
    if partition_fn not in (None, min_cut_rematerialization_partition):
        raise NotImplementedError(f"joint graphs are cut by min_cut_rematerialization_partition, not by {partition_fn!r}")
