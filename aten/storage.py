"""The bytes that a tensor and its views share, and what the CPU allocator has handed out."""

from aten._native import UntypedStorage, empty_cache, memory_stats, reset_peak_memory

__all__ = ["UntypedStorage", "empty_cache", "memory_stats", "reset_peak_memory"]
