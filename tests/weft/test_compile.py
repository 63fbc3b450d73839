"""weft.compile and weft.compiler: what can be compiled, and what is said when something cannot."""

from __future__ import annotations

import copy
import functools
import re
import shlex
import subprocess
import sys

import pytest

import weft
from aten.op import registry
from dynamo import convert_frame
from weft import nn

pytestmark = pytest.mark.usefixtures("fresh")


def equal(a, b):
    assert weft.equal(a, b), (a, b)


eager = functools.partial(weft.compile, backend="eager")


def test_decorators_with_and_without_arguments():
    @weft.compile
    def plain(x):
        return x * 2

    @weft.compile(backend="eager", fullgraph=True)
    def configured(x):
        return x * 3

    x = weft.arange(3.0)
    equal(plain(x), x * 2)
    equal(configured(x), x * 3)
    assert plain.__name__ == "plain" and plain.__wrapped__(x) is not None


def test_methods_partials_and_callable_objects():
    class Scale:
        def __init__(self, by):
            self.by = by

        def apply(self, x):
            return x * self.by

        def __call__(self, x):
            return x + self.by

    s, x = Scale(3), weft.arange(3.0)
    equal(eager(s.apply)(x), x * 3)
    equal(eager(s)(x), x + 3)
    equal(eager(functools.partial(s.apply))(x), x * 3)

    class Decorated:
        @eager
        def double(self, x):
            return x * 2

    equal(Decorated().double(x), x * 2)


def test_a_module_compiles_as_itself():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    compiled = eager(model)
    x = weft.randn(5, 3)
    equal(compiled(x), model(x))
    assert compiled.state_dict().keys() == {f"_orig_mod.{k}" for k in model.state_dict()}
    assert list(compiled.parameters()) == list(model.parameters()) and compiled[0] is model[0]
    compiled.eval()
    assert not model.training and not compiled.training and compiled.train().training
    other = copy.deepcopy(compiled)
    assert other._orig_mod is not model and weft.equal(other(x), compiled(x))
    model[0].register_forward_hook(lambda m, a, out: out * 2)
    equal(compiled(x), model(x))


def test_modules_of_one_class_share_what_was_compiled():
    modules = [nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2, bias=False)]
    compiled = [eager(m) for m in modules]
    x = weft.randn(1, 2)
    for _ in range(2):
        for m, c in zip(modules, compiled):
            equal(c(x), m(x))
    assert (convert_frame.counters["graphs"], convert_frame.counters["recompilations"]) == (2, 1)
    assert "bias" in dir(compiled[0])


def test_disabled_functions_run_in_python():
    seen = []

    @weft.compiler.disable
    def note(x):
        seen.append(weft.compiler.is_compiling())
        return x + 1

    def f(x):
        return note(x * 2) * 3

    x = weft.arange(3.0)
    equal(eager(f)(x), f(x))
    assert seen == [False, False] and convert_frame.counters["graphs"] == 2
    assert weft.compile(f, disable=True) is f


def test_is_compiling_is_true_inside():
    assert eager(lambda x: (x + 1, weft.compiler.is_compiling()))(weft.zeros(1))[1] is True
    assert weft.compiler.is_compiling() is False


def test_a_backend_of_the_user_gets_graph_and_inputs():
    seen = []

    def backend(gm, example_inputs):
        seen.append((str(gm), [tuple(x.shape) for x in example_inputs]))
        return gm.forward

    x = weft.arange(3.0)
    equal(weft.compile(lambda x, y: x * y, backend=backend)(x, x + 1), x * (x + 1))
    assert "aten.mul(x, y)" in seen[0][0] and seen[0][1] == [(3,), (3,)]


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="no backend 'fast'; known: .*aot_eager, .*eager"):
        weft.compile(lambda x: x, backend="fast")
    with pytest.raises(RuntimeError, match="Unrecognized mode=quick"):
        weft.compile(lambda x: x, mode="quick")
    with pytest.raises(TypeError, match="not int"):
        weft.compile(3)


