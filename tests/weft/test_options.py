"""Modes and options of weft.compile: each is declared, checked when the function is compiled, and does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import inductor
import weft
from aten import logs, settings
from inductor import modes


@pytest.fixture(autouse=True)
def uncached():
    weft._dynamo.reset()
    with settings.patch(cache=False):
        yield


def kernels(f, *args, **options) -> int:
    """How many kernels a function becomes under options; the values are checked on the way."""
    inductor.counters.clear()
    got, want = weft.compile(f, fullgraph=True, options=options)(*args), f(*args)
    for a, b in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
        assert weft.allclose(a, b, rtol=1e-4, atol=1e-5)
    assert inductor.counters["graphs"] == 1
    return inductor.counters["kernels"]


@pytest.mark.parametrize("mode", ["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"])
def test_every_mode_compiles_forward_and_backward(mode):
    def f(x, w):
        return (weft.nn.functional.gelu(x @ w) + x).softmax(-1)

    inductor.counters.clear()
    x, w = weft.randn(9, 16), weft.randn(16, 16)
    gradients = []
    for g in (f, weft.compile(f, mode=mode, fullgraph=True)):
        leaf = w.clone().requires_grad_()
        y = g(x, leaf)
        (y * x).sum().backward()
        gradients.append((y, leaf.grad))
    assert inductor.counters["graphs"] == 1
    for a, b in zip(*gradients):
        assert weft.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_what_is_not_known_is_refused_when_the_function_is_given():
    f = lambda x: x + 1
    with pytest.raises(RuntimeError, match=r"Unexpected optimization option quick, known options are \['combo_kernels'"):
        weft.compile(f, options={"quick": True})
    with pytest.raises(RuntimeError, match="Unexpected type of option exact, got <class 'int'> should be <class 'bool'>"):
        weft.compile(f, options={"exact": 1})
    with pytest.raises(RuntimeError, match="Unexpected optimization option strict"):  # a setting, but no option
        weft.compile(f, options={"strict": True})
    with pytest.raises(RuntimeError, match="Unrecognized mode=quick, should be one of: default, reduce-overhead"):
        weft.compile(f, mode="quick")
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        weft.compile(f, mode="default", options={"exact": True})
    with pytest.raises(TypeError, match="dynamic is True, False or None, not 'yes'"):
        weft.compile(f, dynamic="yes")


def test_settings_of_pytorchs_compiler_that_decide_nothing_here_are_taken():
    f = lambda x: x + 1
    options = {"triton.cudagraphs": True, "shape_padding": True, "max-autotune-gemm": True, "cpp.simdlen": 8}
    assert modes.ours(options) == {"cudagraphs": True}
    assert weft.compile(f, options=options, fullgraph=True)(weft.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Unexpected type of option shape_padding, got <class 'int'> should be <class 'bool'>"):
        weft.compile(f, options={"shape_padding": 1})


def test_the_options_of_all_compilations_are_set_by_a_module():
    import weft._inductor.config as config

    f = lambda x: (x.exp() + 1).sum(-1, keepdim=True) * x
    x = weft.randn(7, 30)
    config.coordinate_descent_tuning = True
    config.triton.unique_kernel_names = True
    assert config.coordinate_descent_tuning and config.triton.unique_kernel_names and weft._inductor.config is config
    with config.patch({"fusion": False, "triton.cudagraphs": True}):
        assert settings.cudagraphs and config.triton.cudagraphs and kernels(f, x) > 1
    weft._dynamo.reset()
    assert not settings.cudagraphs and kernels(f, x) == 1
    with config.patch(force_disable_caches=False):
        assert settings.cache and config.fx_graph_cache
    with pytest.raises(AttributeError, match="there is no setting 'fast'; known: cache, combo_kernels"):
        config.fast = True
    with pytest.raises(AttributeError, match="there is no setting 'nan_asserts'"):  # which would be asserted nowhere
        config.nan_asserts = True
    with pytest.raises(AttributeError, match="there is no setting 'triton.fast'"):
        config.triton.fast = True
    with pytest.raises(TypeError, match="fusion is of type bool, not int"):
        config.fusion = 1
    before = config.get_config_copy()
    config.fusion, config.debug = False, True
    config.load_config(before)
    assert settings.fusion and not config.debug


def test_settings_of_pytorchs_capture_are_taken():
    dynamo = weft._dynamo.config
    dynamo.optimize_ddp = False
    assert dynamo.optimize_ddp is False
    with dynamo.patch(verbose=True, cache_size_limit=3):
        assert dynamo.verbose and dynamo.recompile_limit == 3
    assert not dynamo.verbose and dynamo.recompile_limit == 8
    f = lambda x: x + 1
    with dynamo.patch(disable=True):
        assert weft.compile(f) is f
    with weft._functorch.config.patch(activation_memory_budget=0.5, debug_assert=True):
        assert settings.check_metas
    assert not settings.check_metas and weft._functorch.config.activation_memory_budget == 1.0


def test_options_are_listed_and_documented():
    names = weft._inductor.list_options()
    assert "exact" in names and "strict" not in names
    assert all(settings.declared[n].doc for n in names)
    assert [n for n in names if not settings.declared[n].in_cache_key] == ["compile_threads"]  # how fast, not what comes out
    assert weft._inductor.list_mode_options("reduce-overhead") == {"combo_kernels": True, "cudagraphs": True}
    assert set(weft._inductor.list_mode_options()) >= {"default", "max-autotune"}


def test_fusion():
    f = lambda x: (x.exp() + 1).sum(-1, keepdim=True) * x
    x = weft.randn(7, 30)
    assert kernels(f, x) == 1
    assert kernels(f, x, fusion=False) > 1


def test_epilogue_fusion():
    f = lambda x, w: (x @ w).relu()
    x, w = weft.randn(8, 16), weft.randn(16, 8)
    assert kernels(f, x, w) == 1
    assert kernels(f, x, w, **{"epilogue-fusion": False}) == 2


def test_max_fusion_size():
    f = lambda x: ((x * 2 + 1).sum(-1, keepdim=True) + x).amax(-1)
    x = weft.randn(7, 30)
    assert kernels(f, x) == 1
    assert kernels(f, x, max_fusion_size=1) > 1


def test_thresholds_of_what_is_stored():
    def chain(x):
        for k in range(12):
            x = (x + k) * 1.5
        return x

    def many(*xs):
        return sum(xs[1:], xs[0])

    x = weft.randn(50)
    assert kernels(chain, x, fusion=False) == 1
    assert kernels(chain, x, fusion=False, realize_opcount_threshold=5) > 3
    xs = [weft.randn(50) for _ in range(10)]
    assert kernels(many, *xs, fusion=False) == 1
    assert kernels(many, *xs, fusion=False, realize_reads_threshold=3) > 2


def test_combo_kernels():
    f = lambda x, y: (x.sin() + 1, y.cos() - 1)
    x, y = weft.randn(1 << 19), weft.randn((1 << 19) + 1)
    assert kernels(f, x, y) == 2
    assert kernels(f, x, y, combo_kernels=True) == 1


def test_exact_rounds_where_eager_rounds():
    x, y = (weft.randn(1000).to(weft.bfloat16) for _ in range(2))
    f = lambda x, y: ((x + y) - x) == y
    assert weft.equal(weft.compile(f, options={"exact": True})(x, y), f(x, y))


def test_max_autotune_keeps_the_schedule_that_ran_fastest(capfd):
    logs.set_logs("autotune")
    try:
        inductor.counters.clear()
        x, w = weft.randn(64, 64), weft.randn(64, 64)
        f = lambda x, w: (x @ w).relu() + weft.rand(64, 64) * 0
        weft.manual_seed(3)
        want, after = f(x, w), weft.rand(1)
        weft.manual_seed(3)
        assert weft.allclose(weft.compile(f, options={"max_autotune": True})(x, w), want, atol=1e-4)
        assert weft.equal(weft.rand(1), after)  # trying out has drawn nothing
    finally:
        logs.set_logs("")
    assert inductor.counters["compiles"] > 1
    assert "us: schedule" in capfd.readouterr().err


def test_max_autotune_leaves_mutated_inputs_alone():
    def f(x):
        x.add_(1)
        return x * 2

    x = weft.zeros(4)
    assert weft.compile(f, options={"max_autotune": True})(x).tolist() == [2.0] * 4 and x.tolist() == [1.0] * 4


def test_an_option_belongs_to_its_function_and_thread():
    seen = {}

    def backend(gm, inputs):
        with settings.options({"exact": True}):
            other = threading.Thread(target=lambda: seen.update(other=settings.exact))
            other.start()
            other.join()
            seen["own"] = settings.exact
        seen["after"] = settings.exact
        return gm.forward

    with settings.patch(exact=False):
        weft.compile(lambda x: x + 1, backend=backend)(weft.zeros(1))
    assert seen == {"other": False, "own": True, "after": False}


def test_equal_options_share_what_was_compiled():
    f = lambda x: x * 3
    inductor.counters.clear()
    for _ in range(2):
        weft.compile(f, options={"exact": False})(weft.ones(2))
        weft.compile(f, options={"exact": True})(weft.ones(2))
    assert inductor.counters["graphs"] == 2


def test_options_are_part_of_the_cache_key(tmp_path):
    f = lambda x: x * 5
    inductor.counters.clear()
    with settings.patch(cache=True, cache_dir=str(tmp_path)):
        for fusion in (True, False, True):
            weft._dynamo.reset()
            weft.compile(f, options={"fusion": fusion})(weft.ones(2))
    assert (inductor.counters["cache_misses"], inductor.counters["cache_hits"]) == (2, 1)


def test_unknown_settings_are_errors():
    config = weft._dynamo.config
    with pytest.raises(AttributeError, match="no setting 'cache_size'; known: accumulated_recompile_limit, "):
        config.cache_size = 3
    with pytest.raises(AttributeError, match="no setting 'cache_size'"):
        config.cache_size  # noqa: B018
    with pytest.raises(TypeError, match="recompile_limit is of type int, not str"):
        config.recompile_limit = "8"
    with pytest.raises(AttributeError, match="no setting 'quick'"):
        settings.quick = True
    with pytest.raises(ValueError, match="no log channel 'fussion'; known: all, graph, "):
        logs.set_logs("graph,fussion")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("WEFT_LOGS", "graph,fussion", "no log channel 'fussion'; known: all, graph"),
        ("WEFT_CACHE_SIZE", "big", "WEFT_CACHE_SIZE=big is not an int"),
    ],
)
def test_wrong_environment_variables_are_errors(name, value, says):
    got = subprocess.run(
        [sys.executable, "-c", "import weft; weft.ones(1)"], capture_output=True, text=True, env={**os.environ, name: value}
    )
    assert got.returncode and says in got.stderr
