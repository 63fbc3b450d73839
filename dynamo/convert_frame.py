"""One frame from start to finish: trace, compile the graph, write the code, make the entry; and when to give up.

The native side (eval_frame/) calls `compile_frame` for a frame that no entry answers.
"""

from __future__ import annotations

import sys
import types
from collections import Counter
from typing import Any

from aten import dispatch, errors, logs, overrides, settings
from aten.collection import paused_collection
from aten.fx.graph_module import for_users
from aten.open_levels import transforming

from . import _eval_frame, exc, marked_sizes, stance, trace_rules, utils
from . import config as settings_of_capture
from . import outcome as o
from .autocast import compiled_without
from .breaks import INSIDE_TRANSFORM, OVERLAP, SKIPPED_CALL, Unsupported
from .callback import callback_handler
from .caller import is_users, users_line
from .capture_config import Config, whole
from .direct import direct_result, loaded_sources, readable
from .guard_filter import filtered
from .guard_program import GuardCompiler
from .guards import DictKeysAre, Disjoint, Guard, GuardSet, Overlap, Shape, ShapeIs
from .marks import DYNAMIC
from .replaced_builtins import replaced_builtin
from .shape_program import TooComplex, compile_expr
from .source import Scope
from .variables.function_modes import captured_modes, run_unasked

FRUITLESS = 4  # captures of one code object that made no graph, before it is left to Python
ALWAYS = "always"  # in the record of a code object: function(code) -> guards of every entry
counters: Counter[str] = Counter()  # frames, graphs, breaks, recompilations, skipped: since the last reset


class Compiled:
    """The Python record of one entry: what the logs and `explain` show. `code` is None for a direct entry."""

    __slots__ = ("original", "guards", "graph", "inputs", "code", "breaks")

    def __init__(self, original: types.CodeType, guards: list[Guard], traced: o.Traced | None, code: Any):
        self.original = original
        self.guards = guards
        for guard in guards:
            guard.loosen()
        self.graph = traced.graph if traced is not None else None
        self.inputs = traced.inputs if traced is not None else []  # the Source of each placeholder
        for source in self.inputs:
            source.loosen()
        self.code = code
        self.breaks = traced.breaks if traced is not None else []


def check_failed() -> type[BaseException]:
    """What a compiled graph raises when it refuses its data before any effect."""
    return errors.GraphFailed


# ---------------------------------------------------------------------------- called by the native side
def compile_frame(code: types.CodeType, function: types.FunctionType, args: dict[str, Any], config: Config, record: dict) -> Any:
    """An Entry for this frame and all that its guards admit; None: run it eager this time; False: always.

    args: the values of the argument slots by name. record: lives with the code object.
    """
    if config.fullgraph and function not in whole:
        return None
    if fx_traced() or overrides.state.modes:  # (a graph would hide operations from a dispatch mode)
        return None
    if transforming():  # tensors are a level's there, which a graph knows nothing of
        if config.fullgraph:
            raise Unsupported(INSIDE_TRANSFORM, code.co_qualname)
        return None
    if (name := replaced_builtin()) is not None:  # (our own code calls it)
        if config.fullgraph:
            raise Unsupported(SKIPPED_CALL, f"builtins.{name} is not Python's own")
        return None
    counters["frames"] += 1
    utils.counters["frames"]["total"] += 1
    scope = Scope.of_function(function, args)
    tell_recompilation(code, config, scope)
    if not (callback_handler.start_callbacks or callback_handler.end_callbacks):
        return compile_traced(code, function, args, config, record, scope)
    with callback_handler.install_callbacks():
        return compile_traced(code, function, args, config, record, scope)


errors.hearers[compile_frame.__code__] = lambda *warning: True  # of what is captured, which tells them itself


def fx_traced() -> bool:
    """Whether weft.fx.symbolic_trace runs the call: a compiled function has nothing to show it."""
    tracing = sys.modules.get("aten.fx.tracing")
    if tracing is None or not any(isinstance(mode, tracing.Tracer) for mode in dispatch.stack.modes):
        return False
    if settings_of_capture.error_on_nested_fx_trace:
        raise RuntimeError(
            "Detected that you are using FX to symbolically trace a dynamo-optimized function. Trace the function itself; "
            "weft._dynamo.config.error_on_nested_fx_trace = False leaves it to Python"
        )
    return True


