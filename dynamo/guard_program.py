"""Compile a list of guards to one native program over the arguments of a frame.

Sources become registers. What an argument is (or holds directly: items of a list, tuple or dict argument) is read and
checked on each call; what is reached by attributes, globals and cells is `fixed`: the native side remembers its walk.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from . import _eval_frame
from .guards import AMBIENT_FLAGS, Guard, SameObject, ShapeIs, TensorIs, TypeIs
from .held import STRONG, hold
from .shape_program import compile_expr
from .source import Converted, DictKey, Item, Local, Made, Object, Offset, Size, Source, Stride

_OPS = _eval_frame.GUARD_OPS
_NOT_COMPARED = -(2**63)
_WORD = 0xFFFFFFFF & ~0x0C000000  # of weft.h's tensor word: all but CONTIGUOUS and INFERENCE
_WORD_REQUIRES_GRAD = 0x01000000
_WORD_CONTIGUOUS = 0x04000000
_WORD_INFERENCE = 0x08000000
_DEVICE_TYPES = {"cpu": 0, "cuda": 1, "meta": 2}
# Checks that read dictionaries of their object: worth remembering even for an argument.
_REMEMBERED = frozenset(
    ("LACKS_ATTR", "LACKS_INSTANCE_ATTR", "FUNCTION_CODE", "LACKS_DEFAULTS", "GLOBALS", "CLASS_LOOKUP", "INHERITS", "MRO", "MAKES")
)


def argument_names(code: types.CodeType) -> tuple[str, ...]:
    """The names of the argument slots of a frame, in their order: positional, keyword-only, *args, **kwargs."""
    n = code.co_argcount + code.co_kwonlyargcount
    n += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:n]


class GuardCompiler:
    """Registers and instructions for the guards of one entry.

    compile() makes the program; then `register(source)` says where it keeps a value, for a direct entry to hand on.
    """

    def __init__(self, code: types.CodeType, guards: Iterable[Guard], inputs: Iterable[Source] = ()):
        self.arguments = {name: i for i, name in enumerate(argument_names(code))}
        self.free_variables = {name: i for i, name in enumerate(code.co_freevars)}
        self.guards = list(guards)
        self.inputs = list(inputs)
        self.live: dict[Source, int] = {}
        self.fixed: dict[Source, int] = {}
        self.registers: dict[Source, int] = {}  # of both: fixed ones follow the live ones
        self.live_code: list[tuple] = []
        self.fixed_code: list[tuple] = []
        self.last_code: list[tuple] = []
        self.keys: dict[int, None] = {}
        self.uses_function = False
        self.noted: set[Source] = set()

    def compile(self) -> Any:
        self.noted = tensors = {g.source for g in self.guards if g.kind is TensorIs}
        read = list(map(_read_by, self.guards))
        live, fixed = self.live, self.fixed
        for sources in (*read, self.inputs):
            for source in sources:
                if source not in live and source not in fixed:
                    self._number(source)
        first = len(live)
        self.registers = {**live, **{source: first + i for source, i in fixed.items()}}
        placed: set[Source] = set()
        for index, (guard, sources) in enumerate(zip(self.guards, read)):
            if guard.kind is TypeIs and guard.source in tensors:
                continue  # the tensor guard compares the type
            for source in sources:
                if source not in placed:
                    self._place(source, index, placed)
            emit = _EMITTED.get(guard.kind.name)
            if emit is not None:
                emit(self, guard, index)
            else:
                self._check(guard.kind.name, guard.source, index, (guard.values[0], STRONG))
        for source in self.inputs:
            self._place(source, len(self.guards), placed)
        return _eval_frame.GuardProgram(
            n_regs=len(self.registers), fixed_first=first, fixed_count=len(self.fixed),
            live=self.live_code, fixed=self.fixed_code, last=self.last_code,
            keys=list(self.keys), key_function=self.uses_function,
        )  # fmt: skip

    def register(self, source: Source) -> int:
        return self.registers[source]

    # ------------------------------------------------------------------------------- registers
    def _number(self, source: Source) -> bool:
        """Give it a place, behind its bases; whether it is live: an argument, or held directly by one."""
        if source in self.fixed:
            return False
        if source in self.live:
            return True
        live = self._number(source.base) if source.base is not None else False
        if live:
            live = isinstance(source, (Item, DictKey, Converted))
        elif source.base is None:
            live = isinstance(source, Local)
        where = self.live if live else self.fixed
        where[source] = len(where)
        return live

    def _place(self, source: Source, guard: int, placed: set[Source]) -> None:
        """Emit the accessor of `source`, after those of its bases."""
        if source in placed:
            return
        placed.add(source)
        if source.base is not None:
            self._place(source.base, guard, placed)
        instruction = self._accessor(source, guard)
        if source in self.live:
            self.live_code.append(instruction)
        else:
            self.fixed_code.append(instruction)
            self._use(source.base)

    def _accessor(self, source: Source, guard: int) -> tuple:
        kind = source.accessor
        a, obj, data, held = 0, None, (), STRONG
        if source.base is not None:
            a, obj = self.registers[source.base], source.key
            if kind in ("ITEM", "DICT_KEY") and type(obj) is int and -(2**62) < obj < 2**62:
                data = (obj,)
            elif kind == "ITEM":
                obj, held = hold(obj)
        elif isinstance(source, Object):
            obj, held = (source.value, STRONG) if isinstance(source, Made) else hold(source.value)
        elif kind == "LOCAL":
            if source.key not in self.arguments:
                raise ValueError(f"a guard reads {source}, which is not an argument of the frame")
            a = self.arguments[source.key]
        elif kind in ("CLOSURE", "CELL"):
            a = self.free_variables[source.key]
            self.uses_function = True
        elif kind in ("GLOBAL", "BUILTIN"):
            obj = source.key
            self.uses_function = True
        return (_OPS[kind], self.registers[source], a, 0, guard, obj, data, None, held)

    def _use(self, source: Source | None) -> None:
        """A fixed instruction depends on `source`: what it remembers is remembered for that object."""
        register = self.live.get(source) if source is not None else None
        if register is not None:
            self.keys[register] = None

    # ------------------------------------------------------------------------------ instructions
    def _check(self, kind: str, source: Source, index: int, held: tuple = (None, 0), data: tuple = (), name: Any = None):
        obj, how = held
        instruction = (_OPS[kind], 0, self.registers[source], 0, index, obj, data, name, how)
        if source in self.live and kind not in _REMEMBERED:
            self.live_code.append(instruction)
        else:
            self.fixed_code.append(instruction)
            self._use(source)

    def _append(self, sources: Iterable[Source], kind: str, index: int, data: tuple, a: int = 0, b: int = 0) -> None:
        """A check of several sources: in the part where all of them are known."""
        sources = list(sources)
        instruction = (_OPS[kind], 0, a, b, index, None, data)
        if all(s in self.live for s in sources):
            self.live_code.append(instruction)
        elif all(s in self.fixed for s in sources):
            self.fixed_code.append(instruction)
        else:
            self.last_code.append(instruction)

    def _emit_id_is(self, guard: Guard, index: int) -> None:
        self._check("ID_IS", guard.source, index, hold(guard.values[0]))

    def _emit_type_is(self, guard: Guard, index: int) -> None:
        self._check("TYPE_IS", guard.source, index, hold(guard.values[0]))

    def _emit_function_code(self, guard: Guard, index: int) -> None:
        self._check("FUNCTION_CODE", guard.source, index, hold(guard.values[0]))

    def _emit_lacks_defaults(self, guard: Guard, index: int) -> None:
        self._check("LACKS_DEFAULTS", guard.source, index)

    def _emit_class_lookups(self, guard: Guard, index: int) -> None:
        for name, found in zip(*guard.values):
            self._check("CLASS_LOOKUP", guard.source, index, hold(found), (), name)

    def _emit_globals(self, guard: Guard, index: int) -> None:
        self._check("GLOBALS", guard.source, index, data=(guard.globals,))

    def _emit_class_lookup(self, guard: Guard, index: int) -> None:
        self._check("CLASS_LOOKUP", guard.source, index, hold(guard.object), (), guard.values[0])

    def _emit_inherits(self, guard: Guard, index: int) -> None:
        self._check("INHERITS", guard.source, index, hold(guard.values[0]), (int(guard.answer),), "__mro__")

    def _emit_mro(self, guard: Guard, index: int) -> None:
        self._check("MRO", guard.source, index, data=guard.classes, name="__mro__")

    def _emit_makes(self, guard: Guard, index: int) -> None:
        self._check("MAKES", guard.source, index, data=(int(guard.answer),), name="__new__")

    def _emit_length(self, guard: Guard, index: int) -> None:
        self._check("LENGTH", guard.source, index, data=(guard.length,))

    def _emit_tensor(self, guard: Guard, index: int) -> None:
        (layout,) = guard.values
        word = layout.dtype.code | len(layout.sizes) << 16 | (_WORD_REQUIRES_GRAD if layout.requires_grad else 0)
        device = layout.device
        word |= _DEVICE_TYPES[device.type] << 8 | (device.index or 0) << 12
        mask = _WORD
        if layout.contiguous is not None:
            mask |= _WORD_CONTIGUOUS
            word |= _WORD_CONTIGUOUS if layout.contiguous else 0
        if layout.inference is not None:
            mask |= _WORD_INFERENCE
            word |= _WORD_INFERENCE if layout.inference else 0
        dims = [_NOT_COMPARED if n is None else n for n in (*layout.sizes, *layout.strides)]
        self._check("TENSOR", guard.source, index, hold(layout.cls), (word, mask, *dims))

    def _emit_lacks_global(self, guard: Guard, index: int) -> None:
        self.uses_function = True
        self.fixed_code.append((_OPS["LACKS_GLOBAL"], 0, 0, 0, index, guard.name, ()))

    def _emit_same_object(self, guard: Guard, index: int) -> None:
        pair = (guard.source, guard.other)
        self._append(pair, "SAME_OBJECT", index, (), self.register(pair[0]), self.register(pair[1]))

    def _emit_distinct(self, guard: Guard, index: int) -> None:
        live = [s for s in guard.source if s in self.live]
        fixed = [s for s in guard.source if s in self.fixed]
        for group in (live, fixed):
            if len(group) > 1:
                self._append(group, "DISTINCT", index, tuple(map(self.register, group)))
        if live and fixed:
            self._append(guard.source, "APART", index, (len(live), *map(self.register, live + fixed)))

    def _emit_disjoint(self, guard: Guard, index: int) -> None:
        self._append(guard.source, "DISJOINT", index, (guard.written, *map(self.register, guard.source)))

    def _emit_overlap(self, guard: Guard, index: int) -> None:
        self._append(guard.source, "OVERLAP", index, (guard.written, *map(self.register, guard.source)))

    def _emit_ambient(self, guard: Guard, index: int) -> None:
        self.live_code.append((_OPS["AMBIENT"], 0, 0, 0, index, None, (guard.word & guard.mask, guard.mask)))

    def _note_value(self, source: Source, index: int) -> None:
        """A condition reads the value, and no other check of it tells the native side to remember it."""
        read = source.base if isinstance(source, (Size, Stride, Offset)) else source
        if read in self.fixed and read not in self.noted:
            self.noted.add(read)
            self._check("VALUE", read, index)

    def _emit_flag(self, guard: Guard, index: int) -> None:
        if guard.name in AMBIENT_FLAGS:
            self.live_code.append((_OPS["AMBIENT"], 0, 0, 0, index, None, (guard.state, AMBIENT_FLAGS[guard.name])))
        else:
            self.live_code.append((_OPS["NUM_THREADS"], 0, 0, 0, index, None, (guard.state,)))

    def _emit_shape(self, guard: Guard, index: int) -> None:
        symbols = guard.shape.symbols

        def load(name: str, kind: str) -> tuple:
            source = symbols[name]
            if isinstance(source, Size):
                return "SIZE", self.register(source.base), source.key
            if isinstance(source, Stride):
                return "STRIDE", self.register(source.base), source.key
            if isinstance(source, Offset):
                return "OFFSET", self.register(source.base)
            return ("FLOAT" if kind == "float" else "INT"), self.register(source)

        for source in symbols.values():
            self._note_value(source, index)
        self._append(_read_by(guard), "SHAPE", index, compile_expr(guard.shape.expr, load))


# What makes the instructions of a kind of guard, where they are more than one check of its value.
_EMITTED = {name[6:].upper(): emit for name, emit in vars(GuardCompiler).items() if name.startswith("_emit_")}


def _read_by(guard: Guard) -> tuple[Source, ...]:
    """The sources whose values the guard reads, without the integers of tensors."""
    source = guard.source
    if isinstance(source, Source):
        return (source, guard.other) if guard.kind is SameObject else (source,)
    if guard.kind is ShapeIs:
        symbols = guard.shape.symbols.values()
        return tuple([s.base if isinstance(s, (Size, Stride, Offset)) else s for s in symbols])
    return () if source is None else source
