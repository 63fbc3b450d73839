"""From a frame to an entry: what is logged, what is refused, what an error inside the compiler does."""

import gc
import sys
import time
import warnings
import weakref

import pytest

import aten
import weft
from aten import errors, logs, settings
from dynamo import _eval_frame, config, convert_frame, exc
from dynamo.source import Scope


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()
    convert_frame.counters.clear()
    errors.forget_warnings()
    yield
    weft.compiler.reset()
    logs.set_logs("")


def ones(n=3):
    return weft.ones(n)


def test_a_plain_frame_needs_no_new_bytecode():
    def f(x, y):
        return {"sum": x + y, "pair": [x * 2, None]}

    g = weft.compile(f, backend="eager")
    assert g(ones(), ones())["pair"][1] is None
    (entry,) = _eval_frame.entries(f.__code__)
    assert entry.code is None and entry.info.graph is not None
    assert [str(s) for s in entry.info.inputs] == ["x", "y"]


def test_side_effects_need_new_bytecode():
    log = []

    def f(x):
        log.append(1)
        return x + 1

    g = weft.compile(f, backend="eager")
    g(ones())
    assert _eval_frame.entries(f.__code__)[0].code is not None and log == [1]


def test_recompilations_are_explained(capfd):
    logs.set_logs("recompiles")

    def f(x, flag):
        return x + 1 if flag else x - 1

    g = weft.compile(f, backend="eager")
    g(ones(), True)
    assert capfd.readouterr().err == ""
    g(ones(), False)
    text = capfd.readouterr().err
    assert "flag is False, compiled for True" in text and "2. time" in text and "test_convert_frame.py" in text
    scope = Scope.of_function(f, {"x": ones(4), "flag": True})
    config = _eval_frame.entries(f.__code__)[0].config
    reasons = convert_frame.why_recompiled(f.__code__, config, scope)
    assert reasons == ["flag is True, compiled for False", "x.shape[0] is 4, compiled for 3"]


def test_graphs_guards_and_breaks_are_logged(capfd):
    logs.set_logs("graph,guards,breaks")

    def f(x):
        y = x * 2
        print("here")
        return y + 1

    weft.compile(f, backend="eager")(ones())
    text = capfd.readouterr().err
    for wanted in ("aten.mul(x, 2)", "TENSOR(x, ", "graph break in", "test_convert_frame.py", 'print("here")', "why:"):
        assert wanted in text