def compile_traced(
    code: types.CodeType,
    function: types.FunctionType,
    args: dict[str, Any],
    config: Config,
    record: dict,
    scope: Scope,
    again: bool = False,
) -> Any:
    """What compile_frame answers, and what becomes of errors."""
    known = len(sys.modules)
    try:
        with paused_collection(), captured_modes():
            traced = trace(code, function, args, config, record, scope)
            if isinstance(traced, o.RunEager):
                return run_eager(code, traced, config, record)
            if isinstance(traced, o.Skip):
                return leave_to_python(code, scope, traced.reason)
            if traced.graph is None and fruitless(record):
                return leave_to_python(code, scope, f"{FRUITLESS} captures found no operation on tensors")
            try:
                entry = make_entry(code, traced, config, scope, record)
            finally:
                traced.held.clear()  # (whoever listens to captures keeps them)
        if again or len(sys.modules) == known or all(g.holds(scope) for g in traced.guards if g.kind is DictKeysAre):
            return entry
        # Compiling loaded modules, and the program looks through `sys.modules`. (The second time finds them there.)
        return compile_traced(code, function, args, config, record, scope, again=True)
    except (Unsupported, exc.Forbidden, exc.BrokenProtocol, errors.ConstraintViolationError):  # Unsupported only under fullgraph
        raise
    except exc.BackendCompilerFailed as e:
        if not settings_of_capture.suppress_errors:
            raise
        errors.warn_once(f"{e}. {_name(code)} runs without it")
        _eval_frame.skip(code, True)
        return None
    except Exception as e:
        if config.fullgraph and not settings.strict:
            raise exc.Mistraced(f"{type(e).__name__}: {e}") from e
        errors.internal(f"compiling {_name(code)}", e)
        _eval_frame.skip(code, True)  # what it calls would most likely fail in the same way, and say so once more
        return None


def fruitless(record: dict) -> bool:
    """Note a capture of this code that made no graph: whether that is enough of them."""
    record["fruitless"] = record.get("fruitless", 0) + 1
    return record["fruitless"] > FRUITLESS


def run_eager(code: types.CodeType, traced: o.RunEager, config: Config, record: dict) -> Any:
    """Leave this call to Python. The first calls of this kind are traced each; then an entry runs the original code for
    those that pass the same guards, so that an exception that is raised in each call costs no more than its guards.
    """
    logs.get("breaks")(f"{_name(code)} runs eager this time: {traced.reason}")
    if fruitless(record):
        return False
    if traced.raises is None or record["fruitless"] == 1:
        return traced.raises
    return eager_entry(code, config, GuardSet([*traced.guards, *shape_guards(traced), *guards_of_all(code)]))


def guards_of_all(code: types.CodeType) -> list[Guard]:
    """The guards that each entry of a code object has."""
    always = _eval_frame.record(code).get(ALWAYS)
    return [] if always is None else always(code)


def did_not_raise(code: types.CodeType, expected: type[BaseException], config: Config) -> None:
    """A frame that was certain to raise has returned: tracing went wrong, and would again."""
    wrong = f"the call returned, and tracing found that it raises {expected.__name__}"
    if config.fullgraph:
        raise exc.Mistraced(wrong)
    _eval_frame.skip(code)
    errors.internal(f"compiling {_name(code)}", RuntimeError(wrong))


def eager_entry(code: types.CodeType, config: Config, guards: GuardSet) -> Any:
    """An entry that runs the original code."""
    compiler = GuardCompiler(code, guards)
    program = compiler.compile()
    return _eval_frame.Entry(config, program, eager=True, info=Compiled(code, compiler.guards, None, None))


def leave_to_python(code: types.CodeType, scope: Scope, reason: str) -> bool | None:
    """Never capture `code` again. What libraries, and callbacks of the collector, call is not captured either: they run without the
    hook."""
    top = str(scope.globals.get("__name__")).partition(".")[0]
    alone = top == "aten" or trace_rules.left_to_python(top)  # (weft's Modules call the user's code)
    if alone or trace_rules.is_called_by_collector(code):
        _eval_frame.skip(code, True)
        return None
    counters["skipped"] += 1
    logs.get("breaks")(f"{_name(code)} is left to Python: {reason}")
    return False


