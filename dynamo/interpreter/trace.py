"""One frame from its arguments to an outcome: run it symbolically, and once more up to the break if there is one."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from aten import Tensor, _native
from aten.fx.interpreter import DEFAULT_DTYPE
from dynamo import _eval_frame, breaks, on_demand, outcome, trace_rules
from dynamo.breaks import Again, Raised, Unsupported
from dynamo.bytecode.instruction import decode
from dynamo.bytecode.liveness import keep_locals, live_at
from dynamo.interpreter import branches, calls, containers, exceptions, loads, loops, withs  # noqa: F401  (opcodes)
from dynamo.interpreter.frame import MAX_DEPTH, RootFrame
from dynamo.interpreter.rules import VERSION
from dynamo.options import Options
from dynamo.output_graph import OutputGraph
from dynamo.side_effects import Emission
from dynamo.source import Closure, Local, OwnCell
from dynamo.user_break import breaks_are_errors
from dynamo.variables.base import METHOD, Variable
from dynamo.variables.exception import CALLERS_EXCEPTION, ExceptionVariable, HandledBefore
from dynamo.variables.function import CellVariable
from dynamo.variables.lazy import Lazy
from dynamo.variables.object import ObjectVariable

for _name in on_demand.others():  # every kind of value is a file that fills the type table
    on_demand.import_part(_name)

FRAMES_A_CALL = 12
listeners: list[Callable[[types.CodeType, Any], None]] = []  # told of every outcome (weft.explain)


def trace_frame(
    code: types.CodeType,
    function: types.FunctionType | None,
    args: dict[str, Any],
    globals: dict,
    builtins: dict,
    closure: tuple,
    options: Options,
    state: dict,
) -> outcome.Traced | outcome.RunEager | outcome.Skip:
    """Capture a frame that is about to run `code` with `args` (name → value of the argument prefix).

    `closure`: the cells of co_freevars. `state`: kept by the caller per code object; sizes seen are remembered there.
    Raises Unsupported only under fullgraph.
    """
    _native.deepen(FRAMES_A_CALL * MAX_DEPTH)  # a traced call is several of ours
    try:
        made = attempt(code, function, args, globals, builtins, closure, options, state)
    finally:
        _native.deepen(-FRAMES_A_CALL * MAX_DEPTH)
    for listener in listeners:
        listener(code, made)
    return made


def attempt(code, function, args, globals, builtins, closure, options, state):
    """trace_frame, before anyone is told."""
    reason = trace_rules.skip_code(code, globals) or trace_rules.passed_on(function, code)
    if reason is not None:
        return outcome.Skip(reason)
    break_step: int | None = None
    broke: Unsupported | None = None
    while True:
        output = OutputGraph(options, state, builtins)
        output.breaks_are_errors = breaks_are_errors()
        root = output.root = output.current = RootFrame(output, code, globals, function, break_step)
        root.locals = {name: Lazy(value, Local(name), output) for name, value in args.items()}
        if "continues at" in _eval_frame.record(code):
            root.handed = {id(value): value for value in args.values()}
        root.free_cells = [free_cell(output, name, cell) for name, cell in zip(code.co_freevars, closure or ())]
        handling = state.get("handling")
        if handling is not None:
            root.handling = root.entered_handling = root.locals[handling].realize(root)
        try:
            result = root.run_to_break()
            output.current = root
            if not root.broken:
                root.locals.clear()  # generators that nothing else holds are closed
            return finish(output, result, broke)
        except Again:
            continue
        except Raised as raised:
            breaks.let_go(raised)
            reason, symbols = f"it raises {raised.value.describe()}", dict(output.symbols)
            return outcome.RunEager(reason, raised.value.cls, list(output.guards), output.shape_env, symbols)
        except Unsupported as e:
            if options.fullgraph or output.breaks_are_errors:
                raise
            breaks.let_go(e)
            if e.reason in (breaks.TOO_LONG, breaks.LIFETIME, breaks.VARIABLES_SEEN):
                return outcome.Skip(str(e))
            if trace_rules.names_what_looks(code, globals, closure):
                return outcome.Skip(f"{e}\n  and it names what looks at the variables of frames")
            if e.born is not None or any(type(getattr(v, "value", None)) is types.GeneratorType for v in root.locals.values()):
                keep_locals(code)
            elif break_step is None and trace_rules.names_what_ends(code, globals, closure):
                keep_locals(code)
            if break_step is None or broke is None:
                at_once = e.reason in breaks.FROM_BIRTH and e.born is not None
                break_step, broke = e.born if at_once else root.group_step, e
            elif e.born is not None and e.born < break_step:  # something alive there is left to Python from its birth on
                break_step = e.born
            else:
                return outcome.Skip(f"{broke}\n  and there the frame cannot be left: {e}")
        finally:
            output.tracing = False
            _native.set_ambient_bits(DEFAULT_DTYPE, output.entry_ambient & DEFAULT_DTYPE)
            forget(output)


def forget(output: OutputGraph) -> None:
    """Let go of the values of the call, which would live on with the circles of what tracing made."""
    for value in (*output.inputs, *output.by_id.values()):
        if isinstance(value, ObjectVariable) or (hasattr(value, "value") and issubclass(type(value.value), Tensor)):
            value.value = None  # (issubclass: isinstance may ask the object)
    effects, root = output.side_effects, output.root
    kept: list[Any] = [output.alive, output.by_id, output.by_source, output.cells, effects.storages, effects.dirty, output.apart]
    kept += [output.mutated, output.storage_sizes, output.unrecorded, output.copied_views, output.used_leaves, output.own_leaves]
    kept += [output.world.names, output.world.members, output.world.paths.looked_into]
    for held in (*kept, root.locals, root.stack, root.free_cells):
        held.clear()
    root.result = root.function = None
    root.handed.clear()
    root.handling = root.entered_handling = CALLERS_EXCEPTION


def free_cell(output: OutputGraph, name: str, cell) -> CellVariable:
    """The cell of a free variable of the root frame."""
    try:
        content = Lazy(cell.cell_contents, Closure(name), output)
    except ValueError:
        content = None
    made = output.cells[id(cell)] = CellVariable(content, cell=cell, name=name, source=OwnCell(name))
    output.alive.append(cell)
    return made


def finish(output: OutputGraph, result, broke: Unsupported | None) -> Any:
    """Turn the state at the end (or at the break) into recipes, statements and a finished graph."""
    root = output.root
    if not (output.options.fullgraph or output.state.get("grown")) and output.side_effects.outgrows(output.guards):
        output.state["grown"] = True
        return outcome.RunEager("it fills dicts that it guards (the state of an optimizer at its first step, say)")
    if output.suspended:
        born = min(output.suspended.values())
        raise Unsupported(breaks.SUSPENDED, "a generator inside of its `try` or `with`", born)
    emit = Emission(output)
    ending: Any
    if root.broken:
        ending = break_ending(root, emit, broke)
    else:
        ending = outcome.Return(emit.value(result))
    output.side_effects.replay(emit)
    output.guard_distinct()
    output.replay_ambient(emit)
    statements, ending = emit.finish(ending)
    output.finish_graph(emit.outputs)
    recorded = any(n.op == "call_function" for n in output.graph.nodes)
    if not (recorded or root.broken or emit.outputs or output.options.keep_empty or output.answered):
        return outcome.Skip("it has no operation on tensors")
    return output.traced(recorded or bool(emit.outputs), statements, ending, broke)


def break_ending(root: RootFrame, emit: Emission, broke: Unsupported | None) -> outcome.Break:
    """The Break before the current instruction."""
    stack = handled_stack(root, emit)
    live = live_at(root.code, root.current.offset)
    cells = {*root.code.co_cellvars, *root.code.co_freevars}  # (any other variable may hold a cell as its value)
    local = {}
    for name, value in root.locals.items():
        if isinstance(value, CellVariable) and name in cells:
            if value.cell is None:
                emit.own_cell(value)
        elif name in live:
            local[name] = emit.value(value)
    return outcome.Break(root.current.offset, stack, local, broke, handling_below(root, emit))


def handled_stack(root: RootFrame, emit: Emission) -> tuple:
    """The recipes of the stack. Exceptions being handled that nothing but tracing has raised are raised for real."""
    outer = [v.value for v in root.stack if isinstance(v, HandledBefore)]
    handled = iter([*outer[1:], root.handling])
    recipes: list = []
    raised: list = []  # those handled twice (raised again, in a try of the handler) are raised but once
    loaded = loaded_method(root, emit)
    for at, v in enumerate(root.stack):
        if at in loaded:
            recipes.append(loaded[at])
            continue
        place = at - 1 if VERSION < (3, 13) else at + 1
        if 0 <= place < len(root.stack) and root.stack[place] is METHOD and (bound := bound_as_loaded(root, emit, v)) is not None:
            recipes.append(bound)
            continue
        if not isinstance(v, HandledBefore):
            recipes.append(emit.value(v))
            continue
        e = next(handled)
        if not isinstance(e, ExceptionVariable):
            raise Unsupported(breaks.NOT_REBUILT, f"the handling of {e.describe()}")
        context = None if e.context is None else emit.value(e.context)
        again = e.source is not None and not e.raised or any(v is e for v in raised)
        raised.append(e)
        own = e.trace and e.trace[-1].code is root.code
        trace, line = (e.trace[:-1], e.trace[-1].line) if own else (e.trace, None)
        recipes.append(outcome.Handled(emit.value(e), tuple(trace), line, context, again))
    return tuple(recipes)


def loaded_method(root: RootFrame, emit: Emission) -> dict[int, Any]:
    """Place in the stack → recipe, of the method of C that the breaking instruction calls and of its object, if it loaded one."""
    at = decode(root.code).callee(root.current.index)
    if at is None or METHOD not in root.stack[at : at + 2]:
        return {}
    pair = calls.as_loaded(root, root.stack[at + 1 if VERSION < (3, 13) else at])
    return {} if pair is None else {at: outcome.Const(pair[0]), at + 1: emit.value(pair[1])}


def bound_as_loaded(root: RootFrame, emit: Emission, method: Variable) -> Any:
    """The recipe of a method of C that waits for its arguments, where the class of its object is not that which has it: C would
    name that class in what it refuses if it had bound the method."""
    pair = calls.as_loaded(root, method)
    if pair is None or pair[0].__objclass__ is pair[1].python_type():
        return None
    return outcome.Call(outcome.Const(types.MethodType), (outcome.Const(pair[0]), emit.value(pair[1])))


def handling_below(root: RootFrame, emit: Emission) -> Any:
    """The recipe of what the thread handles below the frame's own except blocks; None if that is as on entry."""
    own = [v for v in root.stack if isinstance(v, HandledBefore)]
    below = own[0].value if own else root.handling
    return None if below is root.entered_handling else emit.value(below)
