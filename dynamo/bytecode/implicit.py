"""What a call reads of its frame without naming it: super() the first argument, locals() and its kin all variables."""

from __future__ import annotations

import types

from .instruction import VERSION, Decoded, decode

# Calls of these see the variables of the frame they stand in: all stay alive up to the last call.
LOOK_AT_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec", "breakpoint", "set_trace", "query"})
GIVE_THEM = frozenset({"locals", "vars"})  # those that give the dict of them
HANDED = "___"  # so begin the names of what functions that go on behind a break are handed beside the locals
_METHODS = ("set_trace", "query")  # of pdb, of data frames: the others are functions
# And these give the frame itself, which goes on changing: a frame taken apart would not be it.
GIVE_THE_FRAME = frozenset({"_getframe", "currentframe", "_current_frames", "f_locals"})


def gives_its_frame(code: types.CodeType) -> bool:
    """Whether the code asks for frames as objects."""
    return not GIVE_THE_FRAME.isdisjoint(code.co_names)


def looks_at_variables(code: types.CodeType) -> bool:
    """Whether the code reads, or from Python 3.13 on writes, the variables of frames: of those that called it, say."""
    return "f_locals" in code.co_names


def shares_its_locals(code: types.CodeType) -> bool:
    """Whether the code may see that all its calls of locals() give one dict, as they do up to Python 3.12: by a second look at the
    variables, or by one in a loop. (Frames that go on behind a break have a dict each.)"""
    if VERSION >= (3, 13) or LOOK_AT_LOCALS.isdisjoint(code.co_names):
        return False
    instructions = decode(code).instructions
    bare = "PRECALL" if VERSION < (3, 12) else "CALL"
    looks = [
        load.index
        for load, call in zip(instructions, instructions[1:])
        if load.name == "LOAD_GLOBAL"
        and (load.value == "exec" or load.value in GIVE_THEM and call.name == bare and call.arg == 0)
    ]
    looped = any(0 <= i.target <= look <= i.index for i in instructions for look in looks)
    return looped or len(looks) > 1


def bare_supers(code: types.CodeType, decoded: Decoded) -> list[int]:
    """Indices of the instructions behind LOAD_GLOBAL super that call it without arguments (PRECALL on 3.11, else CALL)."""
    if "super" not in code.co_names or "__class__" not in code.co_freevars or not code.co_argcount:
        return []
    name = "PRECALL" if VERSION < (3, 12) else "CALL"
    found = []
    for load, call in zip(decoded.instructions, decoded.instructions[1:]):
        if load.name == "LOAD_GLOBAL" and load.value == "super" and call.name == name and call.arg == 0:
            found.append(call.index)
    return found


def implicit_reads(code: types.CodeType, decoded: Decoded, kept: bool) -> dict[int, tuple[str, ...]]:
    """Index of an instruction → the fast locals that it reads without naming them. `kept`: a frame holds its locals up to its
    return or until they are bound again, and those that it raises an exception with as long as that one's traceback lives, which
    counts where a local's end runs code (a generator inside of a `try`)."""
    cells = (*code.co_cellvars, *code.co_freevars)
    reads: dict[int, tuple[str, ...]] = {}
    own = tuple(v for v in code.co_varnames if not v.startswith(HANDED) and v not in cells)
    if kept:
        ends = ("RETURN_VALUE", "RETURN_CONST", "STORE_FAST", "RAISE_VARARGS", "RERAISE")
        reads = {i.index: own for i in decoded.instructions if i.name.startswith(ends)}
    loads = (i for i in decoded.instructions if i.value in LOOK_AT_LOCALS and i.name in ("LOAD_GLOBAL", "LOAD_METHOD", "LOAD_ATTR"))
    if not LOOK_AT_LOCALS.isdisjoint(code.co_names) and any(i.name == "LOAD_GLOBAL" or i.value in _METHODS for i in loads):
        reads |= {i.index: own for i in decoded.instructions if i.name.startswith("CALL")}
    first = code.co_varnames[:1]
    for index in bare_supers(code, decoded):
        if not set(first).intersection(cells):
            reads[index] = first if index not in reads else reads[index]
    return reads