def forced_config(config: Config) -> Config:
    """The config of calls while a stance forces a backend."""
    return stance.forced_config(config)


def limit_reached(code: types.CodeType, limit: int, config: Config) -> None:
    """Said once a code object: calls that no entry answers run eager from now on, with all that they call.

    Raises FailOnRecompileLimitHit where they may not.
    """
    if config.fullgraph or settings_of_capture.fail_on_recompile_limit_hit:
        why = "the function is compiled with fullgraph" if config.fullgraph else "fail_on_recompile_limit_hit is set"
        raise exc.FailOnRecompileLimitHit(f"{_name(code)} was compiled {limit} times, its limit, and {why}")
    counters["limits"] += 1
    text = f"{_name(code)} was compiled {limit} times, its limit; other calls run eager. "
    if not is_users(code, ""):  # a library's: its name says nothing to the user
        text += (
            f"It was called by {users_line()}. weft.compiler.disable(f) around the call leaves it to Python, and so does "
            "weft._dynamo.config.libraries.add(package) for all of its package. "
        )
    errors.warn_once(text + "WEFT_LOGS=recompiles says why it was compiled again")


def guards_inconsistent(code: types.CodeType, function: types.FunctionType, args: dict[str, Any], entry: Any) -> None:
    """The guards of a new entry reject the very call that it was made for: they contradict one another, or something
    that they refer to died while the frame was compiled (then there is no entry). It would happen at each call."""
    _eval_frame.skip(code, False)
    reason = "what it refers to is gone"
    if entry is not None and isinstance(entry.info, Compiled):
        scope = Scope.of_function(function, args)
        failed = entry.guards.failed
        guards = [*entry.info.guards[failed : failed + 1], *entry.info.guards] if failed >= 0 else entry.info.guards
        reason = next((f"{g}: {g.why_failed(scope)}" for g in guards if not g.holds(scope)), "")
        reason = reason or (f"{guards[0]} natively, though it holds" if failed >= 0 else "no guard")
    errors.internal(f"guarding {_name(code)}", RuntimeError(f"a guard fails for the call it was made for: {reason}"))


def rerun_returned(code: types.CodeType, refusal: BaseException) -> None:
    """A graph refused its data, and the eager code then raised nothing."""
    if isinstance(refusal, errors.PromiseBroken):
        return
    entries = [e for e in _eval_frame.entries(code) if isinstance(e.info, Compiled) and e.info.graph is not None]
    if any("caught" in entry.info.graph.meta for entry in entries):  # (it raised, and the program handled that)
        return
    refused = RuntimeError("the compiled graph refused data that the eager code accepts")
    errors.internal(f"running {_name(code)}", refused)


# --------------------------------------------------------------------------------------------- steps
def trace(code, function, args: dict, config: Config, record: dict, scope: Scope) -> Any:
    from .interpreter import Options, trace_frame

    # The first way through the rest of a frame may have nothing to capture, and the next one may.
    rest = "continues at" in record
    dynamic = config.dynamic
    if dynamic is None and not settings_of_capture.assume_static_by_default:
        dynamic = True
    options = Options(fullgraph=config.fullgraph, dynamic=dynamic, keep_empty=rest)
    state = record.setdefault("trace", {})
    closure = function.__closure__ or ()
    return trace_frame(code, function, args, scope.globals, scope.builtins, closure, options, state)


