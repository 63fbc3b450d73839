"""The pipeline, on a page: a captured graph → core graphs → loops → kernels → C++ → Programs.

Pure functions between values that print; disk and processes only at the end. `WEFT_LOGS=graph,loops,fusion,kernels`
prints each stage. The C++ of the forward and of the backward is compiled side by side.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aten import aot, logs, settings
from aten.aot.data import AotGraphs, Fresh, InputAlias, OutputView, Size, ViewOf
from aten.aot.runtime import AotFunction, ones_for
from aten.fx.subgraph import SubGraph
from aten.records import record
from aten.symbolic.expr import Expr
from aten.transforms.tracer import CUT
from inductor import _runner, autotune, choices, loading
from inductor.codegen import cpp, toolchain
from inductor.counters import counters
from inductor.decompositions import decompositions
from inductor.forms import Backwards
from inductor.ir.buffer import Kernel
from inductor.ir.nodes import fresh_table
from inductor.ir.program import Program
from inductor.ir.steps import Extern, Python
from inductor.lowering import lower
from inductor.lowering.graph import device_of
from inductor.lowering.registry import NotLowered
from inductor.passes import run
from inductor.schedule import schedule
from inductor.schedule.memory import PlanError, Result, plan

if TYPE_CHECKING:
    from inductor.cuda.launches import Functions


@record
class Compiled:
    """What `inductor.loading` keeps on disk and calls: `manifest` is plain data that names `libraries` by digest."""

    callable: Callable[..., tuple]
    manifest: dict
    libraries: dict[str, bytes]
    keep: bool  # not where tensors are part of it: those are never stored


class Part:
    """A core graph after the passes, and how its Program is planned."""

    def __init__(self, name: str, graph: Any, *planned: Any):
        self.name = name
        self.constants = _lift_constants(graph)
        self.graph = run(graph)
        self.planned = planned  # results, mutations, writes, rng of `plan`
        _log("passes", self.graph)


@record
class Unit:
    """The Program of a core graph, whose kernels are being compiled."""

    program: Program
    constants: list[Any]  # the tensors that stand for its last inputs
    source: str
    job: toolchain.Job | None
    functions: Functions | None = None  # of a device

    @property
    def runs_ops_alone(self) -> bool:
        """Whether it has no kernels."""
        return self.job is None and self.functions is None


def compile_graph(gm: Any, example_inputs: Any) -> Compiled | Callable[..., tuple]:
    """Compile a captured graph; guards on sizes go to gm.shape_env. Raises CompilerMissing without a C++ compiler."""
    toolchain.compiler()
    n_guards = _count_guards(gm)
    if len(_devices(gm)) > 1:  # a Program runs on one
        return _eager(gm, _new_guards(gm, n_guards))
    graphs = aot.graphs(gm, example_inputs, decompositions())
    _log("graph", graphs)
    if graphs.refused or choices.fills_many(gm.graph, graphs.n_fresh):
        return _eager(gm, _new_guards(gm, n_guards))
    if not _native_joint(graphs):
        if _views_alone(graphs) and choices.may_run_eager(gm.graph):
            return _eager(gm, _new_guards(gm, n_guards))
        function = AotFunction(graphs, compile_core(graphs.forward), graphs.backward and compile_core(graphs.backward))
        names = _saved_names(graphs)
        function.other_forms = None if names is None else Backwards(gm, names, compile_core)
        return function
    folder = toolchain.private_folder()
    try:
        rng = _generator(graphs, len(gm.graph.placeholders))
        results, joint = _join(graphs, rng)
        parts = [Part("backward", graphs.backward)] if graphs.backward is not None else []
        parts.append(Part("forward", graphs.forward, results, graphs.mutations, graphs.writes, rng))
        if choices.may_run_eager(gm.graph):
            parts.reverse()
        units: dict[str, Unit] = {}
        if settings.max_autotune:
            units = _tuned(parts, folder, graphs, example_inputs)
        for part in parts if not units else ():
            units[part.name] = start(part, folder, few=choices.may_run_eager(gm.graph))
            alone = part.name == "forward" and units["forward"].runs_ops_alone and choices.may_run_eager(gm.graph)
            if alone and not (graphs.backward is None and _are_known_views(graphs)):  # (a Program makes those in less time)
                return _eager(gm, _new_guards(gm, n_guards))
        files = {name: u.job.wait() for name, u in units.items() if u.job}
        return _package(gm, units, files, joint, _new_guards(gm, n_guards))
    finally:
        toolchain.remove_folder(folder)


def _tuned(parts: list[Part], folder: str, graphs: AotGraphs, example_inputs: Any) -> dict[str, Unit]:
    """The schedules of the parts that run fastest on the inputs of a call."""
    choice = {part.name: autotune.candidates(lambda name, p=part: start(p, folder, name), part.name) for part in parts}
    written = frozenset(i for i, _ in graphs.mutations)
    best, made = autotune.fastest(choice["forward"], example_inputs, written)
    units = {"forward": choice["forward"][best]}
    if graphs.backward is not None:
        best = 0
        if made is not None:
            flags, last = len(graphs.outputs), len(graphs.forward.graph.outputs) - graphs.saved
            outputs = {o.index: made[i] for i, o in enumerate(graphs.outputs) if isinstance(o, Fresh)}
            n_tangents = len(graphs.differentiable)
            metas = [n.meta["val"] for n in graphs.backward.graph.placeholders[last : last + n_tangents]]
            tangents = map(ones_for, metas, [outputs[o] for o in graphs.differentiable])
            best, _ = autotune.fastest(choice["backward"], (*made[flags : flags + last], *tangents))
        units["backward"] = choice["backward"][best]
    return units


def _views_alone(graphs: AotGraphs) -> bool:
    """Whether all that is asked for are the inputs and views of them."""
    return not graphs.n_fresh and not graphs.mutations and type(graphs.rng_counters) is int


def _are_known_views(graphs: AotGraphs) -> bool:
    """The same, where the views are all of known sizes. (Of a symbol that may be 1, strides are those that the op chooses then.)"""
    views = [o for o in graphs.outputs if isinstance(o, ViewOf)]
    return _views_alone(graphs) and all(type(s) is int for v in views for s in (*v.sizes, *v.strides, v.offset))


def _eager(gm: Any, guards: list[Expr]) -> Compiled:
    """The captured graph itself: its ops one after the other, recorded as eager records them."""
    return Compiled(gm, {"guards": [loading.guard_data(g) for g in guards], "eager": True}, {}, True)


def start(part: Part, folder: str, name: str = "", few: bool = False) -> Unit:
    """Lower and plan a core graph, and begin to compile its kernels into `folder`; `few`: none where it may be left to eager."""
    for inner in (a for node in part.graph.graph.nodes for a in node.args if isinstance(a, SubGraph)):
        inner.run = compile_core(inner.module)
    with fresh_table():
        return _start(part, folder, name, few and part.name == "forward")


def _start(part: Part, folder: str, name: str, few: bool) -> Unit:
    counters["lowerings"] += 1
    results, mutations, writes, rng = part.planned or (None, (), None, None)
    graph, constants = part.graph, part.constants
    loops = lower(graph, mutations)
    _log("loops", loops)
    planned = schedule(loops)
    env = graph.shape_env
    rest = (results, mutations, writes, rng, len(constants))
    try:
        functions = _on_device(planned, env)
        program = plan(planned, *rest, functions.launches if functions else None)
    except PlanError as e:  # an input would be written before all checks have passed: its new value is copied instead
        _log("fusion", e)
        planned = schedule(lower(graph))
        functions = _on_device(planned, env)
        program = plan(planned, *rest, functions.launches if functions else None)
    _log("fusion", planned)
    _log("program", program)
    kernels = [step for step in planned.steps if isinstance(step, Kernel)]
    if few and functions is None and choices.only_fills(planned.steps):
        return Unit(program, constants, "", None)
    counters["kernels"] += len(kernels)
    here = [k for k in kernels if functions is None or k.name not in functions.launches]
    if not here:
        return Unit(program, constants, "", None, functions)
    text = cpp.written(here, planned.buffers, env.hints if env is not None else {}, env.ranges if env is not None else {})
    _log("kernels", "\n".join(text.kernels))  # without the vocabulary that precedes them
    counters["compiles"] += 1
    job = toolchain.start(text.units(settings.compile_threads), folder, name or part.name)
    return Unit(program, constants, str(text), job, functions)


def _on_device(planned: Any, env: Any) -> Functions | None:
    """The kernels of a schedule that write memory of a device, being compiled for it; None if there are none."""
    away = [step for step in planned.steps if isinstance(step, Kernel) and planned.buffers[step.writes[0]].device != "cpu"]
    if not away:
        return None
    from inductor.cuda import launches

    names = {planned.buffers[k.writes[0]].device for k in away}
    if len(names) > 1:
        raise NotImplementedError(f"one graph with kernels on {' and '.join(sorted(names))}")
    written = frozenset(a for step in planned.steps for a in (step.writes if isinstance(step, Kernel) else step.outputs))
    return launches.start(planned, away, env, launches.device_of(names.pop()), written)


def _lift_constants(graph: Any) -> list[Any]:
    """Turn the tensors that a core graph refers to into its last inputs; returns them."""
    found: dict[str, Any] = {}
    for node in graph.graph.find_nodes(op="get_attr"):
        if node.target not in found:
            found[node.target] = graph.graph.placeholder(f"constant_{node.target}", val=node.meta["val"])
        node.replace_all_uses_with(found[node.target])
        graph.graph.erase_node(node)
    return [getattr(graph, name) for name in found]


def compile_op(gm: Any, example_inputs: Any) -> Compiled:
    """Compile a graph of one op into kernels alone, without gradients. Raises NotLowered where a step of it is an op."""
    n_guards = _count_guards(gm)
    graphs = aot.graphs(gm, example_inputs, decompositions())
    folder = toolchain.private_folder()
    try:
        rng = _generator(graphs, len(gm.graph.placeholders))
        results, _ = _join(graphs, rng)
        unit = start(Part("forward", graphs.forward, results, graphs.mutations, graphs.writes, rng), folder)
        steps = [s.op for s in unit.program.steps if isinstance(s, Extern | Python) and s.op != "to_device"]
        if steps:
            raise NotLowered(f"{', '.join(dict.fromkeys(steps))} is not made of loops")
        files = {"forward": unit.job.wait()} if unit.job else {}
        return _package(gm, {"forward": unit}, files, None, _new_guards(gm, n_guards))
    finally:
        toolchain.remove_folder(folder)


def compile_core(graph: Any, metas: Any = None) -> Callable[..., tuple]:
    """Compile one core graph as it stands: callable(*inputs) -> tuple. It has an entry of its own in the cache."""

    def build() -> Compiled:
        n_guards = _count_guards(graph)
        folder = toolchain.private_folder()
        try:
            unit = start(Part("graph", graph), folder)
            files = {"forward": unit.job.wait()} if unit.job else {}
            return _package(graph, {"forward": unit}, files, None, _new_guards(graph, n_guards))
        finally:
            toolchain.remove_folder(folder)

    return loading.cached(graph, "core", build)


def _devices(gm: Any) -> set[str]:
    """The devices, besides the CPU, of what a graph computes."""
    return {d for node in gm.graph.nodes if (d := device_of(node.meta.get("val"))) not in ("", "cpu")}


def _count_guards(gm: Any) -> int:
    return len(gm.shape_env.guards) if gm.shape_env is not None else 0


def _new_guards(gm: Any, before: int) -> list[Expr]:
    """The guards that were added since there were `before`."""
    return list(dict.fromkeys(g.expr for g in gm.shape_env.guards[before:])) if gm.shape_env is not None else []


# -------------------------------------------------------------------------------------- from aot's graphs to Programs
_OTHER_ITEMS = frozenset({"view_as_real", "view_as_complex", "bitcast"})  # views whose items are not those of their base


def _native_joint(graphs: AotGraphs) -> bool:
    """Whether Programs alone can do what the graphs say: else aot's runtime, in Python, is around them."""
    views = [o for o in graphs.outputs if isinstance(o, (ViewOf, OutputView))]
    if any(v.requires_grad or any(op.name in _OTHER_ITEMS for op, _ in v.chain) for v in views):  # with history, of another dtype
        return False
    if graphs.backward is None:
        return True
    if any(o >= graphs.n_fresh for o in graphs.differentiable):  # new values of inputs, with history
        return False
    joint = graphs.joint
    if joint is not None and any(joint.graph.placeholders[i].users for i, _ in graphs.mutations):
        return False  # gradients need the values from before
    returned = {o.index for o in graphs.outputs if isinstance(o, Fresh)}
    return returned >= set(graphs.differentiable)


