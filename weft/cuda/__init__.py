"""The GPU as PyTorch code asks about it.

Tensors live on it where NVIDIA's driver is (`python -m weft.cuda` tells); the driver is looked for when something here, or a
device="cuda", is first asked for. Where there is none `is_available()` is False, memory is 0, seeds are taken and what needs a
GPU raises
AssertionError.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from aten import default_generator
from aten.errors import CudaError, OutOfMemoryError
from weft.cuda.devices import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    get_gencode_flags,
    init,
    ipc_collect,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    set_device,
    synchronize,
)
from weft.cuda.graphed import make_graphed_callables
from weft.cuda.graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing
from weft.cuda.memory import (
    caching_allocator_alloc,
    caching_allocator_delete,
    empty_cache,
    get_per_process_memory_fraction,
    host_memory_stats,
    list_gpu_processes,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from weft.cuda.old_types import OLD_TYPES
from weft.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from weft.cuda.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
)

_PARTS = ("amp", "devices", "graphs", "memory", "nvtx", "random", "streams")
_lazy_init = init


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"weft.cuda.{name}")
    if name == "default_generators":  # one a GPU: all are the CPU's
        return (default_generator,) * device_count()
    if name == "_initialized":
        return is_initialized()
    if name in OLD_TYPES:
        return OLD_TYPES[name]
    raise AttributeError(f"module 'weft.cuda' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, *OLD_TYPES, "default_generators"})


class DeferredCudaCallError(Exception):
    """A call that waited for the GPU to be there failed."""


__all__ = [
    "CUDAGraph", "CudaError", "DeferredCudaCallError", "Event", "ExternalStream", "OutOfMemoryError", "Stream", "StreamContext",
    "caching_allocator_alloc", "caching_allocator_delete", "can_device_access_peer", "current_device", "current_stream",
    "default_stream", "device", "device_count", "device_of", "empty_cache", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "get_gencode_flags", "get_per_process_memory_fraction", "get_rng_state",
    "get_rng_state_all", "get_stream_from_external", "graph", "graph_pool_handle", "host_memory_stats", "init", "initial_seed",
    "ipc_collect", "is_available", "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "is_tf32_supported",
    "list_gpu_processes", "make_graphed_callables", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "seed", "seed_all", "set_device",
    "set_per_process_memory_fraction", "set_rng_state", "set_rng_state_all", "set_stream", "stream", "synchronize",
]  # fmt: skip