def make_entry(code: types.CodeType, traced: o.Traced, config: Config, scope: Scope, record: dict) -> Any:
    """Compile the graph, guard, and write the code (or the direct call) for one Traced."""
    guards = GuardSet(traced.guards)
    aliasing = disjoint_guard(traced)
    if aliasing is not None:
        if not aliasing.holds(scope):
            overlap = Overlap(aliasing.source, aliasing.written)
            if config.fullgraph:
                raise Unsupported(OVERLAP, aliasing.why_failed(scope))
            logs.get("breaks")(f"{_name(code)} runs eager: {aliasing.why_failed(scope)}")
            guards.update([overlap, *shape_guards(traced)])
            return eager_entry(code, config, guards)
        guards.add(aliasing)
    compiled = None
    if traced.graph is not None:
        record.pop("fruitless", None)
        counters["graphs"] += 1
        if (log := logs.get("graph")).on:
            log(f"{_name(code)}\n{traced.graph.graph}")
        compiled = run_unasked(compiled_without(lambda: call_backend(config.backend, traced)))
    if any(hasattr(value, DYNAMIC) for value in traced.example_inputs):
        marked_sizes.check(traced)
    guards.update(shape_guards(traced))
    guards.update(guards_of_all(code))
    if (keeps := config.options.get("guard_filter_fn")) is not None:
        guards = filtered(guards, keeps, scope)
    traced.shape_env.user_line = None  # the graph stays; tracing, and the values of this call, go
    counters["breaks"] += len(traced.breaks)
    for reason in traced.breaks:
        reason.with_traceback(None)  # it would keep the frames of tracing, and with them the call's values, alive
        reason.__context__ = reason.__cause__ = None
        logs.get("breaks")(f"graph break in {_name(code)}: {reason}")
        utils.counters["graph_break"][str(reason)] += 1
    utils.counters["frames"]["ok"] += 1
    entry = direct_entry(code, traced, config, guards, compiled) or code_entry(code, traced, config, guards, compiled, scope)
    if logs.get("guards").on:
        logs.get("guards")(f"{_name(code)}\n" + "\n".join(f"  {g}" for g in guards))
    return entry


def call_backend(backend: Any, traced: o.Traced) -> Any:
    """The graph compiled. What a backend of the user's raises is an error of the call; our own may fail."""
    graph: Any = traced.graph
    counted = utils.counters["stats"]
    counted["unique_graphs"] += 1
    for node in graph.graph.nodes:
        meta = node.meta
        if "val" in meta:
            meta["example_value"] = meta["val"]  # where backends look that were written for PyTorch
        if node.op.startswith("call"):
            counted["calls_captured"] += 1
        if "caught" in meta:
            graph.meta["caught"] = True
    ours = trace_rules.is_ours(backend)
    try:
        given = graph if ours else for_users(graph.__dict__["_root"], graph.graph)
        given.meta["warnings_told"] = True
        compiled = backend(given, traced.example_inputs)
        if not callable(compiled):
            raise TypeError(f"the backend returned {type(compiled).__name__}, not a callable")
    except Exception as e:
        if ours and not isinstance(e, exc.TorchDynamoException):
            raise
        users = getattr(backend, "func", backend)  # with options it is a partial
        if isinstance(e, exc.BackendCompilerFailed):  # one of the compilers that the backend is made of
            if ours:
                raise
            e = e.inner_exception
        raise exc.BackendCompilerFailed(users, e) from e
    if "caught" in graph.meta or traced.statements or traced.mutates:
        from .caught import told_to_python

        repeats = "caught" in graph.meta or bool(traced.statements)
        return told_to_python(graph, compiled, traced.mutates if repeats else ())
    return compiled



def direct_entry(code, traced: o.Traced, config: Config, guards: GuardSet, compiled) -> Any:
    """An entry that calls the graph and returns, with no bytecode; None when the frame does more."""
    if traced.statements or not isinstance(traced.ending, o.Return):
        return None
    recipe = traced.ending.value
    if direct_result(recipe) is None:
        return None
    sources = [*traced.inputs, *loaded_sources(recipe)]
    if not all(map(readable, sources)):
        return None
    compiler = GuardCompiler(code, guards, sources)
    program = compiler.compile()
    return _eval_frame.Entry(
        config, program, graph=compiled, inputs=tuple(map(compiler.register, traced.inputs)),
        result=direct_result(recipe, compiler.register),
        info=Compiled(code, compiler.guards, traced, None),
    )  # fmt: skip


def code_entry(code, traced: o.Traced, config: Config, guards: GuardSet, compiled, scope: Scope) -> Any:
    """An entry with new code. False when the frame cannot be continued behind its break."""
    from .codegen import FrameWriter
    from .loaded import loaded_from_outside
    from .resume import Unresumable

    breaks = isinstance(traced.ending, o.Break)
    called = _eval_frame.Uncaptured(compiled) if breaks and compiled is not None else compiled
    try:
        new = FrameWriter(code, traced, called, check_failed() if compiled is not None else None).write()
    except Unresumable as e:
        counters["skipped"] += 1
        logs.get("breaks")(f"{_name(code)} is left to Python: {e}")
        return False
    compiler = GuardCompiler(code, guards, loaded_from_outside(traced, scope))
    program = compiler.compile()
    info = Compiled(code, compiler.guards, traced, new)
    return _eval_frame.Entry(config, program, code=new, info=info, opens_window=breaks)