def _join(graphs: AotGraphs, rng: tuple | None) -> tuple[list[Result], dict | None]:
    """What the forward Program returns: the user's results, then what the backward needs; how the two are joined."""
    results = [_result(o) for o in graphs.outputs]
    if graphs.backward is None:
        return results, None
    position = {o.index: i for i, o in reversed(list(enumerate(graphs.outputs))) if isinstance(o, Fresh)}
    joint = {
        "n_results": len(results),
        "results": [position[o] for o in graphs.differentiable],
        "gradients": list(graphs.grad_inputs),
        "random": False,
        "saved": _saved_names(graphs),
    }
    n_outputs = len(graphs.forward.graph.outputs)
    results += [Result("output", i) for i in range(graphs.saved, n_outputs)]
    if rng is not None and rng[0] is not None:  # so that higher derivatives draw the same numbers
        results += [Result("number", value=rng[0]), Result("number", value=rng[1])]
        joint["random"] = True
    return results, joint


def _saved_names(graphs: AotGraphs) -> list[str] | None:
    """What the forward saves, by its names in the joint graph, where other backwards may be made of it: in exact mode."""
    if graphs.backward is None or not settings.exact:
        return None
    placeholders = graphs.backward.graph.placeholders
    return [n.name for n in placeholders[: len(placeholders) - len(graphs.differentiable)]]


