"""What users say about their functions, and how compiled functions are told to behave."""

import io
import threading
from dataclasses import dataclass

import pytest
from weft._dynamo import config, exc
from weft._dynamo.comptime import comptime

import weft
from aten.errors import CompilerWarning, ConstraintViolationError
from dynamo.testing import AotEagerAndRecordGraphs, CompileCounter, CompileCounterWithBackend, EagerAndRecordGraphs

x = weft.ones(3)


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_an_allowed_function_is_one_call_of_the_graph(backend):
    @weft.compiler.allow_in_graph
    def helper(x, k):
        weft._dynamo.graph_break()
        return {"sin": x.sin() + k}["sin"]

    counter = CompileCounterWithBackend(backend)
    compiled = weft.compile(lambda x: helper(x, 3) * 2, backend=counter, fullgraph=True)
    value = weft.ones(2, requires_grad=True)
    compiled(value).sum().backward()
    weft.testing.assert_close(value.grad, 2 * weft.ones(2).cos())
    assert (counter.frame_count, counter.op_count) == (1, 2)


def test_an_allowed_function_takes_dataclasses():
    @dataclass(frozen=True)
    class Pair:
        x: weft.Tensor
        y: weft.Tensor
        scale: int = 3

    @weft.compiler.allow_in_graph
    def joined(pair, *, more):
        weft._dynamo.graph_break()
        return (pair.x + pair.y) * pair.scale + more.x

    def f(a, b):
        return joined(Pair(a, b), more=Pair(b, a)) + 1

    a, b = weft.randn(2), weft.randn(2)
    for backend in ("eager", "aot_eager"):
        weft.testing.assert_close(weft.compile(f, backend=backend, fullgraph=True)(a, b), f(a, b))


def test_disallowed_ops_break_the_graph():
    def f(x):
        return weft.sub(x + 1, 1) + 1

    counter = CompileCounter()
    weft._dynamo.disallow_in_graph(weft.sub)
    try:
        assert weft.equal(weft.compile(f, backend=counter)(x), x + 1)
    finally:
        weft._dynamo.allow_in_graph(weft.sub)
    assert (counter.frame_count, counter.op_count) == (2, 2)
    with pytest.raises(exc.IncorrectUsage, match="does not"):
        weft._dynamo.disallow_in_graph(f)


def test_a_constant_result_is_asked_for_once():
    calls = []

    @weft.compiler.assume_constant_result
    def ask(n):
        calls.append(n)
        return [n] * 3

    compiled = weft.compile(lambda x: x + ask(2)[1], backend="eager", fullgraph=True)
    assert compiled(x).tolist() == [3, 3, 3] == compiled(x).tolist() and calls == [2]


def test_a_substitute_is_traced_in_place_of_its_original():
    import _operator

    with pytest.raises(TypeError, match="Signature mismatch"):
        weft.compiler.substitute_in_graph(_operator.indexOf)(lambda sequence: 1)

    class Helper:
        def __init__(self, k):
            self.k = k

        __call__ = id  # anything written in C

    original = Helper(2)

    @weft.compiler.substitute_in_graph(original, skip_signature_check=True)
    def substitute(x):
        return x * 5

    assert weft.compile(lambda x: original(x) + 1, backend="eager", fullgraph=True)(x).tolist() == [6, 6, 6]
    with pytest.raises(ValueError, match="already has a substitute"):
        weft.compiler.substitute_in_graph(original, skip_signature_check=True)(lambda x: x)


def test_what_is_forbidden_in_graphs():
    forbidden = weft._dynamo.forbid_in_graph(lambda x: x)
    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        weft.compile(lambda x: forbidden(x) + 1, backend="eager")(x)

    def f(x):
        with weft.compiler.set_stance("force_eager"):
            return x + 1

    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        weft.compile(f, backend="eager")(x)


def test_stances():
    compiled = weft.compile(lambda x, n: x + n + weft.compiler.is_compiling(), backend="eager", dynamic=False)
    assert compiled(x, 1).tolist() == [3, 3, 3]
    with weft.compiler.set_stance("force_eager"):
        assert compiled(x, 1).tolist() == [2, 2, 2]
    with weft.compiler.set_stance("eager_on_recompile"):
        assert compiled(x, 1).tolist() == [3, 3, 3] and compiled(x, 2).tolist() == [3, 3, 3]
    with weft.compiler.set_stance("fail_on_recompile"):
        assert compiled(x, 1).tolist() == [3, 3, 3]
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            compiled(x, 2)
    assert compiled(x, 2).tolist() == [4, 4, 4]
    weft.compiler.set_stance("force_eager")
    assert compiled(x, 2).tolist() == [3, 3, 3]
    weft.compiler.set_stance("default")
    assert compiled(x, 2).tolist() == [4, 4, 4]
    with pytest.raises(RuntimeError, match="invalid torch.compile stance"):
        weft.compiler.set_stance("lazy")


