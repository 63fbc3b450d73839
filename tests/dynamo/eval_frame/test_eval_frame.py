"""The hook, entries and compiled functions, with a toy in the compiler's place."""

import gc
import inspect
import sys
import threading
import types
import weakref

import pytest

from dynamo import _eval_frame, eval_frame
from dynamo._eval_frame import CompiledFunction, Entry
from dynamo.eval_frame import Config
from dynamo.guard_program import GuardCompiler
from dynamo.guards import Equals, TypeIs
from dynamo.source import Local


class Refused(Exception):
    """A graph's word for data it does not take."""


class ToyCompiler:
    """Compiles by calling `make(code, function, args, config)`; remembers what it was asked."""

    def __init__(self, make):
        self.make = make
        self.asked = []
        self.told = []

    def compile_frame(self, code, function, args, config, record):
        self.asked.append((code.co_name, dict(args)))
        assert _eval_frame.active_config() is None
        assert threading.active_count() > 1 or not _eval_frame.is_open()
        return self.make(code, function, args, config)

    def limit_reached(self, code, limit, config):
        self.told.append(("limit", code.co_name, limit))

    def guards_inconsistent(self, code, entry):
        self.told.append(("inconsistent", code.co_name))

    def rerun_returned(self, code):
        self.told.append(("rerun", code.co_name))


@pytest.fixture
def toy():
    made = []

    def start(make):
        compiler = ToyCompiler(make)
        _eval_frame.set_compiler(compiler, Refused)
        made.append(compiler)
        return compiler

    yield start
    _eval_frame.set_compiler(eval_frame._Compiler(), None)
    _eval_frame.reset()
    assert not _eval_frame.is_open() and _eval_frame.active_config() is None


def entry(code, config, guards=(), new=None, graph=None, inputs=(), result=None, **more):
    compiler = GuardCompiler(code, list(guards), inputs)
    program = compiler.compile()
    if new is not None:
        return Entry(config, program, code=new, **more)
    return Entry(config, program, graph=graph, inputs=tuple(map(compiler.register, inputs)), result=result, **more)


def recoded(code, **constants):
    """The code with constants exchanged: a visible change that keeps everything else."""
    swap = {v: k for k, v in constants.items()}
    consts = tuple(swap.get(c, c) if isinstance(c, str) else c for c in code.co_consts)
    return code.replace(co_consts=consts, co_stacksize=code.co_stacksize + 7)


def swapping(code, function, args, config):
    return entry(code, config, new=recoded(code, compiled="eager"))


CONFIG = Config(backend=print)


def test_every_form_of_call_reaches_the_new_code(toy):
    compiler = toy(swapping)

    def f(a, b=2, *rest, c=3, **more):
        return "eager", a, b, rest, c, more

    g = CompiledFunction(f, CONFIG)
    assert g(1) == ("compiled", 1, 2, (), 3, {})
    assert g(1, 5, 6, 7, c=8, d=9) == ("compiled", 1, 5, (6, 7), 8, {"d": 9})
    assert g(*[1], **{"b": 4}) == ("compiled", 1, 4, (), 3, {})
    assert compiler.asked == [("f", {"a": 1, "b": 2, "c": 3, "rest": (), "more": {}})]
    assert f(1)[0] == "eager"
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        g()

    def plain(a, b):
        return "eager", a, b

    h = CompiledFunction(plain, CONFIG)
    assert h(1, 2) == ("compiled", 1, 2) and h(1, b=2) == ("compiled", 1, 2) and h(b=3, a=2) == ("compiled", 2, 3)
    assert [name for name, _ in compiler.asked] == ["f", "plain"]


def test_a_direct_entry_calls_the_graph_without_a_frame(toy):
    def graph(*inputs):
        return tuple(i * 2 for i in inputs)

    result = ("dict", (("x", "rest"), (("output", 0), ("list", (("output", 1), ("const", None), ("reg", 0))))))

    def make(code, function, args, config):
        inputs = (Local("a"), Local("b"))
        return entry(code, config, [TypeIs(Local("a"), int)], graph=graph, inputs=inputs, result=result)

    toy(make)

    def f(a, b):
        raise AssertionError("the frame ran")

    g = CompiledFunction(f, CONFIG)
    for _ in range(3):
        assert g(3, 4) == {"x": 6, "rest": [8, None, 3]}
        assert g(3, b=4) == {"x": 6, "rest": [8, None, 3]}  # through the hook: the frame ends with the result