def _result(o: Any) -> Result:
    match o:
        case Fresh():
            return Result("output", o.index)
        case InputAlias():
            return Result("input", o.input)
        case OutputView() | ViewOf():
            kind, index = ("part", o.index) if isinstance(o, OutputView) else ("view", o.input)
            cut = "detached" if any(op.name in CUT for op, _ in o.chain) else None
            return Result(kind, index, tuple(o.sizes), tuple(o.strides), o.offset, cut)
        case Size():
            return Result("number", value=o.expr)
    return Result("constant", value=o.value)


def _generator(graphs: AotGraphs, n_inputs: int) -> tuple | None:
    """(seed, offset, counters) of a random graph."""
    if type(graphs.rng_counters) is int:
        return None
    extra = [n.meta["val"].expr for n in graphs.forward.graph.placeholders[n_inputs:]]
    return (*extra, graphs.rng_counters) if extra else (None, None, graphs.rng_counters)


def _package(gm: Any, units: dict[str, Unit], files: dict[str, str], joint: dict | None, guards: list[Expr]) -> Compiled:
    """The manifest of what was compiled, and the callable, loaded as a later process will load it."""
    numbers: dict[str, int] = {}
    for i, node in enumerate(gm.graph.nodes):
        numbers.setdefault(loading.line_of(node), i)
    manifest: dict[str, Any] = {"guards": [loading.guard_data(g) for g in guards], "training": joint}
    libraries, paths = {}, {}
    for name, unit in units.items():
        program = unit.program
        if unit.functions is not None:
            from inductor.cuda import launches

            made = unit.functions.wait()
            program = launches.settled(program, made)
            libraries.update((i.digest, i.data) for i in made.values())
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
    constants = {name: unit.constants for name, unit in units.items()}
    call = loading.load(gm, copy, paths.__getitem__, constants, compile_core, libraries.__getitem__)
    return Compiled(call, manifest, libraries, not any(constants.values()))


def _log(channel: str, value: Any) -> None:
    log = logs.get(channel)
    if log.on:
        log(value)