def test_a_stance_forces_a_backend():
    counter = CompileCounter()
    compiled = weft.compile(lambda x: x * 3, backend="eager")
    compiled(x)

    @weft.compiler.set_stance("default", force_backend=counter)
    def under(x):
        return compiled(x)

    assert under(x).tolist() == [3, 3, 3] == compiled(x).tolist() == under(x).tolist()
    assert counter.frame_count == 1
    with pytest.raises(RuntimeError, match="force_backend"):
        weft.compiler.set_stance("force_eager", force_backend="eager")


def test_comptime_sees_what_is_known():
    seen, told = [], io.StringIO()
    globals()["look"] = lambda ctx: (seen.append(ctx.get_local("y").size(0)), ctx.print_graph(verbose=False, file=told))

    def f(x):
        y = x * 2
        comptime(look)  # noqa: F821
        comptime.assert_static(x.shape[0])
        return comptime.print_value_stack_and_return(y + 1)

    assert weft.compile(f, backend="eager", fullgraph=True)(x).tolist() == [3, 3, 3] == f(x).tolist()
    assert seen == [3] and "mul" in told.getvalue()


def test_limits_and_recompilations_are_errors_where_asked_for():
    compiled = weft.compile(lambda x, flag: x + flag, backend="eager")
    with config.patch(cache_size_limit=1, fail_on_cache_limit_hit=True):
        compiled(x, True)
        for _ in range(2):
            with pytest.raises(exc.FailOnRecompileLimitHit, match="1 times, its limit"):
                compiled(x, False)
    with config.patch(error_on_recompile=True), pytest.raises(exc.RecompileError, match="Recompiling"):
        compiled(x, False)
    assert config.recompile_limit == 8


def test_beyond_the_limit_nothing_below_is_compiled():
    def inner(x, n):
        return x + n

    def outer(x, n):
        return inner(x, n) * 2

    counter = CompileCounter()
    compiled = weft.compile(outer, backend=counter, dynamic=False)
    with config.patch(recompile_limit=2), pytest.warns(CompilerWarning, match="2 times, its limit"):
        for n in range(5):
            assert compiled(x, n).tolist() == [2 * (1 + n)] * 3
    assert counter.frame_count == 2


def test_settings_of_shapes_and_numbers():
    counter = CompileCounter()
    compiled = weft.compile(lambda x, n: x * n, backend=counter)
    with config.patch(assume_static_by_default=False):
        compiled(weft.ones(3), 1.5)
        compiled(weft.ones(4), 1.5)
    assert counter.frame_count == 1
    constant = weft.compile(lambda x, n: x * n, backend=counter)
    with config.patch({"specialize_float": True, "specialize_int": True}):
        for n in (2.5, 3.5, 4, 5):
            assert constant(weft.ones(3), n).tolist() == [n] * 3
    assert counter.frame_count == 5


def test_optimize_run_and_callbacks():
    counter = CompileCounter()
    compiled = weft._dynamo.optimize(counter)(lambda x: x + 2)
    heard = []
    started = weft._dynamo.on_compile_start(lambda: heard.append("start"))
    ended = weft._dynamo.on_compile_end(lambda: heard.append("end"))
    compiled(x)
    compiled(x)
    weft._dynamo.callback_handler.remove_start_callback(started)
    weft._dynamo.callback_handler.remove_end_callback(ended)
    assert heard == ["start", "end"] and counter.frame_count == 1
    assert weft._dynamo.run(compiled)(weft.ones(2, 2)).shape == (2, 2) and counter.frame_count == 1

    def plain(x):
        return x + 7

    with pytest.raises(RuntimeError, match="raise_on_ctx_manager_usage"), weft._dynamo.optimize(counter):
        pass
    with config.patch(raise_on_ctx_manager_usage=False), weft._dynamo.optimize(counter):
        assert plain(x).tolist() == [8, 8, 8]
    assert counter.frame_count == 2
    with pytest.raises(exc.Unsupported):
        weft._dynamo.optimize_assert("eager")(lambda x: (weft._dynamo.graph_break(), x)[1])(x)


def test_counters_and_recording_backends():
    def f(x):
        return (x * 2).sin()

    weft._dynamo.reset()
    kept, core = EagerAndRecordGraphs(), AotEagerAndRecordGraphs()
    weft.compile(f, backend=kept)(x)
    weft.compile(f, backend=core)(weft.ones(2, requires_grad=True)).sum().backward()
    assert (len(kept.graphs), len(core.graphs), len(core.fw_graphs), len(core.bw_graphs)) == (1, 1, 1, 1)
    assert weft._dynamo.utils.counters["stats"] == {"unique_graphs": 2, "calls_captured": 4}
    assert weft._dynamo.utils.counters["frames"] == {"total": 2, "ok": 2}


def test_a_marked_address_is_guarded():
    counter = CompileCounter()
    compiled = weft.compile(lambda x: x + 1, backend=counter)
    first = weft.ones(2)
    weft._dynamo.mark_static_address(first)
    compiled(first), compiled(first), compiled(weft.ones(2)), compiled(weft.ones(2))
    assert counter.frame_count == 2


