"""A captured graph through the compiler: results, gradients, side effects, the cache, and no compiler."""

import os

import numpy as np
import pytest

import aten
import inductor
import weft
from aten import _native, autograd, errors, settings
from aten.fx.node import UserLine
from inductor import _runner, loading
from inductor.ir.program import Program
from inductor.runtime import oracle
from tests.inductor.compile.captured_graphs import (
    CACHE,
    DROPOUT,
    EMBEDDING,
    EVEN,
    GELU,
    HISTORY,
    TABLE,
    UPDATE,
    VIEWS,
    captured,
    f32,
)


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path):
    """Every test has its own cache, and counters from zero."""
    errors.forget_warnings()
    inductor.counters.clear()
    with settings.patch(cache_dir=str(tmp_path / "cache"), cache=True):
        yield tmp_path / "cache"


def close(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_forward_and_backward():
    gm = captured(GELU, s0=5)
    x, b = f32(5, 4, grad=True), f32(4, grad=True, seed=1)
    f = inductor.compile_fx(gm, (x, b))
    assert isinstance(f, _runner.Training)
    for rows in (5, 1, 0, 300):
        x = f32(rows, 4, grad=True)
        got, want = f(x, b)[0], gm(x, b)[0]
        close(got, want)
        weights = f32(rows, seed=2)
        for a, e in zip(autograd.grad(got, (x, b), weights), autograd.grad(want, (x, b), weights)):
            close(a, e)


def test_second_derivatives():
    gm = captured(GELU, s0=3)
    x, b = f32(3, 4, grad=True), f32(4, grad=True, seed=1)
    f = inductor.compile_fx(gm, (x, b))
    results = []
    for function in (f, gm):
        (g,) = autograd.grad(function(x, b)[0].sum(), x, create_graph=True)
        results.append(autograd.grad((g * g).sum(), (x, b)))
    for a, e in zip(*results):
        close(a, e)


def test_no_gradients_are_computed_for_nobody():
    gm = captured(GELU.replace(" grad", ""), s0=5)
    f = inductor.compile_fx(gm, (f32(5, 4), f32(4)))
    assert isinstance(f, _runner.Program)


def test_the_oracle_agrees():
    gm = captured(GELU.replace(" grad", ""), s0=5)
    x, b = f32(9, 4), f32(4, seed=1)
    f = inductor.compile_fx(gm, (x, b))
    store = inductor.cache.store.current()
    (name,) = os.listdir(os.path.join(store.path, "objects"))
    kernels = oracle.library_kernels(os.path.join(store.path, "objects", name))
    (expected,) = oracle.run(Program.from_data(f.data), [x.numpy(), b.numpy()], kernels)
    np.testing.assert_array_equal(f(x, b)[0].numpy(), expected)


def test_inputs_are_updated_in_place():
    gm = captured(UPDATE)
    f = inductor.compile_fx(gm, tuple(f32(8, seed=i) for i in range(3)))
    got, want = ([f32(8, seed=i) for i in range(3)] for _ in range(2))
    a, e = f(*got), gm(*want)
    close(a[0], e[0])
    assert a[1] is got[0]
    for x, y in zip(got, want):
        close(x, y)
        assert x._version == y._version
    readonly = np.zeros(8, np.float32)
    readonly.flags.writeable = False
    with pytest.raises(errors.GraphFailed):  # eager says what is wrong
        f(_native.from_numpy(readonly), got[1], got[2])
    close(got[1], want[1])


def test_an_update_in_place_moves_no_byte_twice():
    """Every argument is read once and written once, by one kernel; nothing is copied, and nothing lies in between."""
    f = inductor.compile_fx(captured(UPDATE), tuple(f32(8, seed=i) for i in range(3)))
    program = Program.from_data(f.data)
    assert program.arena == -1
    assert [type(s).__name__ for s in program.steps] == ["Alloc", "Kernel"]
    touched = [program.buffers[i] for i in program.steps[1].buffers]
    assert sorted(b.base for b in touched if b.kind == "input") == [0, 1, 2]
    assert sum(b.kind == "fresh" for b in touched) == 1  # the sum that is returned


def test_nothing_is_written_when_a_check_fails():
    gm = captured(CACHE)
    inputs = lambda last: (f32(8, 4), f32(2, 4, seed=1), aten.tensor([0, last]), f32(9, 4, seed=2))
    f = inductor.compile_fx(gm, inputs(3))
    got, want = inputs(8), inputs(8)
    for a, e in zip(f(*got), gm(*want)):
        close(a, e)
    close(got[0], want[0])
    bad = inputs(9)
    with pytest.raises(errors.GraphFailed, match="embedding"):
        f(*bad)
    close(bad[0], f32(8, 4))
    assert bad[0]._version == 0


def test_tensors_of_the_graph_are_bound_and_not_kept_on_disk():
    for k in range(2):
        table = f32(3, seed=k)
        gm = captured(TABLE, attributes={"table": table})
        x = f32(3, grad=True)
        f = inductor.compile_fx(gm, (x,))
        close(f(x)[0], x * table)
        close(autograd.grad(f(x)[0].sum(), x)[0], table)
    assert inductor.counters["cache_hits"] == 0 and inductor.counters["lowerings"] == 4


def test_views_of_results_and_arguments():
    gm = captured(VIEWS)
    x = f32(4, 6)
    y, t, v, same, n, *rest = inductor.compile_fx(gm, (x,))(x)
    close(y, x.exp())
    assert t.shape == (6, 4) and t.data_ptr() == y.data_ptr()
    assert v.shape == (24,) and v.data_ptr() == x.data_ptr()
    assert same is x and n.data_ptr() != x.data_ptr() and rest == [3, None, "mean"]
    v.mul_(0)
    assert x.sum().item() == 0 and x._version == v._version


def test_random_numbers_are_eagers():
    gm = captured(DROPOUT)
    x = f32(64, grad=True)
    f = inductor.compile_fx(gm, (x,))
    assert isinstance(f, _runner.Training)
    results = []
    for function in (f, gm):
        _native.manual_seed(11)
        (y,) = function(x)
        (g,) = autograd.grad(y.sum(), x)
        results.append((y, g, function(x)[0]))
    for a, e in zip(*results):
        close(a, e)
    zeros = (results[0][0] == 0).sum().item()
    assert 10 < zeros < 54
    _native.manual_seed(11)
    (g,) = autograd.grad(f(x)[0].sum(), x, create_graph=True)
    close(g, results[1][1])
    close(autograd.grad(g.sum(), x)[0], aten.where(results[1][0] == 0, 0.0, 4.0))


# ---------------------------------------------------------------------------------------------------------- the cache
def counted(**expected):
    got = {k: inductor.counters[k] for k in ("lowerings", "compiles", "cache_hits", "cache_misses", "cache_errors")}
    inductor.counters.clear()
    assert got == {**dict.fromkeys(got, 0), **expected}


def test_a_warm_start_lowers_and_compiles_nothing():
    x, b = f32(5, 4, grad=True), f32(4, grad=True, seed=1)
    cold = inductor.compile_fx(captured(GELU, s0=5), (x, b))
    counted(lowerings=2, compiles=2, cache_misses=1)
    warm = inductor.compile_fx(captured(GELU, s0=5), (x, b))
    counted(cache_hits=1)
    np.testing.assert_array_equal(warm(x, b)[0].detach().numpy(), cold(x, b)[0].detach().numpy())
    warm(x, b)[0].sum().backward()
    assert x.grad is not None and b.grad is not None


def test_what_runs_around_programs_in_python_is_warm_too():
    """A view of an argument that has a history is made again by ops, around Programs that are cached one by one."""
    for expected in ({"lowerings": 2, "compiles": 2, "cache_misses": 3}, {"cache_misses": 1, "cache_hits": 2}):
        x = f32(4, 6, grad=True)
        y, v = inductor.compile_fx(captured(HISTORY), (x,))(x)
        counted(**expected)
        close(autograd.grad((y.sum() + (v * 2).sum()), x)[0], x.exp() + 2)
        assert v._base is x


def test_another_size_another_hint_is_a_hit_where_the_guards_hold():
    inductor.compile_fx(captured(GELU, s0=5), (f32(5, 4, grad=True), f32(4, grad=True)))
    inductor.compile_fx(captured(GELU, s0=77), (f32(77, 4, grad=True), f32(4, grad=True)))
    counted(lowerings=2, compiles=2, cache_misses=1, cache_hits=1)


def test_guards_added_after_capture_are_kept():
    cold = captured(EVEN, s0=8)
    inductor.compile_fx(cold, (f32(8, 6),))
    counted(lowerings=1, compiles=1, cache_misses=1)
    warm = captured(EVEN, s0=12)
    inductor.compile_fx(warm, (f32(12, 6),))
    counted(cache_hits=1)
    assert set(map(str, warm.shape_env.guards)) == set(map(str, cold.shape_env.guards)) != set()


def test_an_entry_whose_guards_fail_is_a_miss():
    text = EVEN.replace("s0 // 2, 12", "2, 3*s0")
    inductor.compile_fx(captured(text, s0=8), (f32(8, 6),))
    inductor.counters.clear()
    manifest = {"guards": [["s0 <= 8", {}]], "training": None}
    with pytest.raises(loading._Stale, match="s0"):
        loading.load(captured(text, s0=9), manifest, str)


@pytest.mark.parametrize("change", ["dtype", "stride", "grad", "constant", "ambient", "threads", "setting"])
def test_what_the_key_depends_on(change, monkeypatch):
    text = GELU.replace(" grad", "")
    keys = {inductor.cache.key.of(captured(text, s0=5))}
    assert keys == {inductor.cache.key.of(captured(text, s0=6))}
    if change == "dtype":
        text = text.replace("f32", "f64")
    elif change == "stride":
        text = text.replace('x: "f32[s0, 4]"', 'x: "f32[s0, 4]{1, s0}"')
    elif change == "grad":
        text = GELU
    elif change == "constant":
        text = text.replace("-1", "0")
    elif change == "ambient":
        _native.set_grad_enabled(False)
    elif change == "threads":
        monkeypatch.setattr(_native, "get_num_threads", lambda: 7)
    with settings.patch(exact=change == "setting"):
        keys.add(inductor.cache.key.of(captured(text, s0=5)))
    _native.set_grad_enabled(True)
    assert len(keys) == 2


def test_graphs_whose_meaning_is_not_in_their_text_are_not_cached():
    gm = captured(GELU, s0=5)
    gm.graph.find_nodes(op="call_function")[0].kwargs = {"alpha": object()}
    assert inductor.cache.key.of(gm) is None


@pytest.mark.parametrize("which", ["entries", "objects"])
@pytest.mark.parametrize("damage", ["truncate", "flip"])
def test_a_damaged_cache_costs_a_compilation_and_a_warning(fresh_cache, which, damage):
    x = f32(8, 6)
    inductor.compile_fx(captured(EVEN, s0=8), (x,))
    inductor.counters.clear()
    (name,) = os.listdir(fresh_cache / which)
    path = fresh_cache / which / name
    data = bytearray(path.read_bytes())
    data = data[: len(data) // 2] if damage == "truncate" else data[:300] + bytes([data[300] ^ 255]) + data[301:]
    path.write_bytes(data)
    with pytest.warns(errors.CompilerWarning, match="damaged"):
        f = inductor.compile_fx(captured(EVEN, s0=8), (x,))
    counted(lowerings=1, compiles=1, cache_misses=1, cache_errors=1)
    close(f(x)[0], x.view(4, 12) * 2)
    inductor.compile_fx(captured(EVEN, s0=8), (x,))  # repaired
    counted(cache_hits=1)


def test_a_cache_nobody_can_use_costs_one_warning(fresh_cache):
    fresh_cache.write_text("a file where the folder should be")
    with pytest.warns(errors.CompilerWarning) as seen:
        for rows in (8, 10):
            inductor.compile_fx(captured(EVEN, s0=rows), (f32(rows, 6),))
    assert len(seen) == 1
    counted(lowerings=2, compiles=2, cache_misses=2, cache_errors=4)


def test_the_users_lines_are_filled_in_at_load():
    index = aten.tensor([1, 2])
    for file in ("a.py", "b.py"):
        gm = captured(EMBEDDING, lines={"rows": UserLine(file, 7, "f", "w[i]")}, s0=2)
        f = inductor.compile_fx(gm, (f32(7, 4), index))
        close(f(f32(7, 4), index)[0], f32(7, 4)[index] * 3)
        with pytest.raises(errors.GraphFailed) as e:
            f(f32(7, 4), aten.tensor([0, 9]))
        assert file in e.value.line and e.value.op == "embedding" and (e.value.value, e.value.bound) == (9, 7)
    counted(lowerings=1, compiles=1, cache_misses=1, cache_hits=1)


# --------------------------------------------------------------------------------------------------- without a compiler
def test_without_a_compiler_graphs_run_eager(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    x, b = f32(5, 4, grad=True), f32(4, grad=True)
    with settings.patch(cxx=""), pytest.warns(errors.CompilerWarning, match="no C.. compiler") as seen:
        for _ in range(2):
            f = inductor.compile_fx(captured(GELU, s0=5), (x, b))
            f(x, b)[0].sum().backward()
    assert len(seen) == 1 and x.grad is not None
    counted(cache_misses=2)


def test_every_stage_prints(capsys):
    from aten import logs

    logs.set_logs("graph,kernels,program,cache")
    try:
        inductor.compile_fx(captured(EVEN, s0=8), (f32(8, 6),))
    finally:
        logs.set_logs("")
    text = capsys.readouterr().err
    for channel in ("graph", "kernels", "program", "cache"):
        assert f"[{channel}] " in text
    assert "def program(in0" in text and 'extern "C"' in text


def test_compile_fx_inner_takes_one_list():
    from weft._inductor.compile_fx import compile_fx, compile_fx_inner

    function = lambda x, y: ((x + y) @ x, y * 2)
    inputs = [weft.rand(4, 4), weft.rand(4, 4)]
    expected = function(*inputs)
    graph = weft.fx.experimental.proxy_tensor.make_fx(function)(*inputs)
    weft.testing.assert_close(tuple(compile_fx(graph, inputs)(*inputs)), expected)
    compiled = compile_fx_inner(graph, inputs)
    weft.testing.assert_close(tuple(compiled(inputs)), expected)
    assert inputs == []
