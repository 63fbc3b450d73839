"""Frames with graph breaks do what eager does: results, effects in order, exceptions, what stays behind."""

import gc
import sys
import types
import weakref

import pytest

import aten
import weft
from dynamo import convert_frame
from tests.dynamo.resume import broken
from tests.dynamo.resume.broken import FUNCTIONS, LOG, note

pytestmark = pytest.mark.usefixtures("fresh")


def plain(v):
    if isinstance(v, aten.Tensor):
        return ("tensor", v.detach().numpy().tolist(), v.requires_grad)
    if isinstance(v, (list, tuple)):
        return type(v)(map(plain, v))
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    return v if not callable(v) else "callable"


def outcome(f, *args, **kwargs):
    """What a call returns or raises, and what it noted."""
    LOG.clear()
    broken.COUNT = 0
    try:
        value = plain(f(*args, **kwargs))
    except Exception as e:
        trace = e.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        value = type(e), e.args, trace.tb_frame.f_code.co_name, type(e.__context__), type(e.__cause__)
    assert sys.exc_info() == (None, None, None)
    return value, list(LOG)


def arguments(f):
    x = weft.arange(3).to(weft.float32) - 0.5
    return ((x, 10), {"z": 2, "key": 3}) if f is broken.star_arguments else ((x,), {})


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_broken_frames_do_what_eager_does(f):
    args, kwargs = arguments(f)
    want = outcome(f, *args, **kwargs)
    compiled = weft.compile(f, backend="eager")
    for _ in range(3):
        assert outcome(compiled, *args, **kwargs) == want
    negative = [-a if isinstance(a, aten.Tensor) else a for a in args]
    want = outcome(f, *negative, **kwargs)
    for _ in range(2):
        assert outcome(compiled, *negative, **kwargs) == want


def test_the_parts_around_a_break_are_compiled():
    weft.compile(broken.straight, backend="eager")(weft.ones(3))
    assert convert_frame.counters["graphs"] == 3 and convert_frame.counters["breaks"] == 2
    weft.compile(broken.straight, backend="eager")(weft.ones(3))
    assert convert_frame.counters["graphs"] == 3  # entries are shared


def test_a_loop_with_a_break_runs_at_constant_depth():
    def loop(x, n):
        i = 0
        while i < n:
            x = x + 1
            note()
            depth = len_of_stack()
            i = i + depth - depth + 1
        return x, depth

    @weft.compiler.disable
    def len_of_stack():
        depth, frame = 0, sys._getframe()
        while frame:
            depth, frame = depth + 1, frame.f_back
        return depth

    compiled = weft.compile(loop, backend="eager")
    _, few = compiled(weft.ones(1), 3)
    x, many = compiled(weft.ones(1), 1500)
    assert many == few and x.item() == 1501


def test_nothing_of_a_call_stays_alive():
    class Thing:
        pass

    def f(thing, x):
        x = x + 1
        note()
        y = [thing, x]
        note()
        return len(y)

    compiled = weft.compile(f, backend="eager")
    for _ in range(3):
        thing, x = Thing(), weft.ones(2)
        gone = [weakref.ref(thing), weakref.ref(x)]
        assert compiled(thing, x) == 2
        del thing, x
        gc.collect()
        assert [g() for g in gone] == [None, None]


def test_the_traceback_of_an_error_after_a_break_names_the_users_lines():
    compiled = weft.compile(broken.escapes, backend="eager")
    with pytest.raises(RuntimeError) as e:
        compiled(weft.ones(2))
    lines = [t.lineno + 1 for t in e.traceback if t.path.name == "broken.py"]
    first = broken.escapes.__code__.co_firstlineno
    assert first + 4 in lines and set(lines) <= {first + 2, first + 4, broken.fail.__code__.co_firstlineno + 3}


def test_fullgraph_raises_and_names_the_place():
    with pytest.raises(Exception, match="broken.py") as e:
        weft.compile(broken.straight, backend="eager", fullgraph=True)(weft.ones(2))
    assert "why:" in str(e.value) and "note" in str(e.value)


def own_cell(x):
    n = 3

    def inc():
        nonlocal n
        n += 1
        return n

    cell = inc.__closure__[0]
    weft._dynamo.graph_break()
    inc()
    cell.cell_contents += 10
    weft._dynamo.graph_break()
    return x + cell.cell_contents, n, cell is inc.__closure__[0]


def new_cell(x):
    cell = types.CellType(5)
    weft._dynamo.graph_break()
    cell.cell_contents += 1
    return x + cell.cell_contents


def cell_of_what_a_call_makes(x):
    cell = (lambda v: lambda: v)(2).__closure__[0]
    for _ in range(3):
        weft._dynamo.graph_break()
        cell.cell_contents *= 2
    return x + cell.cell_contents


def cell_from_outside(x, f):
    cell = f.__closure__[0]
    weft._dynamo.graph_break()
    before = cell.cell_contents
    cell.cell_contents = 50
    return x + before, cell.cell_contents, f()


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("function", [own_cell, new_cell, cell_of_what_a_call_makes, cell_from_outside])
def test_a_variable_holds_a_cell_behind_a_break(function, backend):
    def counter(n):
        return lambda: n

    for _ in range(2):
        given = [[counter(1)] if function is cell_from_outside else [] for _ in range(2)]
        compiled = weft.compile(function, backend=backend)
        assert plain(compiled(weft.ones(2), *given[0])) == plain(function(weft.ones(2), *given[1]))


def between_two_breaks(x, a, b):
    weft._dynamo.graph_break()
    x = x + 1
    weft._dynamo.graph_break()
    return x, a is b, a, b


MADE = (lambda: float("1.5"), lambda: int("1" + "0" * 20), lambda: bytes(range(9)).hex, lambda: bytes(range(9)))


@pytest.mark.parametrize("make", MADE)
def test_equal_arguments_stay_the_objects_that_they_are_behind_a_break(make):
    one, other = make(), make()
    assert one is not other
    compiled = weft.compile(between_two_breaks)
    for a, b in ((one, one), (one, other), (other, other), (other, one)):
        _, same, first, second = compiled(weft.ones(2), a, b)
        assert same is (a is b) and first is a and second is b