def test_wrap_numpy():
    import numpy as np

    @weft.compiler.wrap_numpy
    def total(x):
        return np.sum(x * 2)

    assert float(total(x)) == 6 == float(weft.compile(total, backend="eager", fullgraph=True)(x))


def test_marked_sizes_that_the_program_does_not_take():
    marked = weft.ones(3, 2)
    weft._dynamo.mark_dynamic(marked, 0, max=9)
    compiled = weft.compile(lambda x: x * 2 if x.shape[0] == 3 else x, backend="eager")
    with pytest.raises(ConstraintViolationError, match="works for 3 only"):
        compiled(marked)
    with pytest.raises(ConstraintViolationError, match="works for 3 only"):
        weft.compile(lambda x: x * 2 if 2 < x.shape[0] < 4 else x, backend="eager")(marked)
    assert weft.compile(lambda x: x * 2 if x.shape[0] < 10 else x, backend="eager")(marked).shape == (3, 2)
    maybe = weft.ones(3, 2)
    weft._dynamo.maybe_mark_dynamic(maybe, 0)
    assert compiled(maybe).tolist() == [[2, 2]] * 3


def test_symbolic_trace_of_compiled_functions():
    compiled = weft.compile(lambda x: x + 1, backend="eager")
    with pytest.raises(RuntimeError, match="Detected that you are using FX"):
        weft.fx.symbolic_trace(compiled)
    with config.patch(error_on_nested_fx_trace=False):
        assert weft.fx.symbolic_trace(compiled)(x).tolist() == [2, 2, 2]


def test_a_backend_is_forced_for_the_calls_of_each_thread():
    """Whichever ends first: the function is compiled as it was told to again once the stance is left."""
    inside, go_on = ([threading.Event() for _ in range(2)] for _ in range(2))

    @weft.compiler.disable
    def wait(i):
        inside[i].set()
        assert go_on[i].wait(60)

    def f(x, i):
        wait(i)
        return x + i

    counter, own = CompileCounter(), CompileCounter()
    compiled = weft.compile(f, backend=own)
    found = [None, None]

    def call(i):
        found[i] = compiled(weft.ones(2), i).tolist()

    with weft.compiler.set_stance(force_backend=counter):
        threads = [threading.Thread(target=call, args=(i,)) for i in range(2)]
        for thread, event in zip(threads, inside, strict=True):
            thread.start()
            assert event.wait(60)
        for thread, event in zip(threads, go_on, strict=True):
            event.set()
            thread.join()
    assert found == [[1.0, 1.0], [2.0, 2.0]] and own.frame_count == 0
    forced = counter.frame_count
    call(0)
    assert own.frame_count == 1 and counter.frame_count == forced


def test_a_stance_without_recompilations():
    compiled = weft.compile(lambda x, n: x + n, backend="eager", dynamic=False)
    compiled(x, 1)
    with weft.compiler.set_stance(skip_guard_eval_unsafe=True):
        assert compiled(x, 1).tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="Recompilation triggered with skip_guard_eval_unsafe stance"):
            compiled(x, 2)


def test_marks_are_not_made_in_compiled_code():
    def f(x):
        weft._dynamo.mark_dynamic(x, 0)
        return x * x

    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):
        weft.compile(f, backend="eager")(x)


def test_a_disabled_module_breaks_the_graph_with_its_hooks():
    class Net(weft.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = weft.nn.Linear(2, 2)

        def forward(self, x):
            return self.first(x.sin()).cos()

    net, value = Net(), weft.randn(3, 2)
    net.first.register_forward_pre_hook(lambda module, args: (args[0].sigmoid(),))
    expected = net(value)
    net.first = weft.compiler.disable(net.first, reason="as a test")
    counter = CompileCounter()
    weft.testing.assert_close(weft.compile(net, backend=counter)(value), expected)
    assert counter.frame_count == 2 and set(net.state_dict()) == {"first._orig_mod.weight", "first._orig_mod.bias"}
    with pytest.raises(exc.Unsupported, match="as a test"):
        weft.compile(net, backend="eager", fullgraph=True)(value)


def test_a_capture_holds_no_inputs():
    import gc
    import weakref

    compiled = weft.compile(lambda x: x + x, backend=CompileCounter())
    value = weft.rand(4)
    alive = weakref.ref(value)
    gc.disable()
    try:
        compiled(value)
        del value
        assert alive() is None
    finally:
        gc.enable()


def test_functions_that_libraries_mark_as_constant():
    import functools
    import importlib.util

    def is_there():
        return importlib.util.find_spec("json") is not None

    is_there._dynamo_marked_constant = True
    cached = functools.lru_cache(is_there)
    f = weft.compile(lambda x: x + 1 if cached() and is_there() else x, fullgraph=True, backend="eager")
    assert f(weft.ones(1)).item() == 2
