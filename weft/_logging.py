"""`weft._logging.set_logs`: the log channels (`aten.logs`) by the names that PyTorch programs give them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from aten import logs

_CAPTURE = "graph guards breaks recompiles"
_LOWERING = "passes loops fusion program kernels cache"
# Parts, which take a level, with the channels that tell what is of that level or above.
_PARTS = {
    "all": {logging.DEBUG: f"{_CAPTURE} {_LOWERING} autotune", logging.INFO: "breaks recompiles"},
    "dynamo": {logging.DEBUG: _CAPTURE, logging.INFO: "breaks recompiles"},
    "aot": {logging.DEBUG: "graph"},
    "dynamic": {logging.DEBUG: "guards recompiles", logging.INFO: "recompiles"},
    "inductor": {logging.DEBUG: _LOWERING},
    "autograd": {}, "c10d": {}, "ddp": {}, "distributed": {}, "dtensor": {}, "export": {}, "fsdp": {}, "onnx": {},
}  # fmt: skip
# Artefacts, which are told or not, with their channels. What weft has no text of is told by none.
_ARTEFACTS = {
    "aot_graphs": "graph", "aot_joint_graph": "graph", "autotuning": "autotune", "bytecode": "", "caching": "cache",
    "compiled_autograd": "graph", "compiled_autograd_verbose": "graph", "cudagraphs": "program", "fusion": "fusion",
    "graph": "graph", "graph_breaks": "breaks", "graph_code": "graph", "graph_code_verbose": "graph", "graph_sizes": "graph",
    "guards": "guards",
    "ir_post_fusion": "fusion", "ir_pre_fusion": "loops", "kernel_code": "kernels", "output_code": "kernels", "perf_hints": "",
    "post_grad_graphs": "passes", "pre_grad_graphs": "graph", "recompiles": "recompiles", "recompiles_verbose": "recompiles",
    "schedule": "program", "benchmarking": "", "compute_dependencies": "", "cudagraph_static_inputs": "", "ddp_graphs": "",
    "graph_region_expansion": "", "hierarchical_compile": "", "incremental": "", "inductor_metrics": "", "onnx_diagnostics": "",
    "overlap": "", "side_effects": "", "sym_node": "", "trace_bytecode": "", "trace_call": "", "trace_source": "",
}  # fmt: skip
_LEVELS = (50, 40, 30, 20, 10, 0)


def set_logs(*, modules: Mapping[str, Any] | None = None, **named: Any) -> None:
    """Tell what is named, and nothing else: set_logs(dynamo=logging.DEBUG, graph_breaks=True). Parts ("dynamo", "inductor", "all"
    …) take a level of `logging`, artefacts ("graph_code", "output_code", "recompiles" …) a bool; `modules` may name both. Without
    an argument nothing is told. Lines go to stderr, as `WEFT_LOGS` has them.

    Raises TypeError for an unknown name (ValueError for one in `modules`), ValueError for what is no level or no bool."""
    for name in named:
        if name not in _PARTS and name not in _ARTEFACTS:
            raise TypeError(f"set_logs() got an unexpected keyword argument {name!r}")
    channels: set[str] = set()
    for name, value in {**named, **(modules or {})}.items():
        if name in _PARTS:
            channels.update(_of_part(name, value))
        elif name not in _ARTEFACTS:
            raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
        elif type(value) is not bool:
            raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
        elif value:
            channels.update(_ARTEFACTS[name].split())
    logs.set_logs(",".join(sorted(channels)))


def _of_part(name: str, level: Any) -> list[str]:
    if level is None:
        return []
    if type(level) is bool or level not in _LEVELS:
        raise ValueError(f"Unrecognized log level for log {name}: {level}, valid level values are: {','.join(map(str, _LEVELS))}")
    return next((told.split() for least, told in sorted(_PARTS[name].items()) if level <= least), [])
