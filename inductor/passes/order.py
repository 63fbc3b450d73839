"""The passes over a core graph, in order."""

from __future__ import annotations

from aten.fx.cleanup import dce
from inductor.passes.devices import on_one_device

PASSES = (dce, on_one_device)


def run(gm):
    """The graph module after every pass (the same one: passes change its graph)."""
    for fn in PASSES:
        fn(gm.graph)
    return gm
