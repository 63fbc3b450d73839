"""The GPU's memory: what is in use, what is reserved, what is free. All 0 where there is no GPU."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from aten.errors import OutOfMemoryError
from weft.cuda.devices import driver, index_of, is_available

__all__ = [
    "OutOfMemoryError", "caching_allocator_alloc", "caching_allocator_delete", "empty_cache",
    "get_per_process_memory_fraction", "host_memory_stats", "list_gpu_processes", "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip

_fractions: dict[int, float] = {}


def empty_cache() -> None:
    """Gives memory that is reserved and not in use back to the driver, and waits for what still uses some."""
    if is_available():
        driver().empty_cache()
        driver().empty_host_cache()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The allocator's figures: each of the bytes and counts has current, peak, allocated (so far) and freed."""
    return driver().memory_stats(index_of(device)) if is_available() else {}


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """The same by names like "allocated_bytes.all.peak", in alphabetical order."""
    found = {}
    for name, figure in memory_stats_as_nested_dict(device).items():
        if isinstance(figure, dict):
            found |= {f"{name}.all.{k}": v for k, v in figure.items()}
        else:
            found[name] = figure
    return OrderedDict(sorted(found.items()))


def _figure(name: str, doc: str) -> Any:
    def ask(device: Any = None) -> int:
        return memory_stats(device).get(name, 0)

    ask.__doc__ = doc
    return ask


memory_allocated = _figure("allocated_bytes.all.current", "Bytes in use by tensors.")
max_memory_allocated = _figure("allocated_bytes.all.peak", "The most bytes in use since the peak was last reset.")
memory_reserved = memory_cached = _figure("reserved_bytes.all.current", "Bytes taken from the driver.")
max_memory_reserved = max_memory_cached = _figure(
    "reserved_bytes.all.peak", "The most bytes taken from the driver since the reset."
)


def reset_peak_memory_stats(device: Any = None) -> None:
    """Peaks start again from what is in use now."""
    if is_available():
        driver().reset_peak_stats(index_of(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Figures that only grow start again from 0."""
    if is_available():
        driver().reset_accumulated_stats(index_of(device))


def host_memory_stats() -> dict[str, int]:
    """Bytes of pinned host memory in use and reserved."""
    return driver().host_memory_stats() if is_available() else {}


def memory_snapshot(device: Any = None) -> list[dict[str, Any]]:
    """The segments taken from the driver, each with its blocks in order: address, size, state."""
    return driver().memory_snapshot(index_of(device))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, all) bytes as the driver says, other processes' included. Raises AssertionError without a GPU."""
    return driver().mem_get_info(index_of(device))


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """What is reserved stays below this part of the GPU's memory. Raises ValueError outside of [0, 1]."""
    index = index_of(device)
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0 <= fraction <= 1")
    _fractions[index] = fraction
    driver().set_memory_limit(index, -1 if fraction == 1 else int(driver().total_memory(index) * fraction))


def get_per_process_memory_fraction(device: Any = None) -> float:
    return _fractions.get(index_of(device), 1.0)


_raw: dict[int, Any] = {}


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """The address of `size` bytes for a library that wants memory, until `caching_allocator_delete`."""
    from aten import _native, uint8
    from weft.cuda.streams import StreamContext

    with StreamContext(stream):
        held = _native.empty((size,), uint8, f"cuda:{index_of(device)}")
    _raw[held.data_ptr()] = held
    return held.data_ptr()


def caching_allocator_delete(mem_ptr: int) -> None:
    """Gives memory of `caching_allocator_alloc` back."""
    _raw.pop(mem_ptr)


def list_gpu_processes(device: Any = None) -> str:
    """Only this process is known here."""
    index = index_of(device)
    return f"GPU:{index}\nthis process uses {memory_reserved(index) / 2**20:.3f} MB GPU memory"


def _size(value: float) -> str:
    for unit in ("B  ", "KiB", "MiB", "GiB"):
        if value < 10240 or unit == "GiB":
            return f"{value:.0f} {unit}"
        value /= 1024
    return ""


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures as a table."""
    if not is_available():
        return "no GPU memory is in use"
    index, stats = index_of(device), memory_stats(device)
    rows: list[tuple[str, str, Any]] = [
        ("Allocated memory", "allocated_bytes", _size),
        ("Active memory", "active_bytes", _size),
        ("Requested memory", "requested_bytes", _size),
        ("GPU reserved memory", "reserved_bytes", _size),
        ("Non-releasable memory", "inactive_split_bytes", _size),
        ("Allocations", "allocation", str),
        ("Active allocs", "active", str),
        ("GPU reserved segments", "segment", str),
    ]
    line = "|" + "=" * 75 + "|"
    ooms, retries = f"CUDA OOMs: {stats['num_ooms']}", f"cudaMalloc retries: {stats['num_alloc_retries']}"
    counts = f"|{ooms:^37}|{retries:^37}|"
    lines = [line, f"|{f'weft CUDA memory summary, device ID {index}':^75}|", line, counts, line]
    lines.append("|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |")
    lines.append(line.replace("=", "-"))
    for title, name, text in rows[: 4 if abbreviated else None]:
        figures = [text(stats[f"{name}.all.{k}"]) for k in ("current", "peak", "allocated", "freed")]
        lines.append(f"| {title:<21} |" + "|".join(f"{figure:>11} " for figure in figures) + "|")
    return "\n".join([*lines, line])
