"""Taking code apart and putting it together; what is live and assigned where."""

import argparse
import ast
import collections
import contextlib
import dis
import functools
import inspect
import subprocess
import tarfile
import types
import typing
from asyncio import base_events
from unittest import mock

import pytest

from dynamo import _eval_frame
from dynamo.bytecode.assemble import _ENCODING, STACK_MARGIN, Copy, assemble_function, assemble_like
from dynamo.bytecode.emit import Box, Emitter
from dynamo.bytecode.implicit import bare_supers
from dynamo.bytecode.instruction import HAS_DOCSTRING, VERSION, decode
from dynamo.bytecode.items import Label, TryBegin, TryEnd
from dynamo.bytecode.liveness import assigned_before, live_at, live_before
from tests.dynamo.resume import broken


def codes(module):
    """The code objects of a module's functions and methods, nested ones too."""
    found, pending = [], []
    for value in vars(module).values():
        members = vars(value).values() if isinstance(value, type) else [value]
        pending += [m.__code__ for m in members if isinstance(m, types.FunctionType)]
    while pending:
        code = pending.pop()
        pending += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        if not code.co_flags & 0x2A0:  # generators and coroutines are never captured
            found.append(code)
    return found


MODULES = (argparse, ast, base_events, collections, contextlib, dis, functools, inspect, mock, subprocess, tarfile, typing, broken)


def plain(code):
    """The instructions of `code`. Copies own what they load where Python 3.14 borrows it, and forget the line to show while an
    exception passes; super() says that its arguments are on the stack (bit 1, from 3.12 on)."""
    if VERSION < (3, 12):
        return code.co_code
    changed = {"LOAD_SUPER_ATTR": lambda arg: arg | 2, "RERAISE": lambda arg: 0 if VERSION >= (3, 14) else arg}
    return [(i.name, changed.get(i.name, int)(i.arg), i.target) for i in decode(code).instructions]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_a_copy_is_the_same_program(module):
    for code in codes(module):
        if bare_supers(code, decode(code)):  # written out in the copy
            continue
        copy = assemble_like(code, Copy(code).items, code.co_stacksize)
        assert copy.co_flags == code.co_flags & ~HAS_DOCSTRING
        for field in ("varnames", "cellvars", "freevars", "names", "consts", "exceptiontable", "stacksize"):
            assert getattr(copy, f"co_{field}") == getattr(code, f"co_{field}"), field
        assert plain(copy) == plain(code)
        assert list(copy.co_positions()) == list(code.co_positions()) and list(copy.co_lines()) == list(code.co_lines())


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_depths_are_within_the_stack(module):
    for code in codes(module):
        assert all(d is None or 0 <= d <= code.co_stacksize for d in decode(code).depths)


def test_a_copied_function_runs():
    def f(a, b=2, *rest, c=3, **more):
        total = 0
        for x in (a, b, *rest, c):
            try:
                total += 10 // x
            except ZeroDivisionError:
                total -= 1
        return total, sorted(more), [x + total for x in rest]

    code = f.__code__
    g = types.FunctionType(assemble_like(code, Copy(code).items, code.co_stacksize + STACK_MARGIN), globals())
    g.__defaults__, g.__kwdefaults__ = f.__defaults__, f.__kwdefaults__
    for args, kwargs in (((1,), {}), ((0, 0, 5), {"c": 7, "z": 1})):
        assert f(*args, **kwargs) == g(*args, **kwargs)


def at(code, name, value=None, nth=0):
    """The offset of the nth instruction of that name and value."""
    return [i.offset for i in decode(code).instructions if i.name == name and value in (None, i.value)][nth]


def test_liveness():
    def f(a, b, c):
        if a:
            d = b
        else:
            d = c
        a = d + 1
        return a

    code = f.__code__
    assert live_before(code)[decode(code).body()] == {"a", "b", "c"}
    assert live_at(code, at(code, "BINARY_OP")) == set()
    assert live_before(code)[-1] == set()


def test_what_a_handler_reads_is_live_in_its_block():
    def f(a, b):
        try:
            a()
        except ValueError:
            return b
        return None

    code = f.__code__
    call = next(i for i in decode(code).instructions if i.name == "CALL")
    assert "b" in live_before(code)[call.index]


def test_what_a_loop_reads_again_is_live_at_its_end():
    def f(xs, k):
        total = 0
        for x in xs:  # noqa: B007
            total = total + k
        return total

    code = f.__code__
    back = next(i for i in decode(code).instructions if i.name == "JUMP_BACKWARD")
    assert live_before(code)[back.index] == {"k", "total"}


def test_certain_assignment():
    def f(a):
        if a:
            b = 1  # noqa: F841
        c = 2
        del a
        return c

    code = f.__code__
    before = assigned_before(decode(code), decode(code).body(), frozenset("a"))
    end = next(i for i in decode(code).instructions if i.name == "RETURN_VALUE")
    assert before[end.index] == {"c"}


def test_constants_that_code_cannot_hold_are_boxed():
    e = Emitter()
    values = [[1], {"a": 1}, {1}, object(), 3, "x", (1, (2.0, None)), print, [1]]
    for v in values:
        e.load_const(v)
    loaded = [i.arg for i in e.out if i.name == "LOAD_CONST"]
    boxed = [isinstance(a, Box) for a in loaded]
    assert boxed[4:7] == [False] * 3 and boxed[:4] == [True] * 4
    assert [a.value if isinstance(a, Box) else a for a in loaded] == values
    assert hash(loaded[0]) != hash(loaded[-1])


