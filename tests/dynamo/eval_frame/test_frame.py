"""The frame whose code was exchanged: tracebacks, tracing, recursion, room for locals."""

import sys
import threading

import pytest

from dynamo._eval_frame import CompiledFunction
from tests.dynamo.eval_frame.toy import CONFIG, entry, opening, swapping


def test_exceptions_pass_with_their_traceback_and_lines(toy):
    toy(swapping)

    def f(x):
        name = "eager"
        return name, 1 // x

    g = CompiledFunction(f, CONFIG)
    assert g(1) == ("compiled", 1)
    for call in (lambda: g(0), lambda: g(x=0)):
        with pytest.raises(ZeroDivisionError) as e:
            call()
        last = e.traceback[-1]
        assert last.name == "f" and last.lineno + 1 == f.__code__.co_firstlineno + 2


def test_tracing_and_profiling_see_the_new_code(toy):
    toy(swapping)

    def f(x):
        y = "eager"
        return y

    g = CompiledFunction(f, CONFIG)
    g(1)
    events = []

    def trace(frame, event, arg):
        if frame.f_code.co_name == "f":
            events.append((event, frame.f_lineno - f.__code__.co_firstlineno, arg if event == "return" else None))
        return trace

    old = sys.gettrace()
    for call in (lambda: g(1), lambda: g(x=1)):
        events.clear()
        sys.settrace(trace)
        try:
            assert call() == "compiled"
        finally:
            sys.settrace(old)
        assert events == [("call", 0, None), ("line", 1, None), ("line", 2, None), ("return", 2, "compiled")]
    profile = []
    sys.setprofile(lambda frame, event, arg: profile.append(event) if frame.f_code.co_name == "f" else None)
    try:
        g(x=1)
    finally:
        sys.setprofile(None)
    assert profile == ["call", "return"]


def test_recursion_as_deep_as_python_allows(toy):
    toy(opening)

    def down(n):
        return n and 1 + down(n - 1)

    def start(n):
        return down(n)

    g = CompiledFunction(start, CONFIG)
    assert g(800) == 800
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(4000)
    try:
        assert g(3000) == 3000
        with pytest.raises(RecursionError):
            g(10**6)
    finally:
        sys.setrecursionlimit(old)


def test_recursion_beyond_the_c_stack_is_an_error_not_a_crash(toy):
    toy(opening)

    def down(n):
        return n and 1 + down(n - 1)

    def start(n):
        return down(n)

    g = CompiledFunction(start, CONFIG)
    found = []

    def run():
        try:
            g(10**6)
        except RecursionError as e:
            found.append(str(e))

    old, size = sys.getrecursionlimit(), threading.stack_size(1 << 20)
    sys.setrecursionlimit(10**6)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(old)
        threading.stack_size(size)
    assert len(found) == 1


def test_more_locals_than_the_frame_has_room_for(toy):
    names = tuple(f"v{i}" for i in range(300))

    def make(code, function, args, config):
        body = "\n".join(f"    v{i} = x + {i}" for i in range(300))
        space = {}
        exec(f"def f(x, deep):\n{body}\n    return ('compiled', v299)", space)
        new = space["f"].__code__
        assert set(names) <= set(new.co_varnames)
        return entry(code, config, new=new)

    toy(make)

    def f(x, deep):
        return "eager", x

    g = CompiledFunction(f, CONFIG)

    def nest(n):
        return nest(n - 1) if n else g(x=1, deep=n)

    found = [nest(n) for n in range(200)]
    assert found[-1] == ("compiled", 300)
    assert {r[0] for r in found} <= {"compiled", "eager"}  # eager only where a chunk of the stack ends
    assert sum(r[0] == "eager" for r in found) < 10