def test_guards_choose_among_entries(toy):
    def make(code, function, args, config):
        n = args["n"]
        return entry(code, config, [Equals(Local("n"), n)], result=("const", f"for {n}"))

    compiler = toy(make)

    def f(n):
        return "eager"

    g = CompiledFunction(f, Config(backend=print, recompile_limit=4))
    for _ in range(3):
        for n in (1, 2, 3, 4):
            assert g(n) == f"for {n}"
            assert g(n=n) == f"for {n}"
    assert len(compiler.asked) == 4
    assert g(5) == "eager" and g(n=6) == "eager" and g(1) == "for 1"
    assert compiler.told == [("limit", "f", 4)]
    assert [e.hits > 0 for e in _eval_frame.entries(f.__code__)] == [True] * 4
    other = CompiledFunction(f, Config(backend=len))
    assert other(9) == "for 9"  # entries belong to a configuration
    _eval_frame.reset(f.__code__)
    assert _eval_frame.entries(f.__code__) == []


def test_frames_called_by_an_open_entry_are_captured_and_others_not(toy):
    captured = []

    def make(code, function, args, config):
        captured.append(code.co_name)
        return entry(code, config, new=recoded(code, compiled="eager"), opens_window=code.co_name == "outer")

    toy(make)

    def leaf():
        return "eager"

    def inner():
        return "eager", leaf()

    def outer():
        return "eager", inner(), [leaf(), leaf()]

    g = CompiledFunction(outer, CONFIG)
    for _ in range(2):
        # `inner` is captured, and its entry opens no window, so that `leaf` below it runs as it is
        found = g()
        assert found[:2] == ("compiled", ("compiled", "eager"))
        assert found[2] == ["compiled", "compiled"]
    assert inner() == ("eager", "eager") and not _eval_frame.is_open()


def test_none_runs_eager_this_time_and_false_always(toy):
    answers = iter([None, None, False])
    compiler = toy(lambda *a: next(answers))

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    assert [g(1), g(x=1), g(1), g(1), g(x=1)] == ["eager"] * 5
    assert len(compiler.asked) == 3


def test_an_error_of_the_compiler_is_the_callers(toy):
    def make(code, function, args, config):
        raise KeyError("inside")

    toy(make)

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    for call in (lambda: g(1), lambda: g(x=1)):
        with pytest.raises(KeyError, match="inside"):
            call()


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


def test_a_graph_that_refuses_its_data_leaves_the_call_to_eager(toy):
    def graph(x):
        if x < 0:
            raise Refused
        return (x,)

    def make(code, function, args, config):
        return entry(code, config, graph=graph, inputs=(Local("x"),), result=("output", 0))

    compiler = toy(make)

    def f(x):
        if x == -1:
            raise IndexError("as eager says")
        return "eager"

    g = CompiledFunction(f, CONFIG)
    assert g(1) == 1 and g(x=2) == 2
    for call in (lambda: g(-1), lambda: g(x=-1)):
        with pytest.raises(IndexError, match="as eager says") as e:
            call()
        assert e.value.__context__ is None
    assert compiler.told == []
    assert g(-2) == "eager" and compiler.told == [("rerun", "f")]


def test_other_errors_of_a_graph_are_raised(toy):
    def graph(x):
        raise OSError("gone")

    toy(lambda code, f, args, config: entry(code, config, graph=graph, inputs=(Local("x"),), result=("output", 0)))

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    for call in (lambda: g(1), lambda: g(x=1)):
        with pytest.raises(OSError, match="gone"):
            call()


def test_methods_and_attributes(toy):
    toy(swapping)

    class A:
        def method(self, x=1):
            """A docstring."""
            return "eager", self.n, x

        method = CompiledFunction(method, CONFIG)

    a = A()
    a.n = 5
    assert a.method() == ("compiled", 5, 1)
    assert a.method(3) == A.method(a, 3) == A.method(a, x=3) == ("compiled", 5, 3)
    assert isinstance(a.method, types.MethodType)
    f = A.method
    assert f.__name__ == "method" and f.__doc__ == "A docstring." and f.__qualname__.endswith("A.method")
    assert f.__module__ == __name__ and f.__defaults__ == (1,)
    assert str(inspect.signature(f)) == "(self, x=1)"
    f.note = "kept"
    assert f.note == "kept" and f.__dict__ == {"note": "kept"}
    with pytest.raises(AttributeError):
        f.missing  # noqa: B018
    assert weakref.ref(f)() is f and "A.method" in repr(f)