# -------------------------------------------------------------------------------------------- guards
def disjoint_guard(traced: o.Traced) -> Guard | None:
    """What the graph writes overlaps no other input."""
    if not traced.mutates or traced.graph is None:
        return None
    written = [s for i, s in enumerate(traced.inputs) if i in traced.mutates]
    tensors = [hasattr(v, "stride") for v in traced.example_inputs]
    others = [s for i, s in enumerate(traced.inputs) if i not in traced.mutates and tensors[i]]
    if len(written) + len(others) < 2:
        return None
    return Disjoint((*written, *others), len(written))


def shape_guards(traced: o.Traced | o.RunEager) -> list[Guard]:
    """The conditions on sizes that tracing and the backend relied on, and the ranges promised for symbols."""
    symbols = traced.symbols
    found = []
    for guard in traced.shape_env.guards:
        for condition in _native_conditions(guard.expr, traced.shape_env.hints):
            where = {name: symbols[name] for name in condition.free_symbols}
            found.append(ShapeIs(None, Shape(condition, where), line=guard.user_line))
    for name, source in symbols.items():
        low, high = traced.shape_env.ranges[name]
        condition = _in_range(name, low, high)
        if condition is not None:
            found.append(ShapeIs(None, Shape(condition, {name: source})))
    return found


def _native_conditions(condition: Any, hints: dict[str, Any]) -> list[Any]:
    """The condition, which holds for the hints; where native code cannot express it (a number beyond 64 bits), that its symbols
    are what they are."""
    from aten.symbolic import expr

    try:
        compile_expr(condition, lambda name, kind: ("INT", 0))
        return [condition]
    except TooComplex:
        return [expr.eq(e, expr.const(hints[e.value])) for e in expr.walk(condition) if e.op == "sym"]


def _in_range(name: str, low, high) -> Any:
    """low <= name <= high as an Expr, without bounds that every size is within; None if nothing is left."""
    from aten.symbolic import expr

    symbol, conditions = expr.sym(name), []
    if 0 < low < 2**62:
        conditions.append(expr.le(low, symbol))
    if high < 2**62:
        conditions.append(expr.le(symbol, high))
    return expr.and_(*conditions) if len(conditions) == 2 else conditions[0] if conditions else None


def why_recompiled(code: types.CodeType, config: Config, scope: Scope) -> list[str]:
    """For each entry of `code` made for `config` the sentence of the guard that rejects a call with this scope."""
    reasons = []
    for entry in _eval_frame.entries(code):
        if entry.config is config and isinstance(entry.info, Compiled):
            failed = next((g for g in entry.info.guards if not g.holds(scope)), None)
            reasons.append(failed.why_failed(scope) if failed is not None else "another entry was meant")
    return reasons


def tell_recompilation(code: types.CodeType, config: Config, scope: Scope) -> None:
    log = logs.get("recompiles")
    entries = [e for e in _eval_frame.entries(code) if e.config is config]
    if entries:
        counters["recompilations"] += 1
        if settings_of_capture.error_on_recompile:
            raise exc.RecompileError(f"Recompiling {_name(code)}: " + "; ".join(why_recompiled(code, config, scope)))
        if stance.current.skip_guard_eval_unsafe:
            raise RuntimeError(
                "Recompilation triggered with skip_guard_eval_unsafe stance: under it every kind of call has to have been compiled"
            )
    if stance.current.name == "fail_on_recompile" and trace_rules.skip_code(code, scope.globals) is None:
        raise RuntimeError("Detected recompile when torch.compile stance is 'fail_on_recompile'")
    if log.on and entries:
        reasons = why_recompiled(code, config, scope)
        log("\n  ".join([f"{_name(code)} is compiled again, for the {len(entries) + 1}. time:", *reasons]))


def _name(code: types.CodeType) -> str:
    line = _eval_frame.record(code).get("continues at")
    rest = f", resumed at line {line}" if line is not None else ""
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno}{rest})"
