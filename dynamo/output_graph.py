"""The graph being built while a frame is traced, with its inputs, guards, symbols and side effects."""

from __future__ import annotations

import _operator as operator
import linecache
from typing import Any

from aten import _native, autocast, default_device
from aten.fx.experimental import _config
from aten.fx.graph_module import GraphModule
from aten.fx.interpreter import DEFAULT_DTYPE
from aten.fx.node import UserLine
from aten.fx.symbols import binders, binders_within, free_symbols
from aten.fx.targets import item, set_default_dtype, set_grad_enabled
from aten.open_levels import stack
from aten.promotion import FINITE
from aten.symbolic import nodes
from aten.symbolic.ranges import bounds
from aten.symbolic.shape_env import ShapeEnv
from aten.symbolic.symint import SYMBOLIC
from dynamo import breaks, config, guards, outcome, promises, trace_rules
from dynamo.breaks import Unsupported
from dynamo.guards import GuardSet
from dynamo.recording import is_plain, record
from dynamo.region import Region
from dynamo.side_effects import SideEffects
from dynamo.source import Attr, InstanceDict, Item, Local, Object, Size, Source, Stride, cell_of, contents, is_fixed
from dynamo.variables.base import Variable
from dynamo.variables.function import CellVariable
from dynamo.variables.lazy import Lazy
from dynamo.variables.module import module_class
from dynamo.variables.overriding import asked
from dynamo.variables.symint import SymbolicVariable
from dynamo.world import World

MAX_STEPS = 400_000  # of the traced program
# What a number may be as a symbol: ints leave room for a sum in 64 bits; floats are finite in float32 too, which ops ask of
# a number that they are given for such a tensor. Others are constants.
NUMBERS: dict[str, tuple] = {"int": (-(2**62), 2**62 - 1), "float": (-FINITE["float32"], FINITE["float32"])}