def test_fullgraph_says_where_why_and_what_to_do():
    def gate(x):
        if x.max() > 0.5:
            return x
        return -x

    def router(x):
        y = x * 2
        return gate(y) + 1

    with pytest.raises(weft._dynamo.Unsupported) as told:
        weft.compile(router, backend="eager", fullgraph=True)(weft.zeros(2))
    lines = str(told.value).splitlines()
    assert lines[0] == "a branch on the value of a tensor"
    assert re.match(r"  .*test_compile.py:\d+, in .*gate$", lines[1])
    assert lines[2:4] == ["    if x.max() > 0.5:", "       ^^^^^^^^^^^^^"]
    assert re.match(r"  called from .*test_compile.py:\d+, in .*router$", lines[4])
    assert lines[5] == "  why: the value exists only once the kernel has run"
    assert lines[6] == "  try: choose with weft.where(cond, a, b), or allow two graphs: fullgraph=False"


@pytest.mark.parametrize(
    "body, what",
    [
        (lambda x: x.to(weft.complex64).sum().item(), "a tensor's value is read into Python"),
        (lambda x: x[x > 0].unbind(), "an operation whose result size depends on data"),
        (lambda x: print(x), "an effect on the world outside: print()"),
        (lambda x: weft.manual_seed(0), "a change of the state of random numbers"),
        (lambda x: x.sum().backward(), "backward() inside the captured function"),
        (lambda x: x.data_ptr(), "an attribute that only a running tensor has"),
        (lambda x: open("/dev/null"), "an effect on the world outside: open()"),
        (lambda x: x.tolist(), "a tensor's value is read into Python"),
        (lambda x: shlex.split("a b") and x + 1, "a call of a function that is left to Python: shlex.split"),
    ],
)
def test_breaks_are_named(body, what):
    with pytest.raises(weft._dynamo.Unsupported) as told:
        weft.compile(lambda x: body(x * 1), backend="eager", fullgraph=True)(weft.ones(3))
    assert str(told.value).splitlines()[0].startswith(what)


def test_eager_raises_its_own_errors():
    def f(x, y):
        return x @ y

    with pytest.raises(RuntimeError) as mine:
        eager(f)(weft.ones(2, 3), weft.ones(4, 5))
    with pytest.raises(RuntimeError) as theirs:
        f(weft.ones(2, 3), weft.ones(4, 5))
    assert str(mine.value) == str(theirs.value)
    equal(eager(f)(weft.ones(2, 3), weft.ones(3, 2)), f(weft.ones(2, 3), weft.ones(3, 2)))


