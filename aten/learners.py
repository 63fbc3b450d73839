"""What native code asks about calls that it meets: which are replayed (`replay.py`), and which are chains of loops (`chains.py`).

Those files are loaded at the first such call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aten import _native, settings
from aten.later import later
from aten.op import Op
from aten.ops import on_demand

# What has a native rule that does not run the definition, and gives new tensors: it stays whole.
_WHOLE = """matmul linear layer_norm rms_norm group_norm scaled_dot_product_attention max_pool1d max_pool2d max_pool3d
avg_pool1d avg_pool2d avg_pool3d logsumexp power_norm nansum""".split()
NEVER = {"as_strided", "as_strided_put", "strided_scatter", "as_strided_backward", "set_", "resize_", "to_device", "setitem"}
whole: set[Op] = set()  # what a replayed program calls as it is


def _quietly(kernel: Callable[..., Any], *arrays: Any) -> None:
    """Run a kernel as `arrays.run_kernel` does."""
    with np.errstate(all="ignore"):
        kernel(*arrays)


def _let_replay(op: Op) -> None:
    op.own = True
    if op.name in _WHOLE or op.native == "chain":
        whole.add(op)
    apart = op.name in NEVER or "dynamic" in op.tags or op.name == "philox_reserve"
    if op.kind not in ("inplace", "view") and not apart:
        _native.set_replay(op, True)


def bind() -> None:
    """Let the calls of aten's own ops be replayed, and composites that say they are elementwise (native="chain") be chains."""
    on_demand.finish.append(_let_replay)
    _native.set_chain_learner(later("aten.chains", "learn"))
    _native.set_replay_learner(later("aten.replay", "learn"), _quietly)
    _native.replay_after(settings.replay_after)


__all__ = ["NEVER", "bind", "whole"]
