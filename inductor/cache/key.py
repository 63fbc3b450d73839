"""What a compiled graph depends on, as one text, and its digest.

The captured graph without the user's lines, with dtypes, sizes, strides and requires_grad of its inputs; what is
known of its symbols; the ambient state; the settings that change what is compiled; the compiler, its flags and the
instruction set; the sources of weft itself. Hints are not in it: guards that were added after capture are kept with
the entry, and an entry whose guards do not hold is a miss.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from aten import _native, settings
from aten.fx import printer
from aten.fx.targets import is_op
from inductor import _runner
from inductor.codegen import toolchain
from inductor.ir import FORMAT

# Functions besides ops whose meaning cannot change between two runs.
_FIXED_MODULES = ("_operator", "operator", "math", "builtins", "aten.higher_order.wrap", "aten.fx.targets")


@functools.lru_cache(maxsize=1)
def sources() -> str:
    """Sizes and times of weft's own files: another version, or an edited one, shares nothing."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return _runner.source_states(root, ("aten", "inductor"))


def environment() -> str:
    """What a compiled graph depends on besides the graph."""
    try:
        compiler = toolchain.compiler().key
    except toolchain.CompilerMissing:
        compiler = "none"
    state = [
        f"format {FORMAT}",
        f"python {sys.implementation.cache_tag}",
        f"threads {_native.get_num_threads()}",
        f"ambient {_native.ambient():x}",
        *(f"{k} {v!r}" for k, v in settings.cache_key()),
        compiler,
        sources(),
    ]
    return "\n".join(state)


def graph_text(gm: Any) -> str | None:
    """The graph and its sub-graphs as text; None if its meaning is not all in the text."""
    parts = [printer.text(gm.graph, lines=False)]
    for node in gm.graph.nodes:
        if node.op == "call_method":
            return None
        if (
            node.op == "call_function"
            and not is_op(node.target)
            and getattr(node.target, "__module__", "") not in _FIXED_MODULES
        ):
            return None
        if node.op == "get_attr":
            value = getattr(gm, node.target)
            inner = graph_text(value) if hasattr(value, "graph") else None
            if inner is None:
                return None
            parts.append(inner)
    text = "\n".join(parts)
    return None if " at 0x" in text else text


def of(gm: Any, kind: str = "captured") -> str | None:
    """The key of a graph of this kind: 64 hexadecimal digits, or None where the graph cannot be cached."""
    text = graph_text(gm)
    if text is None:
        return None
    env = gm.shape_env
    known = (
        "" if env is None else f"{sorted((k, str(v)) for k, v in env.ranges.items())}\n{[str(g) for g in env.guards]}"
    )
    return _runner.sha256("\0".join((kind, text, known, devices(gm), environment())).encode())


def devices(gm: Any) -> str:
    """Where the values of a graph lie, in order, and what decides how kernels for those devices are compiled."""
    found = [_device(node.meta.get("val")) for node in gm.graph.nodes]
    away = sorted({d for d in found if d.startswith("cuda")})
    if not away:
        return ""
    from inductor.cuda import images, launches

    kinds = [str(launches.device_of(name)) for name in away]
    return "\n".join([" ".join(found), *kinds, images.triton_version(), images.compiler.__name__])


def _device(val: Any) -> str:
    if isinstance(val, (tuple, list)):
        return next((d for d in map(_device, val) if d != "-"), "-")
    device = getattr(val, "device", None)
    return "-" if device is None else f"{device.type}:{device.index or 0}"
