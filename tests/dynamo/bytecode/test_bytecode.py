"""Taking code apart and putting it together; what is live and assigned where."""

import collections
import contextlib
import dis
import functools
import types

import pytest

from dynamo.bytecode.assemble import STACK_MARGIN, Copy, assemble_like
from dynamo.bytecode.emit import Box, Emitter
from dynamo.bytecode.implicit import bare_supers
from dynamo.bytecode.instruction import HAS_DOCSTRING, decode
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


MODULES = (collections, contextlib, dis, functools, broken)


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_a_copy_is_the_same_program(module):
    for code in codes(module):
        if bare_supers(code, decode(code)):  # written out in the copy
            continue
        copy = assemble_like(code, Copy(code).items, code.co_stacksize)
        assert copy.co_freevars == code.co_freevars and copy.co_flags == code.co_flags & ~HAS_DOCSTRING
        old, new = decode(code), decode(copy)
        assert [i.name for i in old.instructions] == [i.name for i in new.instructions]
        assert [h[:5] for h in old.handlers] == [h[:5] for h in new.handlers]
        assert old.depths == new.depths


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
