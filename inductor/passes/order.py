"""The passes over a core graph, in order."""

from __future__ import annotations

from aten.fx.cleanup import dce

PASSES = (dce,)


def run(gm):
    """The graph module after every pass (the same one: passes change its graph)."""
    for fn in PASSES:
        fn(gm.graph)
    return gm