class OutputGraph:
    """One capture in progress. `current` is the innermost traced frame, `root` the outermost."""

    def __init__(self, options, state: dict, builtins: dict):
        self.options = options
        self.state = state
        self.builtins = builtins
        self.shape_env = ShapeEnv(user_line=self.user_line)
        self.graph = self.frame_graph = Region(None, self.shape_env)  # the innermost one, and that of the frame
        self.guards = GuardSet()
        self.side_effects = SideEffects()
        self.by_source: dict[Source, Variable] = {}
        self.by_id: dict[int, Variable] = {}
        self.alive: list[Any] = []  # keeps ids of by_id from being reused
        self.cells: dict[int, CellVariable] = {}
        self.apart: dict[Any, dict[Variable, None]] = {}  # dict or set → objects not found in it
        self.inputs: list[GraphInput] = []
        self.symbols: dict[str, Source] = {}  # where each symbol is read
        self.sizes: dict[int, Any] = {}  # with dynamic=True the symbol of each size
        self.lines: dict[tuple[int, int], tuple[Any, UserLine]] = {}  # by code (kept, for its id) and number
        self.steps = 0
        self.suspended: dict[Any, int] = {}  # frames of generators that stand inside of a `try` or `with` → their birth
        self.tracing = True
        self.breaks_are_errors = False
        self.answered = False  # whether the program asked if it is compiled: then it is, even if it has no op
        self.recorded = False  # whether an op was recorded, even one that nothing uses: dtypes depend on the ambient state
        self.modes: list[Variable] | None = None  # the open TorchFunctionModes, once somebody asked
        self.mode_changes: list[Any] = []  # how they were opened and closed, replayed behind the graph
        self.overriding_off = 0  # within how many blocks no `__torch_function__` is asked
        self.root: Any = None
        self.module_calls: dict[str, int] = {}  # how often a module at a path was called so far (where it is exported)
        self.current: Any = None
        self.world = World(self)
        self.mutated: set[Variable] = set()  # inputs that the graph writes
        self.storage_sizes: dict[Variable, Variable] = {}  # bytes of the storages that the graph resizes, by their tensors
        self.used_up: set[Any] = set()  # nodes whose history was walked in the graph, and freed
        self.used_leaves: list[Any] = []  # the tensors from outside where that led
        self.own_leaves: list[Any] = []  # tensors that the graph made to require gradients
        self.heard: Any = None  # the last warning of a shape rule: behind how many nodes, and its text
        self.has_inference = False  # whether a node was recorded under inference_mode
        self.unrecorded: dict[Variable, int] = {}  # views of what requires grad, made without history, and at which step
        self.copied_views: dict[Variable, int] = {}  # tensors of which the graph has copies for views, and since which step
        self.entry_ambient = self.ambient = _native.ambient() | stack.unasked_device
        self.entry_dtype = _native.get_default_dtype()
        self.graph_ambient = self.ambient  # as `graph` was entered

    # ------------------------------------------------------------------------------------------ frames
    def run_inlined(self, child) -> Variable:
        """Run an inlined call's frame."""
        outer, self.current = self.current, child
        try:
            return child.run()
        finally:
            self.current = outer

    def user_line(self) -> UserLine | None:
        """The innermost line of the user's own code."""
        frame = self.current
        while frame is not None and frame.parent is not None and _is_own(frame.globals):
            frame = frame.parent
        if frame is None:
            return None
        code, line = frame.code, frame.current.line
        known = self.lines.get((id(code), line))
        if known is None:
            text = linecache.getline(code.co_filename, line).strip()
            known = self.lines[id(code), line] = code, UserLine(code.co_filename, line, code.co_qualname, text)
        return known[1]

    def cell(self, cell, function_source: Source | None, index: int) -> CellVariable:
        """The Variable of a real closure cell: `index` in the closure of the function at `function_source`."""
        return self.cell_at(cell, cell_of(function_source, index) if function_source else Object(cell))

    def cell_at(self, cell, source: Source) -> CellVariable:
        """The Variable of a real cell. One cell has one, by whatever way it is reached."""
        known = self.cells.get(id(cell))
        if known is None:
            try:
                content = Lazy(cell.cell_contents, contents(source), self)
            except ValueError:
                content = None
            known = self.cells[id(cell)] = CellVariable(content, cell=cell, source=source)
            self.alive.append(cell)
        elif known.source != source and not (is_fixed(known.source) and is_fixed(source)):
            self.guard(guards.SameObject(source, known.source))
        return known

    def kept(self, value: Any) -> Any:
        """An object made while tracing that lives on with the code object: entries hold nothing that dies."""
        self.state.setdefault("kept", []).append(value)
        return value

    def took(self, steps: int) -> None:
        """Count steps of the traced program: a loop that takes too many is left to Python."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise Unsupported(breaks.TOO_LONG)

    # ------------------------------------------------------------------------------------------ guards
    def guard(self, guard: guards.Guard) -> None:
        if not (isinstance(guard.source, Object) and guard.kind in (guards.TypeIs, guards.IdIs)):  # it is that object
            self.guards.add(guard)

    def guard_type(self, source: Source, cls: type) -> None:
        self.guard(guards.TypeIs(source, cls))

    def guard_same(self, source: Source, value: Any) -> None:
        self.guard(guards.IdIs(source, value))

    def guard_constant(self, source: Source | None, value: Any) -> None:
        if source is not None:
            self.guard(guards.Equals(source, value))

    def guard_lacks_attribute(self, source: Source, name: str) -> None:
        self.guard(guards.LacksAttr(source, name))

    def guard_lacks_instance_attribute(self, source: Source, name: str) -> None:
        """The class gives the attribute, and the instance's own dictionary must not come to hide it."""
        self.guard(guards.LacksInstanceAttr(source, name))

    def guard_instance_keys(self, source: Source, names: tuple) -> None:
        self.guard(guards.DictKeysAre(InstanceDict(source), names))

    def told_apart(self, container: Any, key: Variable) -> None:
        """An object was not found among the keys of a dict or set."""
        self.apart.setdefault(container, {})[key] = None

    def guard_distinct(self) -> None:
        """What was changed is none of the other objects that were looked at: the same object would show the change."""
        kinds = {type(getattr(v, "owner", v)) for v in self.side_effects.dirty if v.source is not None}
        for kind in kinds:
            looked_at = self.cells if kind is CellVariable else self.by_id
            sources = {v.source: None for v in looked_at.values() if type(v) is kind and v.source is not None}
            if len(sources) > 1 and not all(map(is_fixed, sources)):
                self.guard(guards.Distinct(tuple(sources)))
        self.guards.update(self.world.paths.distinct())
        for container, keys in self.apart.items():
            sources = {v.source: None for v in (*container.objects(), *keys) if v.source is not None}
            if len(sources) > 1 and not all(isinstance(s, Object) for s in sources):
                self.guard(guards.Distinct(tuple(sources)))

    # -------------------------------------------------------------------------------------- recording
    def record(self, frame, op, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """Record a call of an op; returns its result."""
        plain = is_plain(args) and (not kwargs or is_plain(kwargs.values()))
        if not plain or self.modes is None or self.modes:
            answer = asked(frame, op, args, kwargs)
            if answer is not None:
                return answer
        self.recorded = True
        if op.autocast and self.ambient & autocast.ON:
            from dynamo.autocast import cast

            args, kwargs, after = cast(self, frame, op, args, dict(kwargs))
            return after(record(self, frame, op, args, dict(kwargs)))
        return record(self, frame, op, args, dict(kwargs), plain)

    @property
    def grad_enabled(self) -> bool:
        return bool(self.ambient & 1)

    def grad_changed(self) -> bool:
        """Whether gradients are recorded here although not at the start of the graph, or the reverse."""
        return bool((self.ambient ^ self.graph_ambient) & 1)

    def note_modes(self, node: Any) -> None:
        """Have a node run in the modes of the traced program, where they are others than those of the graph's start. It knows the
        step of the root frame that recorded it."""
        node.meta["step"] = self.root.group_step
        if self.ambient & guards.INFERENCE:
            node.meta["inference"] = self.has_inference = True
        if self.ambient != self.graph_ambient:
            if self.grad_changed():
                node.meta["grad"] = self.grad_enabled
            if (self.ambient ^ self.graph_ambient) & DEFAULT_DTYPE:
                node.meta["default_dtype"] = _native.get_default_dtype()

    def set_ambient_bits(self, mask: int, value: int) -> int:
        """What _native.set_ambient_bits does, to the state while tracing. (Shape rules ask for the default dtype itself.)"""
        before = self.ambient & mask
        self.ambient = (self.ambient & ~mask) | value
        _native.set_ambient_bits(mask & DEFAULT_DTYPE, value & DEFAULT_DTYPE)
        return before

    @property
    def default_device(self) -> Any:
        """The device of tensors made here for which none is named; None where nobody has said."""
        return default_device.of_word(self.ambient)

    def replay_ambient(self, emit) -> None:
        """Leave the thread's state as the traced program leaves it."""
        changed = self.ambient ^ self.entry_ambient
        if changed & DEFAULT_DTYPE:  # that of threads to come, too
            dtype = outcome.Const(_native.get_default_dtype())
            emit.after(outcome.Do(outcome.Call(outcome.Const(_native.set_default_dtype), (dtype,))))
            changed &= ~DEFAULT_DTYPE
        if changed:
            args = (outcome.Const(changed), outcome.Const(self.ambient & changed))
            emit.after(outcome.Do(outcome.Call(outcome.Const(_native.set_ambient_bits), args)))

    # ------------------------------------------------------------------------------------------ inputs
    def add_input(self, source: Source, value: Any, val: Any, name: str | None = None):
        """A new placeholder. Returns its node."""
        self.frame_graph.line = None
        node = self.frame_graph.placeholder(name or input_name(source), val=val)
        self.inputs.append(GraphInput(node, source, value))
        return node

    def new_symbol(self, source: Source, hint, lo=0, hi=None, kind: str = "int"):
        """A symbol read at `source`."""
        name = f"{'s' if kind == 'int' else 'z'}{len(self.symbols)}"
        self.symbols[name] = source
        return self.shape_env.symbol(name, hint, lo, hi, kind)

    def size_symbol(self, source: Source, hint: int):
        """A symbol of a size of which the user says nothing but that it changes: with dynamic=True equal sizes are one symbol, and
        the guards say so. (That is how PyTorch counts compilations; a size of 1 is equal to others by chance.) It is guarded not to
        be 0."""
        duck = self.options.dynamic is True and not self.options.export and hint > 1 and _config.use_duck_shape
        known = self.sizes.get(hint) if duck else None
        if known is None:
            least = 0 if self.options.export else min(hint, 1)
            made = self.new_symbol(source, hint, lo=least)
            if least:
                self.guard(guards.ShapeIs(None, guards.Shape(nodes.ge(made.expr, 1), {made.expr.name: source})))
            if duck:
                self.sizes[hint] = made
            return made
        first, here = known.expr.name, f"t{len(self.symbols)}"
        condition = nodes.eq(nodes.sym(here), known.expr)
        self.guard(guards.ShapeIs(None, guards.Shape(condition, {first: self.symbols[first], here: source})))
        return known

    def symbolic_number(self, source: Source | None, value) -> Variable | None:
        """A Python number that was seen to change becomes a symbol; None if it stays a constant."""
        if source is None or isinstance(source.root, Object) or not self.is_dynamic_number(source, value):
            return None
        kind = "int" if isinstance(value, int) else "float"
        lo, hi = NUMBERS[kind]
        if not lo <= value <= hi:
            return None
        self.guard(guards.TypeIs(source, type(value)))
        if kind == "int" and value >= 0:  # a number that was not negative is taken to stay so, which sizes made of it rely on
            lo = 0
        symbol = self.new_symbol(source, value, lo=lo, hi=hi if kind == "int" else None, kind=kind)
        number = nodes.sym(symbol.expr.name, kind)
        condition = nodes.and_(nodes.ge(number, lo), nodes.le(number, hi))
        self.guard(guards.ShapeIs(None, guards.Shape(condition, {symbol.expr.name: source})))
        self.add_input(source, value, symbol)
        return SymbolicVariable(symbol, source)

    def keep_exact(self, value) -> None:
        """Guard what a graph computes of numbers, and cannot be known to stay so, to stay within the 64 bits it has (sizes do:
        they are those of tensors)."""
        left = [value.expr]
        while left:
            e = left.pop()
            left += e.args
            if e.op not in ("add", "mul", "pow") or e.kind != "int" or not self.numbers_in(e):
                continue
            lo, hi = bounds(e, self.shape_env.ranges)
            if not (NUMBERS["int"][0] * 2 <= lo and hi < 2**63):
                self.shape_env.assume(nodes.and_(nodes.ge(e, NUMBERS["int"][0]), nodes.le(e, NUMBERS["int"][1])))

    def numbers_in(self, e) -> bool:
        """Whether an expression depends on a number that is no size."""
        return any(name in self.symbols and not isinstance(self.symbols[name], (Size, Stride)) for name in e.free_symbols)

    def is_dynamic_number(self, source: Source, value) -> bool:
        """Whether a number changed between captures (or dynamic=True asks for symbols at once)."""
        seen = self.state.setdefault("numbers", {})
        first = seen.setdefault((str(source), type(value)), value)
        if config.specialize_float if isinstance(value, float) else config.specialize_int:
            return False
        if self.options.dynamic is False or not config.automatic_dynamic_shapes:
            return False
        if isinstance(value, int) and self.is_setting(source):
            return False
        if isinstance(value, float) and value != value:
            return False
        if self.options.dynamic is True and value not in (0, 1) and not self.options.export and not of_object(source):
            return True  # 0 and 1 are mostly flags, and attributes (of layers, mostly) settings
        return first != value or str(source) in self.state.get("tensors", ())  # (where a tensor was, it changes too)

    def is_setting(self, source: Source) -> bool:
        """Whether a number is in a tuple of a Module: strides, paddings … mean other code for each value. (An attribute may be a
        counter.)"""
        module = module_class()
        at: Any = source
        while at is not None and isinstance(source, Item) and type(source.key) is int and module is not None:
            known = self.by_source.get(at)
            if known is not None and issubclass(known.python_type(), module):
                return True
            at = getattr(at, "base", None)
        return False

    def finish_graph(self, outputs: list) -> None:
        """End the graph, drop items that nothing reads, and drop unused inputs that bind no symbol in use.

        Operations without a use stay, as in PyTorch: that a frame has some says whether it is compiled. Backends drop them.
        """
        self.graph.line = None
        self.graph.output(tuple(outputs))
        symbols: tuple[set[str], dict] | None = None
        shown = False
        for node in reversed(self.graph.nodes):
            shown = shown or "grad" in node.meta or "default_dtype" in node.meta
            if node.users or node.op != "call_function" or not is_read(node):
                continue
            if symbols is None:
                symbols = free_symbols(self.graph), binders_within(self.graph)
            used, binds = symbols
            if not any([name in used for name, _ in binds.get(node, ())]):
                self.graph.erase_node(node)
        self.drop_inputs()
        promises.settle(self.graph, self.mutated)
        if shown or (self.entry_ambient ^ self.ambient) & (1 | DEFAULT_DTYPE):
            self.show_modes("grad", set_grad_enabled, bool(self.entry_ambient & 1), bool(self.ambient & 1))
            self.show_modes("default_dtype", set_default_dtype, self.entry_dtype, _native.get_default_dtype())

    def show_modes(self, name: str, shown_by: Any, at_start: Any, at_end: Any) -> None:
        """Nodes where a mode changes, for those who read the graph: what runs it goes by the nodes' own modes."""
        before: Any = None
        for node in list(self.graph.nodes):
            mode = node.meta.get(name)
            if node.op == "output" and at_end is not at_start:
                mode = at_end
            if node.op not in ("call_function", "output") or node.target is operator.getitem:  # it takes part of a result
                continue
            if mode is not before:
                with self.graph.inserting_before(node):
                    self.graph.call_function(shown_by, (at_start if mode is None else mode,))
                before = mode

    def traced(self, has_graph: bool, statements: list, ending: Any, broke: Any) -> outcome.Traced:
        """The outcome; the graph is left out when nothing was recorded."""
        module = GraphModule(self.frame_graph.modules, self.graph, self.shape_env) if has_graph else None
        inputs = self.inputs if has_graph else []
        if has_graph or self.recorded:
            self.guard(guards.AmbientIs(None, self.entry_ambient, 2**64 - 1))
        written = frozenset(n for n, i in enumerate(inputs) if any(v.source == i.source for v in self.mutated))
        return outcome.Traced(
            graph=module,
            inputs=[i.source for i in inputs],
            example_inputs=[i.value for i in inputs],
            guards=list(self.guards),
            shape_env=self.shape_env,
            statements=statements,
            ending=ending,
            symbols=dict(self.symbols),
            mutates=written,
            breaks=[broke] if broke is not None else [],
            held=list(self.alive),
        )

    def needed_symbols(self) -> set[str]:
        """The symbols of what the graph computes, and those that they are known to equal: whoever simplifies a size may
        come upon them."""
        if not self.symbols:
            return set()
        used = free_symbols(self.graph)
        for node in self.graph.nodes:
            if node.op == "placeholder" and not node.users:
                continue
            val = node.meta.get("val")
            for meta in val if isinstance(val, (tuple, list)) else (val,):
                for size in (*getattr(meta, "sizes", ()), *getattr(meta, "strides", ())):
                    if type(size) in SYMBOLIC:
                        used |= size.expr.free_symbols
        return used.union(*(self.shape_env.simplify(nodes.sym(name)).free_symbols for name in used))

    def drop_inputs(self) -> None:
        where = binders(self.graph) if self.symbols else {}
        binding = {where[name][0] for name in self.needed_symbols() if name in where}
        kept = []
        for i, graph_input in enumerate(self.inputs):
            if graph_input.node.users or i in binding:
                kept.append(graph_input)
            else:
                self.graph.erase_node(graph_input.node)
        self.inputs = kept


class GraphInput:
    """A placeholder, the Source of its value, and the value in this call."""

    __slots__ = ("node", "source", "value")

    def __init__(self, node, source: Source, value: Any):
        self.node = node
        self.source = source
        self.value = value


def is_read(node) -> bool:
    """Whether a node takes an item out of a tuple or tensor at a place that is known to be there, or a number out of a tensor."""
    if node.target is item:
        return True
    reads = node.target is operator.getitem or getattr(node.target, "name", None) == "getitem"
    return reads and len(node.all_input_nodes) == 1


def input_name(source: Source) -> str:
    """A name for the placeholder, like the user's expression; the same in every process, as the graph's text is a key."""
    if type(source) is Local and source.key.isidentifier():
        text = source.key.strip("_").lower()
        return text if text and not text[0].isdigit() else f"arg_{text}".rstrip("_")
    import re

    text = re.sub(r"\._(modules|parameters|buffers)\[", "[", str(source))
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    text = re.sub(r"\W+", "_", text).strip("_").lower()
    return text if text and not text[0].isdigit() else f"arg_{text}".rstrip("_")


def _is_own(globals: dict) -> bool:
    return str(globals.get("__name__") or "").partition(".")[0] in trace_rules.OWN


def of_object(source: Source | None) -> bool:
    """Whether a value is reached by an attribute of an object."""
    while source is not None:
        if isinstance(source, (Attr, InstanceDict)):
            return True
        source = getattr(source, "base", None)
    return False