def test_a_disabled_function_captures_nothing_below_it(toy):
    toy(lambda code, f, args, config: entry(code, config, new=recoded(code, compiled="eager"), opens_window=True))

    def leaf():
        return "eager"

    def middle():
        return leaf()

    quiet = eval_frame.disable(middle)

    def outer():
        return "eager", quiet(), leaf()

    g = CompiledFunction(outer, CONFIG)
    assert g() == ("compiled", "eager", "compiled")


def test_stances(toy):
    compiler = toy(swapping)

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    assert _eval_frame.set_stance("eager") == "compile"
    try:
        assert g(1) == g(x=1) == "eager"
        _eval_frame.set_stance("run_only")
        assert g(1) == g(x=1) == "eager" and not compiler.asked
        _eval_frame.set_stance("compile")
        assert g(1) == "compiled"
        _eval_frame.set_stance("run_only")
        assert g(1) == g(x=1) == "compiled"
    finally:
        _eval_frame.set_stance("compile")
    with pytest.raises(ValueError, match="stance"):
        _eval_frame.set_stance("never")


def test_skipped_code_and_what_it_calls(toy):
    toy(lambda code, f, args, config: entry(code, config, new=recoded(code, compiled="eager"), opens_window=True))

    def leaf():
        return "eager"

    def library():
        return "eager", leaf()

    def outer(first):
        return library()

    g = CompiledFunction(outer, CONFIG)
    _eval_frame.skip(library.__code__)
    assert g(1) == ("eager", "compiled")
    _eval_frame.skip(library.__code__, True)
    assert g(1) == ("eager", "eager")


def test_generators_and_coroutines_pass_through(toy):
    toy(lambda code, f, args, config: entry(code, config, new=recoded(code, compiled="eager"), opens_window=True))

    def numbers(n):
        for i in range(n):
            got = yield i, "eager"
            if got:
                yield got

    async def later():
        return "eager"

    def f(n):
        g = numbers(n)
        c = later()
        try:
            c.send(None)
        except StopIteration as e:
            done = e.value
        return "eager", [next(g), g.send("sent"), *g], done

    g = CompiledFunction(f, CONFIG)
    name, values, done = g(2)
    assert name == "compiled" and values == [(0, "eager"), "sent", (1, "eager")] and done == "eager"


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
    toy(lambda code, f, args, config: entry(code, config, new=recoded(code, compiled="eager"), opens_window=True))

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
    toy(lambda code, f, args, config: entry(code, config, new=recoded(code, compiled="eager"), opens_window=True))

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


def test_references_are_given_back(toy):
    def make(code, function, args, config):
        if code.co_name == "direct":
            return entry(code, config, graph=lambda x: (x,), inputs=(Local("x"),), result=("output", 0))
        return entry(code, config, new=recoded(code, compiled="eager"))

    compiler = toy(make)

    def direct(x):
        return x

    def swapped(x):
        if x.fail:
            raise ValueError("eager")
        return x

    class Thing:
        fail = False

    for f in (direct, swapped):
        g = CompiledFunction(f, CONFIG)
        thing = Thing()
        g(thing)
        g(x=thing)
        before = sys.getrefcount(thing)
        for _ in range(50):
            g(thing)
            g(x=thing)
        assert sys.getrefcount(thing) == before
        thing.fail = True
        for _ in range(20):
            for call in (lambda g=g, t=thing: g(t), lambda g=g, t=thing: g(x=t)):
                try:
                    call()
                except ValueError:
                    pass
        del call
        gc.collect()
        assert sys.getrefcount(thing) == before
        gone = weakref.ref(thing)
        compiler.asked.clear()
        del thing
        gc.collect()
        assert gone() is None
    code_references = sys.getrefcount(swapped.__code__)
    for _ in range(50):
        g(x=Thing())
    after = sys.getrefcount(swapped.__code__)
    assert after == code_references


