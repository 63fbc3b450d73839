"""The pipeline, on a page: a captured graph → core graphs → loops → kernels → C++ → Programs.

Pure functions between values that print; disk and processes only at the end. `WEFT_LOGS=graph,loops,fusion,kernels`
prints each stage. The C++ of the forward and of the backward is compiled side by side.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import inductor
from aten import aot, logs
from aten.symbolic.expr import Expr
from inductor import _runner, entry
from inductor.codegen import cpp, toolchain
from inductor.ir.buffer import Kernel, Schedule
from inductor.ir.program import Program
from inductor.lowering import lower
from inductor.passes import run
from inductor.schedule import schedule
from inductor.schedule.memory import Result, plan


@dataclass
class Compiled:
    """What `inductor.entry` keeps on disk and calls: `manifest` is plain data that names `libraries` by digest."""

    callable: Callable[..., tuple]
    manifest: dict
    libraries: dict[str, bytes]


@dataclass
class Unit:
    """A core graph whose kernels are being compiled."""

    schedule: Schedule
    job: toolchain.Job | None


def compile_graph(gm: Any, example_inputs: Any) -> Compiled | Callable[..., tuple]:
    """Compile a captured graph; guards on sizes go to gm.shape_env. Raises CompilerMissing without a C++ compiler."""
    toolchain.compiler()
    _log("graph", gm)
    n_guards = len(gm.shape_env.guards) if gm.shape_env is not None else 0
    graphs = aot.graphs(gm, example_inputs)
    if not _native_joint(graphs):
        return aot.compile(gm, example_inputs, compile_core, compile_core)
    folder = toolchain.private_folder()
    try:
        backward = start(graphs.backward, (), folder, "backward") if graphs.backward is not None else None
        forward = start(graphs.forward, graphs.mutations, folder, "forward")
        results, joint = _join(graphs)
        rng = _generator(graphs)
        programs = {"forward": plan(forward.schedule, results, graphs.mutations, rng)}
        if backward is not None:
            programs["backward"] = plan(backward.schedule)
        _log("program", "\n".join(map(str, programs.values())))
        files = {
            name: unit.job.wait() for name, unit in (("forward", forward), ("backward", backward)) if unit and unit.job
        }
        guards = [g.expr for g in gm.shape_env.guards[n_guards:]] if gm.shape_env is not None else []
        return _package(gm, programs, files, joint, guards)
    finally:
        toolchain.remove_folder(folder)


def start(graph: Any, mutations: Any, folder: str, name: str) -> Unit:
    """Lower a core graph, and begin to compile its kernels into `folder`."""
    inductor.counters["lowerings"] += 1
    graph = run(graph)
    _log("passes", graph)
    loops = lower(graph, mutations)
    _log("loops", loops)
    planned = schedule(loops)
    _log("fusion", planned)
    kernels = [step for step in planned.steps if isinstance(step, Kernel)]
    inductor.counters["kernels"] += len(kernels)
    if not kernels:
        return Unit(planned, None)
    env = graph.shape_env
    source = cpp.render(
        kernels, planned.buffers, env.hints if env is not None else {}, env.ranges if env is not None else {}
    )
    _log("kernels", source)
    inductor.counters["compiles"] += 1
    return Unit(planned, toolchain.start(source, folder, name))


def compile_core(graph: Any, metas: Any = None) -> Callable[..., tuple]:
    """Compile one core graph alone: callable(*inputs) -> tuple."""
    folder = toolchain.private_folder()
    try:
        unit = start(graph, (), folder, "graph")
        program = plan(unit.schedule)
        _log("program", program)
        return _runner.Program(program.to_data(), unit.job.wait() if unit.job else None)
    finally:
        toolchain.remove_folder(folder)


# -------------------------------------------------------------------------------------- from aot's graphs to Programs
def _native_joint(graphs: Any) -> bool:
    """Whether Programs alone can do what the graphs say: else aot's runtime, in Python, is around them."""
    if graphs.backward is None:
        return True
    metas = [node.meta["val"] for node in graphs.forward.graph.placeholders]
    if any(metas[i].requires_grad for i, _ in graphs.mutations):
        return False
    return not any(needs and type(out).__name__ != "Fresh" for needs, out in zip(graphs.requires_grad, graphs.outputs))


def _join(graphs: Any) -> tuple[list[Result], dict | None]:
    """What the forward Program returns: the user's results, then what the backward needs; how the two are joined."""
    results = [_result(out) for out in graphs.outputs]
    if graphs.backward is None:
        return results, None
    which = [i for i, needs in enumerate(graphs.requires_grad) if needs]
    n_saved = len(graphs.backward.graph.placeholders) - len(which)
    n_outputs = len(graphs.forward.graph.outputs)
    joint = {"n_results": len(results), "results": which, "gradients": _gradients(graphs)}
    return results + [Result("output", i) for i in range(n_outputs - n_saved, n_outputs)], joint


def _gradients(graphs: Any) -> list[int]:
    """For each output of the backward, the input that it is the gradient of."""
    metas = [node.meta["val"] for node in graphs.forward.graph.placeholders]
    return [i for i, m in enumerate(metas) if getattr(m, "requires_grad", False)]


def _result(out: Any) -> Result:
    match type(out).__name__:
        case "Fresh":
            return Result("output", out.index)
        case "InputAlias":
            return Result("input", out.input)
        case "ViewOf":
            return Result("view", out.input, tuple(out.sizes), tuple(out.strides), out.offset)
        case "Size":
            return Result("number", value=out.expr)
    return Result("constant", value=out.value)


def _generator(graphs: Any) -> tuple | None:
    """(seed, offset, counters) of a random graph."""
    counters = graphs.rng_counters
    if counters is None or (type(counters) is int and counters == 0):
        return None
    seed, offset = (node.meta["val"].expr for node in graphs.forward.graph.placeholders[-2:])
    return seed, offset, counters


def _package(
    gm: Any, programs: dict[str, Program], files: dict[str, str], joint: dict | None, guards: list[Expr]
) -> Compiled:
    """The manifest of what was compiled, and the callable, loaded as a later process will load it."""
    numbers: dict[str, int] = {}
    for i, node in enumerate(gm.graph.nodes):
        numbers.setdefault(entry.line_of(node), i)
    manifest: dict[str, Any] = {"guards": [entry.guard_data(g) for g in guards], "training": joint}
    libraries, paths = {}, {}
    for name, program in programs.items():
        data = program.to_data()
        data["checks"] = [[op, argument, numbers.get(line, "")] for op, argument, line in data["checks"]]
        digest = None
        if name in files:
            with open(files[name], "rb") as f:
                content = f.read()
            digest = _runner.sha256(content)
            libraries[digest], paths[digest] = content, files[name]
        manifest[name] = {"program": data, "library": digest}
    copy = json.loads(json.dumps(manifest))  # loading fills in the user's lines
    return Compiled(entry.load(gm, copy, paths.__getitem__), manifest, libraries)


def _log(channel: str, value: Any) -> None:
    log = logs.get(channel)
    if log.on:
        log(value)