def test_sizes_that_change_become_symbols_and_conditions_are_guarded():
    def f(x):
        return x.view(x.shape[0] // 2, 2) * 2

    g = weft.compile(f, backend="eager")
    for n in (4, 6, 8, 2, 0, 10):
        assert tuple(g(ones(n)).shape) == (n // 2, 2)
    assert convert_frame.counters["frames"] == 3  # (the third for a size of 0)
    with pytest.raises(RuntimeError, match="invalid"):
        g(ones(3))
    entry = _eval_frame.entries(f.__code__)[0]
    assert any("x.shape[0] % 2 == 0" in str(guard) for guard in entry.info.guards)


def test_marked_ranges_are_guarded():
    def f(x):
        return x * 2

    x = ones(5)
    weft._dynamo.mark_dynamic(x, 0, min=4, max=8)
    g = weft.compile(f, backend="eager")
    g(x)
    g(ones(7))
    assert convert_frame.counters["frames"] == 1
    g(ones(9))
    assert convert_frame.counters["frames"] == 2


def test_inputs_that_overlap_and_are_written_run_eager():
    def f(x, y):
        x.add_(1)
        return y * 2

    g = weft.compile(f, backend="eager")
    x, y = ones(4), ones(4)
    assert g(x, y).sum().item() == 8 and x.sum().item() == 8
    base, other = ones(6), ones(6)
    got, want = g(base[:4], base[2:]), f(other[:4], other[2:])
    assert got.tolist() == want.tolist() and base.tolist() == other.tolist()
    assert g(base[:2], base[2:]).tolist() == f(other[:2], other[2:]).tolist()


def test_an_internal_error_is_one_warning_and_eager(monkeypatch):
    def broken(traced):
        raise KeyError("inside the compiler")

    def f(x):
        return x + 1

    g = weft.compile(f, backend="eager")
    monkeypatch.setattr(convert_frame, "shape_guards", broken)
    with settings.patch(strict=True), pytest.raises(KeyError, match="inside the compiler"):
        g(ones())
    weft.compiler.reset()
    errors.forget_warnings()
    with settings.patch(strict=False), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            assert g(ones()).tolist() == [2, 2, 2]
    assert len(seen) == 1 and "inside the compiler" in str(seen[0].message) and "WEFT_STRICT" in str(seen[0].message)


def test_what_a_backend_raises_is_an_error_of_the_call():
    def broken(gm, inputs):
        raise KeyError("inside the backend")

    g = weft.compile(lambda x: x + 1, backend=broken)
    for _ in range(2):  # not only the first time
        with pytest.raises(exc.BackendCompilerFailed, match="backend='broken' raised:\nKeyError: 'inside the backend'") as told:
            g(ones())
        assert type(told.value.inner_exception) is KeyError
    with config.patch(suppress_errors=True), pytest.warns(errors.CompilerWarning, match="inside the backend"):
        assert g(ones()).tolist() == [2, 2, 2]


def test_a_backend_must_return_a_callable():
    g = weft.compile(lambda x: x + 1, backend=lambda gm, inputs: 3)
    with pytest.raises(exc.BackendCompilerFailed, match="not a callable"):
        g(ones())


def test_a_backend_may_return_lists():
    g = weft.compile(lambda x: (x + 1, x - 1), backend=lambda gm, inputs: lambda *a: list(gm(*a)))
    a, b = g(ones())
    assert a.tolist() == [2, 2, 2] and b.tolist() == [0, 0, 0]


class Heard:
    def __init__(self):
        self.total = weft.zeros(1)

    def method(self, phase, info):
        self.__call__(phase, info)

    def __call__(self, phase, info):
        self.total = added(self.total)


def added(total):
    return total + 1


@pytest.mark.parametrize("kind", ["function", "method", "object"])
def test_what_the_collector_calls_is_no_part_of_what_runs(kind):
    heard, captured = Heard(), []
    callback = {"function": lambda phase, info: heard(phase, info), "method": heard.method, "object": heard}[kind]

    def backend(graph, inputs):
        captured.append(str(graph.graph))
        return graph.forward

    def f(x):
        y = x.sin()
        gc.collect()
        return y.cos()

    gc.callbacks.append(callback)
    try:
        compiled = weft.compile(f, backend=backend)
        for _ in range(2):
            assert weft.equal(compiled(ones()), f(ones()))
    finally:
        gc.callbacks.remove(callback)
    assert len(captured) == 2 and "sin" in captured[0] and "cos" in captured[1]
    assert heard.total.item() >= 8  # each collection begins and ends


def test_the_limit_of_recompilations_is_told_once():
    def f(x, n):
        return x + len(n)

    g = weft.compile(f, backend="eager")
    with settings.patch(strict=False), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for i in range(12):
            assert g(ones(), "a" * i).tolist() == [1 + i] * 3
    assert len(seen) == 1 and "8 times" in str(seen[0].message)
    assert len(_eval_frame.entries(f.__code__)) == 8


def test_grad_mode_is_guarded():
    w = ones().requires_grad_()

    def f(x):
        return x * w

    g = weft.compile(f, backend="eager")
    assert g(ones()).requires_grad
    with weft.no_grad():
        assert not g(ones()).requires_grad
    assert g(ones()).requires_grad and convert_frame.counters["frames"] == 2


def test_integer_division_by_zero_is_eagers_error():
    def f(x, y):
        z = x // y
        return z + 1

    def broken(x, y):
        z = x // y
        print(end="")
        return z + 1

    x, zero = weft.tensor([1, 2]), weft.tensor([1, 0])
    for function in (f, broken):
        g = weft.compile(function)
        assert g(x, x).tolist() == [2, 2]
        for call in (function, lambda *a, g=g: g(*a), lambda a, b, g=g: g(a, y=b)):
            with pytest.raises(RuntimeError, match="ZeroDivisionError") as e:
                call(x, zero)
            assert e.value.__context__ is None
            assert any(t.name == function.__name__ for t in e.traceback)


def test_functions_methods_and_callables():
    class Scale:
        k = 3

        def by(self, x):
            return x * self.k

        def __call__(self, x):
            return x + self.k

    s = Scale()
    assert weft.compile(s.by, backend="eager")(ones()).tolist() == [3, 3, 3]
    assert weft.compile(s, backend="eager")(ones()).tolist() == [4, 4, 4]
    assert weft.compile(aten.exp, backend="eager")(weft.zeros(2)).tolist() == [1, 1]
    s.k = 5
    assert weft.compile(s.by, backend="eager")(ones()).tolist() == [5, 5, 5]


def test_heavy_modules_are_not_loaded_for_plain_frames():
    import subprocess

    code = (
        "import weft, sys; f = weft.compile(lambda x: x + 1, backend='eager'); f(weft.ones(2));"
        "print([m for m in ('sympy', 'triton', 'importlib.metadata', 'numpy.random') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_list_that_only_grows_is_not_guarded():
    seen = []

    def f(x):
        y = x * 2
        seen.append(y)
        return y + 1

    g = weft.compile(f, backend="eager")
    for _ in range(5):
        g(ones())
    assert len(seen) == 5 and convert_frame.counters["frames"] == 1

    def reads(x):
        seen.append(x)
        return x * len(seen)

    g = weft.compile(reads, backend="eager")
    assert g(ones()).tolist() == [6, 6, 6] and g(ones()).tolist() == [7, 7, 7]


def test_a_set_from_outside_is_guarded_by_its_contents():
    names = {"a", "b"}

    def f(x):
        return x * len(names) if "c" not in names else x

    g = weft.compile(f, backend="eager")
    assert g(ones()).tolist() == [2, 2, 2]
    names.add("z")
    assert g(ones()).tolist() == [3, 3, 3]
    names.add("c")
    assert g(ones()).tolist() == [1, 1, 1]


# ------------------------------------------------------------------------- calls that are left to Python
def raising(x, k):
    y = x * 2
    if k:
        raise ValueError(k)
    return y


def test_an_exception_raised_in_each_call_is_traced_a_few_times_only():
    g = weft.compile(raising, backend="eager")
    assert g(ones(), 0).tolist() == [2, 2, 2]
    for _ in range(50):
        with pytest.raises(ValueError, match="bad"):
            g(ones(), "bad")
        with pytest.raises(ValueError, match="bad"):
            g(ones(), k="bad")
    assert convert_frame.counters["frames"] == 3  # one to compile, two that raised
    assert g(ones(), 0).tolist() == [2, 2, 2] and convert_frame.counters["frames"] == 3


def test_exceptions_of_new_values_end_the_captures_and_keep_what_was_compiled():
    g = weft.compile(raising, backend="eager")
    assert g(ones(), 0).tolist() == [2, 2, 2]
    for i in range(30):
        with pytest.raises(ValueError, match=f"bad {i}"):
            g(ones(), f"bad {i}")
    assert convert_frame.counters["frames"] == 2 + convert_frame.FRUITLESS
    (entry,) = [e for e in _eval_frame.entries(raising.__code__) if e.info.graph is not None]
    before = entry.hits
    assert g(ones(), 0).tolist() == [2, 2, 2] and entry.hits == before + 1


def test_a_call_that_was_certain_to_raise_and_returns_is_an_internal_error(monkeypatch):
    from dynamo import interpreter, outcome

    def f(x):
        return x + 1

    def mistraced(*a):
        return outcome.RunEager("it raises TypeError", TypeError)

    monkeypatch.setattr(interpreter, "trace_frame", mistraced)
    for call in (lambda g: g(ones()), lambda g: g(x=ones())):
        with settings.patch(strict=True), pytest.raises(RuntimeError, match="the call returned, and tracing found"):
            call(weft.compile(f, backend="eager"))
        weft.compiler.reset()
        with pytest.raises(RuntimeError, match="an internal error: the call returned"):
            call(weft.compile(f, backend="eager", fullgraph=True))
        weft.compiler.reset()
        errors.forget_warnings()
        convert_frame.counters.clear()
        with settings.patch(strict=False), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            g = weft.compile(f, backend="eager")
            for _ in range(5):
                assert call(g).tolist() == [2, 2, 2]
        assert len(seen) == 1 and convert_frame.counters["frames"] == 1
        weft.compiler.reset()


def test_overlapping_inputs_are_traced_once():
    def f(x, y):
        x.add_(1)
        return y * 2

    g = weft.compile(f, backend="eager")
    x = ones(4)
    for i in range(10):
        assert g(x, x).tolist() == [2 * (i + 2)] * 4
    frames = convert_frame.counters["frames"]
    a, b = ones(6), ones(6)
    for _ in range(5):
        assert g(a[:4], a[2:]).tolist() == f(b[:4], b[2:]).tolist() and a.tolist() == b.tolist()
    assert convert_frame.counters["frames"] <= frames + 1
    assert g(ones(4), ones(4)).tolist() == [2, 2, 2, 2]


def test_fullgraph_never_runs_eager_silently(monkeypatch):
    def overlapping(x, y):
        x.add_(1)
        return y * 2

    x = ones(4)
    with pytest.raises(RuntimeError, match="share memory"):
        weft.compile(overlapping, backend="eager", fullgraph=True)(x[:3], x[1:])
    assert x.tolist() == [1] * 4

    def broken(traced):
        raise KeyError("inside")

    with monkeypatch.context() as patch:
        patch.setattr(convert_frame, "shape_guards", broken)
        for _ in range(2):  # not only the first time
            with settings.patch(strict=False), pytest.raises(exc.InternalTorchDynamoError, match="an internal error: KeyError"):
                weft.compile(overlapping, backend="eager", fullgraph=True)(ones(2), ones(2))
    with pytest.raises(ValueError, match="bad"):  # the program's own error is the program's
        weft.compile(raising, backend="eager", fullgraph=True)(ones(), "bad")


def test_frames_without_tensors_are_looked_at_once():
    def numbers(n):
        found = []
        for i in range(n):
            found.append(i * i)
        return found

    g = weft.compile(numbers, backend="eager")
    for n in range(10):
        assert g(n) == numbers(n)
    assert convert_frame.counters["frames"] == 1


def test_captures_that_find_nothing_end():
    class Odd:
        def __init__(self, n):
            self.n = n

    def f(o):
        a = o.n + 1
        print(end="")
        return a

    g = weft.compile(f, backend="eager")
    assert [g(Odd("a" * n if n % 2 else n) if n % 2 == 0 else Odd(n / 3)) for n in range(30)]
    assert convert_frame.counters["frames"] < 20


# ------------------------------------------------------------------------------------------ weak references
def test_a_weak_reference_that_is_read():
    class Holder:
        pass

    o = Holder()
    r = weakref.ref(o)

    def f(x):
        return x * 2 if r() else x

    def twice(x):
        return x * (r().n if r() is not None else 0)

    o.n = 5
    g, h = weft.compile(f, backend="eager"), weft.compile(twice, backend="eager")
    for _ in range(3):
        assert g(ones()).tolist() == [2, 2, 2] and h(ones()).tolist() == [5, 5, 5]
    o.n = 6
    assert h(ones()).tolist() == [6, 6, 6]
    del o
    gc.collect()
    for _ in range(3):
        assert g(ones()).tolist() == [1, 1, 1] and h(ones()).tolist() == [0, 0, 0]


def test_guards_that_contradict_one_another_are_an_internal_error_that_says_which(monkeypatch):
    from dynamo import guards as kinds
    from dynamo.source import Local

    def f(x, n):
        return x + n

    real = convert_frame.shape_guards
    wrong = kinds.Equals(Local("n"), 3)
    monkeypatch.setattr(convert_frame, "shape_guards", lambda traced: [*real(traced), wrong])
    for call in (lambda g: g(ones(), 2), lambda g: g(ones(), n=2)):
        with settings.patch(strict=True), pytest.raises(RuntimeError, match=r"EQUALS\(n, 3\): n is 2, compiled for 3"):
            call(weft.compile(f, backend="eager"))
        weft.compiler.reset()
        errors.forget_warnings()
        with settings.patch(strict=False), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            g = weft.compile(f, backend="eager")
            for _ in range(4):
                assert call(g).tolist() == [3, 3, 3]
        assert len(seen) == 1 and "n is 2, compiled for 3" in str(seen[0].message)
        weft.compiler.reset()


def test_an_attribute_read_deleted_and_read_again():
    class Holder:
        k = 1

    def f(o, x):
        a = o.k
        del o.k
        return x * a + o.k

    for _ in range(2):
        o, p = Holder(), Holder()
        o.k = p.k = 7
        g = weft.compile(f, backend="eager")
        assert g(o, ones()).tolist() == f(p, ones()).tolist() == [8, 8, 8]
        assert o.__dict__ == p.__dict__ == {}


def test_fullgraph_is_asked_of_the_compiled_function_alone():
    """A function in which nothing was found to capture runs as it is; what then runs in its calls is not its graph."""

    def late(phase, info):
        time.perf_counter()  # no graph can do it

    def f(n):
        return [[] for _ in range(n)]

    g = weft.compile(f, fullgraph=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(convert_frame.FRUITLESS + 1):
            g(3)
        before = gc.get_threshold()
        gc.callbacks.append(late)
        gc.set_threshold(1)
        try:
            for n in range(20):
                assert g(n) == [[]] * n
        finally:
            gc.set_threshold(*before)
            gc.callbacks.remove(late)
    assert [str(w.message) for w in seen] == []


def test_the_warning_at_the_limit_may_be_an_error(monkeypatch):
    def f(x, flag):
        return x * 2 if flag else x

    monkeypatch.setattr(weft._dynamo.config, "recompile_limit", 1)
    compiled = weft.compile(f, backend="eager")
    x = weft.ones(2)
    compiled(x, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.CompilerWarning, match="its limit"):
            compiled(x, False)
        assert compiled(x, False).tolist() == [1, 1]