def test_entries_die_with_their_code(toy):
    toy(swapping)
    space = {}
    exec("def f(x):\n    return 'eager'", space)
    g = CompiledFunction(space["f"], CONFIG)
    assert g(1) == "compiled"
    new = weakref.ref(_eval_frame.entries(space["f"].__code__)[0].code)
    del g, space
    gc.collect()
    assert new() is None


def test_the_code_of_the_function_may_be_exchanged(toy):
    toy(swapping)

    def f(x):
        return "eager"

    def other(x):
        return "eager", x

    g = CompiledFunction(f, CONFIG)
    assert g(1) == "compiled"
    f.__code__ = other.__code__
    assert g(1) == ("compiled", 1) and g(x=2) == ("compiled", 2)


def test_closures_of_one_code_share_an_entry(toy):
    compiler = toy(swapping)

    def make(n):
        def f(x):
            return "eager", n, x

        return f

    for n in range(4):
        g = CompiledFunction(make(n), CONFIG)
        assert g(1) == g(x=1) == ("compiled", n, 1)
    assert len(compiler.asked) == 1


def test_threads_compile_once_and_never_wait_for_each_other(toy):
    inside = threading.Event()
    go_on = threading.Event()

    def make(code, function, args, config):
        inside.set()
        assert go_on.wait(20)
        return entry(code, config, new=recoded(code, compiled="eager"))

    compiler = toy(make)

    def f(x):
        return "eager"

    g = CompiledFunction(f, CONFIG)
    found = []
    first = threading.Thread(target=lambda: found.append(g(1)))
    first.start()
    assert inside.wait(20)
    assert g(1) == "eager" and g(x=1) == "eager"  # the other thread is compiling it
    go_on.set()
    first.join()
    assert found == ["compiled"] and g(1) == "compiled" and len(compiler.asked) == 1


def test_many_threads_with_windows_opening_and_closing(toy):
    def make(code, function, args, config):
        if code.co_name == "f":
            guards = [TypeIs(Local("x"), type(args["x"]))]
            return entry(code, config, guards, new=recoded(code, compiled="eager"), opens_window=True)
        return entry(code, config, new=recoded(code, compiled="eager"))

    toy(make)

    def leaf(y):
        return "eager", y

    def f(x, k=0):
        try:
            return "eager", leaf(x), [leaf(0)[1], leaf(1)[1]], 1 // k
        except ZeroDivisionError:
            return "eager", leaf(x), [leaf(0)[1], leaf(1)[1]], None

    g = CompiledFunction(f, CONFIG)
    wrong = []

    def work(value):
        for i in range(2000):
            found = g(value) if i % 3 else g(value, k=1)
            want = ("compiled", ("compiled", value), [0, 1], None if i % 3 else 1)
            if found != want and "eager" not in str(found):
                wrong.append(found)
            if leaf(value) != ("eager", value):
                wrong.append("captured outside")

    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(v,)) for v in (1, "a", 2.0, None)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(old)
    assert not wrong and not _eval_frame.is_open()


def test_a_compiled_function_called_by_a_compiled_function(toy):
    toy(lambda code, f, args, config: entry(code, config, new=recoded(code, compiled="eager"), opens_window=True))
    other_config = Config(backend=len)

    def leaf():
        return "eager", _eval_frame.active_config()

    inner = CompiledFunction(leaf, other_config)

    def outer():
        return "eager", inner(), _eval_frame.active_config()

    g = CompiledFunction(outer, CONFIG)
    assert g() == ("compiled", ("compiled", other_config), CONFIG)


def test_the_hook_passes_through_one_that_was_there(toy):
    # Only what can be seen from Python: windows nest, and the last one to close takes the hook out.
    toy(lambda code, f, args, config: entry(code, config, new=recoded(code, compiled="eager"), opens_window=True))

    def probe():
        return _eval_frame.is_open()

    inner = CompiledFunction(probe, CONFIG)

    def outer():
        return inner(), _eval_frame.is_open()

    assert CompiledFunction(outer, CONFIG)() == (True, True)
    assert not _eval_frame.is_open()


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError):
        CompiledFunction(3, CONFIG)
    with pytest.raises(TypeError, match="either code or a result"):
        Entry(CONFIG, GuardCompiler(test_stances.__code__, []).compile())
    with pytest.raises(TypeError):
        _eval_frame.skip("not code")
    with pytest.raises(TypeError, match="callable"):
        eval_frame.optimize(3, CONFIG)