def test_sizes_become_symbols_once_they_change():
    f = eager(lambda x: x.view(x.shape[0] // 2, 2, -1).sum(1))
    for n in (4, 6, 8, 10):
        x = weft.randn(n, 3)
        equal(f(x), x.view(n // 2, 2, -1).sum(1))
    assert convert_frame.counters["graphs"] == 2


def test_marked_dimensions_are_symbols_at_once():
    f = eager(lambda x: x * 2)
    x = weft.randn(4, 3)
    weft._dynamo.mark_dynamic(x, 0, min=2)
    f(x)
    for n in (5, 9):
        f(weft.randn(n, 3))
    assert convert_frame.counters["graphs"] == 1
    f(weft.randn(1, 3))
    assert convert_frame.counters["graphs"] == 2
    with pytest.raises(IndexError):
        weft._dynamo.mark_dynamic(x, 2)


def test_dynamic_true_and_false():
    def f(x):
        return x + x.shape[0]

    for dynamic, graphs in ((True, 1), (False, 3)):
        convert_frame.counters.clear()
        weft.compiler.reset()
        g = weft.compile(f, backend="eager", dynamic=dynamic)
        for n in (3, 4, 5):
            equal(g(weft.zeros(n)), f(weft.zeros(n)))
        assert convert_frame.counters["graphs"] == graphs


def test_explain_tells_graphs_breaks_and_guards():
    def f(x):
        y = x * 2
        print(end="")
        return y + 1

    told = weft.explain(f)(weft.ones(2))
    assert told.graph_count == 2 and told.graph_break_count == 1 and told.op_count == 2
    assert "aten.mul(x, 2)" in str(told) and "print()" in str(told) and "TENSOR(x" in str(told)
    equal(told.result, weft.ones(2) * 3)


def test_logs_show_the_graph():
    code = "import weft; weft.compile(lambda x: x + 1, backend='eager')(weft.ones(2))"
    import os

    env = {**os.environ, "WEFT_LOGS": "graph,guards"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True).stderr
    assert "[graph]" in out and "aten.add(x, 1)" in out and "[guards]" in out and "TENSOR(x" in out


def test_gradients_flow_through_a_compiled_function():
    def f(x, w):
        return (x @ w).relu().sum()

    for backend in ("eager", "aot_eager", "inductor"):
        x, w = weft.randn(3, 4), weft.randn(4, 2).requires_grad_()
        weft.compile(f, backend=backend)(x, w).backward()
        mine, w.grad = w.grad, None
        f(x, w).backward()
        assert weft.allclose(mine, w.grad, atol=1e-6)


def test_an_optimizer_step_is_one_graph():
    model = nn.Linear(3, 3)
    other = nn.Linear(3, 3)
    other.load_state_dict(model.state_dict())
    x = weft.randn(4, 3)
    optimizers = [weft.optim.AdamW(m.parameters(), lr=0.1) for m in (model, other)]
    step = weft.compile(lambda: optimizers[0].step(), backend="aot_eager", fullgraph=True)
    for _ in range(3):
        for m, o, s in ((model, optimizers[0], step), (other, optimizers[1], optimizers[1].step)):
            m(x).square().sum().backward()
            s()
            o.zero_grad()
    for a, b in zip(model.parameters(), other.parameters()):
        assert weft.allclose(a, b, atol=1e-6)


def test_settings_of_capture():
    config = weft._dynamo.config
    limit, config.recompile_limit, config.automatic_dynamic_shapes = config.recompile_limit, 2, False
    try:
        f = eager(lambda x: x + 1)
        f(weft.zeros(1)), f(weft.zeros(2))
        with pytest.warns(match="compiled 2 times, its limit"):
            equal(f(weft.zeros(3)), weft.ones(3))
        assert convert_frame.counters["graphs"] == 2
    finally:
        config.recompile_limit, config.automatic_dynamic_shapes = limit, True


def test_an_internal_error_runs_eager_with_one_warning(monkeypatch):
    from aten import settings
    from dynamo import recording

    def broken(*args):
        raise AssertionError("a bug of the compiler")

    monkeypatch.setattr(recording, "result_of", broken)
    f = eager(lambda x: x + 1)
    with settings.patch(strict=False), pytest.warns(match="a bug of the compiler") as told:
        equal(f(weft.zeros(2)), weft.ones(2))
        equal(f(weft.zeros(2)), weft.ones(2))
    assert len(told) == 1
    with settings.patch(strict=True), pytest.raises(AssertionError, match="a bug of the compiler"):
        eager(lambda x: x + 2)(weft.zeros(2))


def test_a_kernel_that_is_wrong_is_no_refusal():
    """What no data bring about (a call of a native function with other arguments, say) is not covered by running eager."""

    def run():
        y = weft.arange(6.0).reshape(1, 1, 2, 3).requires_grad_()
        weft.compile(lambda x: weft.nn.functional.max_pool2d(x, 2) * 2, fullgraph=True)(y).sum().backward()
        return y.grad.sum().item()

    assert run() == 2

    def broken(out, *args):
        raise TypeError("function takes exactly 8 arguments (5 given)")

    op = registry["window_maxima_backward"]
    kernel = op.kernel_fn
    op.kernel(broken)
    try:
        with pytest.raises(NotImplementedError, match="window_maxima_backward_cpu"):
            run()
    finally:
        op.kernel(kernel)
