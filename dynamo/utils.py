"""What capture counts, under PyTorch's names."""

from __future__ import annotations

from collections import Counter, defaultdict

# "frames": total and ok; "stats": unique_graphs and calls_captured; "graph_break": by reason. Since the last reset.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type) -> bool:
    """Whether functions on devices of this type are compiled."""
    return str(getattr(device_type, "type", device_type)).partition(":")[0] in ("cpu", "cuda")