def test_emitted_calls_run():
    e = Emitter()
    e.call(lambda: e.load_const(dict), [], [("a", lambda: e.load_const([5]))])
    e.load_const("a")
    e.subscript()
    e.return_value()

    def f():
        return 0

    copy = Copy(f.__code__)
    at = copy.position[decode(f.__code__).body()]
    f.__code__ = assemble_like(f.__code__, copy.items[:at] + e.out, 10)
    assert f() == [5]


def test_locals_of_its_own_come_behind_cells_move_and_pairs_part():
    """Slots of cells are counted behind the locals; two locals of one instruction (3.13) have four bits each."""

    def f(a, b):
        total = [a, b]

        def inner():
            return total, a, b

        c, d = b, a
        c, d = d, c
        return inner(), c, d

    code = f.__code__
    copy = Copy(code)
    at = copy.position[decode(code).body()]
    e = Emitter(code.co_cellvars, code.co_freevars)
    for n in range(300):
        e.load_const(n)
        e.store_local(f"temp{n}")
    made = assemble_like(code, copy.items[:at] + e.out + copy.items[at:], code.co_stacksize)
    assert made.co_varnames == (*code.co_varnames, *(f"temp{n}" for n in range(300)))
    assert types.FunctionType(made, globals())(1, 2) == f(1, 2)
    many = [f"x{n}" for n in range(20)]  # the function's own locals come behind 20 others

    def g(p, q):
        p, q = q, p
        r, s = p, q
        return r, s

    e = Emitter()
    for name in ("p", "q"):
        e.instr("LOAD_FAST", f"x{'pq'.index(name)}")
        e.store_local(name)
    copy = Copy(g.__code__)
    at = copy.position[decode(g.__code__).body()]
    made = assemble_function(g.__code__, copy.items[:at] + e.out + copy.items[at:], many, (), 10)
    assert types.FunctionType(made, globals())(*range(20)) == (1, 0)


def test_far_jumps_have_extended_arguments():
    """A jump over n instructions, both ways, on either side of one and two bytes of distance; it may grow by another's growth."""
    for n in (10, 120, 127, 128, 129, 250, 257, 33000, 66000):
        body = "\n    ".join(["x = x"] * n)
        scope: dict = {}
        exec(f"def f(x):\n  for i in range(3):\n    if x == 7 + i: continue\n    {body}\n    x += 1\n  return x\n", scope)
        code = scope["f"].__code__
        copy = Copy(code)
        at = copy.position[decode(code).body()]
        padding = Emitter()
        for _ in range(5):
            padding.load_const(None)
            padding.pop()
        for extra in ([], padding.out):
            made = assemble_like(code, copy.items[:at] + extra + copy.items[at:], code.co_stacksize + 1)
            for x in (0, 7, 8):
                assert types.FunctionType(made, {"range": range})(x) == scope["f"](x)


def test_lines_and_columns_of_new_code():
    def f(x):
        y = x + 1
        return (
            y
            / 0
        )

    code = f.__code__
    copy = Copy(code)
    at = copy.position[decode(code).body()]
    e = Emitter(line=code.co_firstlineno + 1000)  # far ahead, far back
    e.load_const(1)
    e.pop()
    e.line = None
    e.load_const(1)
    e.pop()
    made = assemble_like(code, copy.items[:at] + e.out + copy.items[at:], code.co_stacksize + 1)
    old, new = decode(code), decode(made)
    where = dict(enumerate(made.co_positions()))
    body = new.instructions[old.body() :]
    assert [where[i.offset // 2] for i in body[:4]] == [(code.co_firstlineno + 1000,) * 2 + (None, None)] * 2 + [(None,) * 4] * 2
    was = dict(enumerate(code.co_positions()))
    assert [where[i.offset // 2] for i in body[4:]] == [was[i.offset // 2] for i in old.instructions[old.body() :]]


@pytest.mark.parametrize(
    ("instructions", "handlers"),
    [
        ([(999, 0, -1, 1)], []),
        ([(9, -1, -1, 1)], []),
        ([(9, 1 << 40, -1, 1)], []),
        ([(9, 0, 7, 1)], []),
        ([(dis.opmap["JUMP_BACKWARD"], 0, 2, 1), (9, 0, -1, 1)], []),  # it would jump forward
        ([(9, 0, -1, 1)] * 3, [(0, 0, 2, 0, False)]),
        ([(9, 0, -1, 1)] * 3, [(0, 9, 2, 0, False)]),
        ([(9, 0, -1, 1)] * 3, [(0, 2, 9, 0, False)]),
        ([(9, 0, -1, 1)] * 3, [(1, 2, 2, 0, False), (0, 1, 2, 0, False)]),
        ([(9, 0, -1, 1)] * 3, [(0, 1, 2, -1, False)]),
    ],
)
def test_what_is_no_code_is_refused(instructions, handlers):
    with pytest.raises(ValueError, match=r"instruction \d+|handler \d+"):
        _eval_frame.encoded(instructions, handlers, 1, _ENCODING)


def test_a_range_without_instructions_is_no_range():
    def f():
        try:
            return 1
        except ValueError:
            return 2

    code = f.__code__
    copy = Copy(code)
    label = Label()
    begin = TryBegin(label, False, 0)
    made = assemble_like(code, [begin, TryEnd(begin), *copy.items, label, *Copy(code).items[-1:]], code.co_stacksize)
    assert len(decode(made).handlers) == len(decode(code).handlers)
    assert types.FunctionType(made, {})() == 1
