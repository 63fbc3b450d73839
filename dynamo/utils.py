"""What capture counts, under PyTorch's names."""

from __future__ import annotations

from collections import Counter, defaultdict

# "frames": total and ok; "stats": unique_graphs and calls_captured; "graph_break": by reason. Since the last reset.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)
