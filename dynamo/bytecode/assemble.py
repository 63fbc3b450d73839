"""Code objects ↔ lists of the bytecode library, with the options under which the library is right.

Its defaults recompute the stack depths of exception tables and get some wrong, which crashes: depths are conserved, and
stack sizes are given.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from typing import Any

from bytecode import Bytecode, CellVar, ConcreteBytecode, ConcreteInstr, FreeVar, Instr, Label, TryBegin, TryEnd

from .. import _eval_frame
from .implicit import bare_supers
from .instruction import HAS_DOCSTRING, LASTI_IS_OBJECT, PLAIN, decode

CELLS_ARE_LOCALS = dis.opmap["LOAD_DEREF"] in dis.haslocal
STACK_MARGIN = 16  # for what is put around copied instructions, beyond the values it pushes


class Copy:
    """A copy of the instructions of `code`, whose labels are its own.

    `items[position[i]]` is the instruction that `decode(code)` numbers i.
    """

    def __init__(self, code: types.CodeType):
        labels: dict[Label, Label] = {}
        tries: dict[TryBegin, TryBegin] = {}
        self.items: list = []
        self.position: list[int] = []

        def fresh(label: Label) -> Label:
            return labels.setdefault(label, Label())

        for item in _decoded(code):
            if isinstance(item, Label):
                item = fresh(item)
            elif isinstance(item, TryBegin):
                tries[item] = TryBegin(fresh(item.target), item.push_lasti, item.stack_depth)
                item = tries[item]
            elif isinstance(item, TryEnd):
                item = TryEnd(tries[item.entry])
            else:
                self.position.append(len(self.items))
                if isinstance(item.arg, Label):
                    item = Instr(item.name, fresh(item.arg), location=item.location)
            self.items.append(item)
        self._spell_out_supers(code)

    def _spell_out_supers(self, code: types.CodeType) -> None:
        """super() looks for its arguments in the frame, where a function that continues another has them elsewhere."""
        for at, item in enumerate(self.items):
            if isinstance(item, Instr) and item.name == "LOAD_SUPER_ATTR":  # (on 3.12 and later they are on the stack)
                given: Any = item.arg
                is_method, _, name = given
                self.items[at] = Instr(item.name, (is_method, True, name), location=item.location)
        first = code.co_varnames[:1]
        for index in bare_supers(code, decode(code)):
            item = self.items[self.position[index]]
            load: list = [Instr("LOAD_DEREF", FreeVar("__class__"), location=item.location)]
            if first[0] in code.co_cellvars:
                load.append(Instr("LOAD_DEREF", CellVar(first[0]), location=item.location))
            else:
                load.append(Instr("LOAD_FAST", first[0], location=item.location))
            self.replace(index, [*load, Instr(item.name, 2, location=item.location)])
            if item.name == "PRECALL":
                after = self.items[self.position[index + 1]]
                self.replace(index + 1, [Instr(after.name, 2, location=after.location)])

    def label_before(self, index: int) -> Label:
        """A label in front of instruction `index`."""
        label = Label()
        self.insert(index, [label])
        return label

    def insert(self, index: int, items: list) -> None:
        """Put `items` in front of instruction `index` (behind the labels that stand before it)."""
        at = self.position[index]
        self.items[at:at] = items
        for i in range(index, len(self.position)):
            self.position[i] += len(items)

    def insert_after(self, index: int, items: list) -> None:
        at = self.position[index] + 1
        self.items[at:at] = items
        for i in range(index + 1, len(self.position)):
            self.position[i] += len(items)

    def replace(self, index: int, items: list) -> None:
        """Put `items` in the place of instruction `index`; its position is then that of the first of them."""
        at = self.position[index]
        self.items[at : at + 1] = items
        for i in range(index + 1, len(self.position)):
            self.position[i] += len(items) - 1

    def map(self, change: Callable[[Instr], Instr]) -> None:
        """Replace every instruction by change(instruction)."""
        self.items = [change(i) if isinstance(i, Instr) else i for i in self.items]


def _decoded(code: types.CodeType) -> Bytecode:
    record = _eval_frame.record(code)
    found = record.get("bytecode")
    if found is None:
        found = record["bytecode"] = _from_code(code)
    return found


def _from_code(code: types.CodeType) -> Bytecode:
    """Bytecode.from_code, past what the library has wrong: cells that are loaded like locals (from Python 3.13 on a closure's
    own, in 3.14 LOAD_DEREF too), and BUILD_INTERPOLATION. Such instructions pass it under other names.

    A copy owns what it loads: the compiler borrows (3.14) where it saw that the local outlives the value, in its own code.
    """
    concrete = ConcreteBytecode.from_code(code)
    first = len(code.co_varnames) + len(set(code.co_cellvars).difference(code.co_varnames))
    disguised: dict[int, tuple[str, int]] = {}
    n = 0
    for i in concrete:
        if not isinstance(i, ConcreteInstr) or i.name in ("CACHE", "EXTENDED_ARG"):
            continue
        if i.name in PLAIN:
            i.name = PLAIN[i.name]
        if (i.name == "LOAD_FAST" and i.arg >= first) or (i.name == "LOAD_DEREF" and CELLS_ARE_LOCALS):
            disguised[n] = i.name, i.arg
            i.name = "STORE_DEREF"
        elif i.name == "BUILD_INTERPOLATION":
            disguised[n] = i.name, i.arg
            i.name = "BUILD_TUPLE"
        elif i.name == "RERAISE" and not LASTI_IS_OBJECT:
            i.arg = 0
        n += 1
    out = concrete.to_bytecode(conserve_exception_block_stackdepth=True)
    if disguised:
        positions = [at for at, item in enumerate(out) if isinstance(item, Instr)]
        for index, (name, arg) in disguised.items():
            item = out[positions[index]]
            if name == "BUILD_INTERPOLATION":
                out[positions[index]] = Instr._from_trusted(name, dis.opmap[name], arg, item.location)
            else:
                out[positions[index]] = Instr(name, item.arg, location=item.location)
    return out


def assemble_like(code: types.CodeType, items: list, stacksize: int) -> types.CodeType:
    """A code object that can stand in a frame of `code`: same arguments, cells, free variables, flags and names."""
    out = _new(items, code)
    # The order of argnames is that of the slots: positional, keyword-only, *args, **kwargs.
    n = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    out.argnames = list(code.co_varnames)  # the others behind them: locals() has its keys in this order
    out.argcount, out.posonlyargcount = code.co_argcount, code.co_posonlyargcount
    out.kwonlyargcount = code.co_kwonlyargcount
    out.flags = code.co_flags & ~HAS_DOCSTRING
    out.cellvars, out.freevars = list(code.co_cellvars), list(code.co_freevars)
    out.name, out.qualname = code.co_name, code.co_qualname
    made = _to_code(out, stacksize)
    if made.co_freevars != code.co_freevars or made.co_varnames[:n] != code.co_varnames[:n]:
        raise AssertionError(f"the new code of {code.co_qualname} has other arguments or free variables")
    return made


def assemble_function(
    code: types.CodeType, items: list, argnames: list[str], freevars: tuple[str, ...], stacksize: int
) -> types.CodeType:
    """A code object of a function of positional arguments that continues `code`; all cells come by its closure.

    It has the name of `code`, so that tracebacks read as if nothing had been taken apart.
    """
    out = _new(items, code)
    out.argnames = [*argnames, *(v for v in code.co_varnames if v not in argnames and v not in freevars)]
    out.argcount = len(argnames)
    out.flags = (code.co_flags & ~0x0C & ~HAS_DOCSTRING) | (0x10 if freevars else 0)  # no *args and **kwargs; nested
    out.cellvars, out.freevars = [], list(freevars)
    out.name, out.qualname = code.co_name, code.co_qualname
    return _to_code(out, stacksize)


def _without_empty_ranges(items: list) -> list:
    """`items` without protected ranges that hold no instruction: the library does not end writing one down."""
    opened: set[TryBegin] = set()
    used: set[TryBegin] = set()
    for item in items:
        if isinstance(item, TryBegin):
            opened.add(item)
        elif isinstance(item, TryEnd):
            opened.discard(item.entry)
        elif isinstance(item, Instr):
            used |= opened
    entry = {TryBegin: lambda i: i, TryEnd: lambda i: i.entry}
    return [i for i in items if type(i) not in entry or entry[type(i)](i) in used]


def _new(items: list, code: types.CodeType) -> Bytecode:
    out = Bytecode(_without_empty_ranges(items))
    out.filename = code.co_filename
    out.first_lineno = code.co_firstlineno
    return out


# Instructions of two locals (Python 3.13), as the two that they stand for.
PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}


def _split_pairs(out: Bytecode) -> None:
    """Pairs have four bits for each local: those of a function with more of them, further on than in the original, part."""
    near = set(out.argnames[:16])
    if len(out.argnames) <= 16:
        return
    items: list = []
    for item in out:
        names = PAIRS.get(item.name) if isinstance(item, Instr) else None
        if names is None or near.issuperset(item.arg):
            items.append(item)
        else:
            items += [Instr(name, local, location=item.location) for name, local in zip(names, item.arg)]
    out[:] = items


def _to_code(out: Bytecode, stacksize: int) -> types.CodeType:
    _split_pairs(out)
    return out.to_code(compute_exception_stack_depths=False, stacksize=stacksize)
