"""The native runner and its Python oracle run the same Programs, and agree."""

import copy
import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import aten.op
from aten import _native
from aten.errors import GraphFailed
from inductor import _runner
from inductor.codegen import toolchain
from inductor.ir.program import Program
from inductor.ir.steps import (
    Alloc,
    Buffer,
    Check,
    CheckInfo,
    Cond,
    Copy,
    Evaluate,
    Extern,
    Kernel,
    Loop,
    Output,
    Python,
    RngAdvance,
    View,
)
from inductor.runtime import oracle
from tests.inductor.runtime.program_builder import Builder


def tensor(a):
    return _native.from_numpy(np.ascontiguousarray(a))


def values_of(results):
    return [r.numpy() if isinstance(r, _native.Tensor) else r for r in results]


def same(native, expected):
    assert len(native) == len(expected)
    for a, e in zip(values_of(native), expected):
        assert type(a) is type(e)
        np.testing.assert_array_equal(a, e)


def both(program, library, *arrays):
    """Runs natively and in Python on copies; returns the native results, which were equal."""
    program = Program.from_json(program.to_json())
    arrays = [np.asarray(a) if isinstance(a, list | np.ndarray) else a for a in arrays]
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
    given = [tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]
    native = _runner.Program(program.to_data(), library)(*given)
    same(native, oracle.run(program, copies, oracle.library_kernels(library)))
    for g, c in zip(given, copies):
        if isinstance(c, np.ndarray):
            np.testing.assert_array_equal(g.numpy(), c)
    return native


def f32(*values):
    return np.array(values, np.float32)


def test_one_kernel(b, library):
    x, y, out = b.input(4), b.input(4), b.buffer("fresh", 4)
    p = b.program([Alloc(out), Kernel("axpy", (x, y, out), (b.value(4),), (2,))], [Output("buffer", out)])
    (r,) = both(p, library, f32(1, 2, 3, 4), f32(10, 20, 30, 40))
    assert r.tolist() == [21, 42, 63, 84]
    assert r.data_ptr() % 64 == 0 and r.is_contiguous()


def test_symbolic_sizes_and_the_arena(b, library):
    n = b.size(0, 0)
    x = b.input(n)
    nbytes = b.op("mul", b.op("floordiv", b.op("add", b.op("mul", n, 4), 63), 64), 64)
    t = b.buffer("arena", n, offset=0)
    out = b.buffer("fresh", n)
    v = (b.value(n),)
    p = b.program(
        [Alloc(out), Kernel("square", (x, t), v, (1,)), Kernel("twice", (t, out), v, (1,))],
        [Output("buffer", out), Output("int", b.value(nbytes))],
        arena=nbytes,
    )
    for size in (0, 1, 5, 3000):
        r, total = both(p, library, np.arange(size, dtype=np.float32))
        assert r.shape == (size,) and total == -(-size * 4 // 64) * 64


def test_every_kind_of_output(b, library):
    x = b.input(2, 3)
    k, f, flag = b.number(), b.number("float"), b.number("bool")
    out = b.buffer("fresh", 2, 3)
    view = b.buffer("view", 3, base=out, offset=3)
    half = b.op("fmul", f, 0.5)
    n = b.op("mul", k, 2)
    layout = b.layout((3, 1))
    p = b.program(
        [Alloc(out), View(view), Kernel("scale", (x, out), (b.value(6), b.value(half)), (1,))],
        [Output("buffer", out), Output("buffer", view), Output("input", 0), Output("input", 1), Output("int",
        b.value(n)),
         Output("float", b.value(half)), Output("bool", b.value(flag)), Output("view", 0, *layout, b.value(3)),
         Output("constant", literal="mean"), Output("constant"), Output("buffer", out)],
    )  # fmt: skip
    results = both(p, library, np.arange(6, dtype=np.float32).reshape(2, 3), 21, 3.0, True)
    assert results[1].tolist() == [4.5, 6.0, 7.5]
    assert results[1].data_ptr() == results[0].data_ptr() + 12
    assert results[3:7] == (21, 42, 1.5, True) and results[7].tolist() == [[3], [4], [5]]
    assert results[0] is results[10]


def test_inputs_come_back_as_themselves(b, library):
    x = b.input(3)
    p = b.program([Kernel("add_one", (x,), (b.value(3),), (0,))], [Output("input", 0)], mutations=[0])
    t = tensor(f32(1, 2, 3))
    before = t._version
    (r,) = _runner.Program(p.to_data(), library)(t)
    assert r is t and t.tolist() == [2, 3, 4] and t._version == before + 1
    both(p, library, f32(1, 2, 3))


def test_integers_and_floats_reach_kernels_as_64_bits(b, library):
    k, f = b.number(), b.number("float")
    big = b.op("add", k, 2**40)
    out = b.buffer("fresh", 4, dtype="int64")
    count = b.op("min", 4, 9)
    p = b.program(
        [Alloc(out), Kernel("bits", (out,), tuple(map(b.value, (count, k, f, big))), (0,))], [Output("buffer", out)]
    )
    (r,) = both(p, library, -5, 0.75)
    assert r.tolist() == [4, -5, int(np.float64(0.75).view(np.int64)), 2**40 - 5]


INT_OPS = ["add", "sub", "mul", "floordiv", "mod", "min", "max", "eq", "le", "lt", "and", "or"]
FLOAT_OPS = ["fadd", "fsub", "fmul", "fdiv", "ffloordiv", "fmod", "fmin", "fmax", "feq", "fle", "flt", "fpow"]


@pytest.mark.parametrize("op", INT_OPS)
@pytest.mark.parametrize(
    "x, y", [(7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5), (2**62, 2), (-(2**63), -1), (5, 0), (2**40, 2**40)]
)
def test_integer_values(b, library, op, x, y):
    p = b.program([], [Output("int", b.value(b.op(op, b.number(), b.number())))])
    check_values(p, x, y)


@pytest.mark.parametrize("op", FLOAT_OPS)
@pytest.mark.parametrize("x, y", [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (0.0, -0.0), (1e300, 1e300), (3.0, 3.0)])
def test_float_values(b, library, op, x, y):
    kind = "bool" if op in ("feq", "fle", "flt") else "float"
    p = b.program([], [Output(kind, b.value(b.op(op, b.number("float"), b.number("float"))))])
    check_values(p, x, y)


@pytest.mark.parametrize(
    "op, kind, x",
    [
        ("floor", "float", -2.5),
        ("floor", "float", 2.0),
        ("int", "float", -2.5),
        ("int", "float", 1e19),
        ("sqrt", "float", 2.0),
        ("sqrt", "float", -1.0),
        ("not", "int", 0),
        ("not", "int", 3),
    ],
)
def test_unary_values(b, op, kind, x):
    p = b.program([], [Output("float" if op == "sqrt" else "int", b.value(b.op(op, b.number(kind))))])
    check_values(p, x)


def test_chosen_values(b):
    c, x, y = b.number("bool"), b.number(), b.number()
    p = b.program([], [Output("int", b.value(b.op("where", c, x, b.op("pow", y, 3))))])
    check_values(p, True, 5, 7)
    check_values(p, False, 5, -7)
    check_values(p, False, 5, 2**40)


def check_values(p, *args):
    """The same number natively and in Python, or a failure in both."""
    native = _runner.Program(p.to_data())
    try:
        expected = oracle.run(p, args, {})
    except oracle.Failed:
        with pytest.raises(GraphFailed):
            native(*args)
        return
    (got,) = native(*args)
    assert type(got) in (int, float, bool) and (got == expected[0] or got is expected[0])
    assert np.copysign(1.0, got) == np.copysign(1.0, expected[0])


# ------------------------------------------------------------------------------------------------------------ failing
def gather_program(b):
    w, i, out = b.input(5), b.input(3, dtype="int64"), b.buffer("fresh", 3)
    steps = [Alloc(out), Kernel("gather", (w, i, out), (b.value(3), b.value(5)), (2,), first_check=1),
             Kernel("add_one", (w,), (b.value(5),), (0,))]  # fmt: skip
    checks = [CheckInfo("view"), CheckInfo("embedding", "index", "model.py:7  w[i]")]
    return b.program(steps, [Output("buffer", out)], checks=checks, mutations=[0])


def test_a_kernel_that_fails_leaves_no_trace(b, library):
    p = gather_program(b)
    w, index = tensor(np.arange(5, dtype=np.float32)), tensor(np.array([0, 4, 5]))
    with pytest.raises(GraphFailed) as e:
        _runner.Program(p.to_data(), library)(w, index)
    assert (e.value.op, e.value.argument, e.value.line) == ("embedding", "index", "model.py:7  w[i]")
    assert (e.value.value, e.value.bound) == (5, 5) and "embedding" in str(e.value)
    assert w.tolist() == [0, 1, 2, 3, 4] and w._version == 0
    with pytest.raises(oracle.Failed) as e:
        oracle.run(p, [w.numpy(), index.numpy()], oracle.library_kernels(library))
    assert e.value.record == p.checks[1] and (e.value.value, e.value.bound) == (5, 5)


def test_a_failing_program_gives_all_its_memory_back(b, library):
    program = _runner.Program(gather_program(b).to_data(), library)
    w, index = tensor(np.arange(5, dtype=np.float32)), tensor(np.array([0, 4, 5]))

    def fail():
        with pytest.raises(GraphFailed):
            program(w, index)

    fail()
    before = _native.memory_stats()["allocated_bytes"]
    for _ in range(10):
        fail()
    assert _native.memory_stats()["allocated_bytes"] == before


def test_checks_on_sizes(b, library):
    n = b.size(0, 0)
    b.input(n)
    ok = b.op("eq", b.op("mod", n, 2), 0)
    p = b.program([Check(b.value(ok), 0)], [Output("int", b.value(n))], checks=[CheckInfo("view", "size", "a.py:1")])
    both(p, library, np.zeros(4, np.float32))
    with pytest.raises(GraphFailed, match="view"):
        _runner.Program(p.to_data())(tensor(np.zeros(3, np.float32)))


def test_what_cannot_be_written_in_place_fails_before_anything_runs(b, library):
    x = b.input(3)
    p = b.program([Kernel("add_one", (x,), (b.value(3),), (0,))], [Output("input", 0)], mutations=[0])
    a = f32(1, 2, 3)
    a.flags.writeable = False
    with pytest.raises(GraphFailed):
        _runner.Program(p.to_data(), library)(_native.from_numpy(a))
    assert a.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "args, error, message",
    [
        ((3,), TypeError, "Tensor"),
        ((None,), TypeError, "Tensor"),
        ((np.zeros(4, np.float32),), TypeError, "Tensor"),
        ((tensor(np.zeros(4, np.float64)),), TypeError, "dtype"),
        ((tensor(np.zeros((4, 1), np.float32)),), TypeError, "dimensions"),
        ((tensor(np.zeros(5, np.float32)),), ValueError, "size 5"),
        ((_native.alias(tensor(np.zeros(8, np.float32)), (4,), (2,), 0),), ValueError, "strides"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(b, library, args, error, message):
    x, out = b.input(4), b.buffer("fresh", 4)
    p = _runner.Program(
        b.program([Alloc(out), Kernel("twice", (x, out), (b.value(4),), (1,))], [Output("buffer", out)]).to_data(),
        library,
    )
    with pytest.raises(GraphFailed) as e:  # what the guards should have refused: the call runs eager
        p(*args)
    assert isinstance(e.value.__cause__, error) and message in str(e.value.__cause__)
    with pytest.raises(TypeError, match="1 positional"):
        p()
    with pytest.raises(TypeError):
        p(tensor(np.zeros(4, np.float32)), name=1)


def test_strides_of_size_one_dimensions_do_not_matter(b, library):
    b.input(1, 4)
    p = _runner.Program(b.program([], [Output("input", 0)]).to_data())
    odd = _native.alias(tensor(np.zeros(8, np.float32)), (1, 4), (77, 1), 0)
    assert p(odd) == (odd,)


# ------------------------------------------------------------------------------------------------- ops, loops, copies
def test_ops_called_by_name(b, library, monkeypatch):
    seen = []

    def double(x, *, scale=1):
        seen.append((_native.is_grad_enabled(), scale))
        return tensor(x.numpy() * 2 * scale)

    def fails(x):
        raise IndexError("index 9 is out of bounds")

    x, t, out = b.input(4), b.buffer("arena", 4, offset=64), b.buffer("fresh", 4)
    r = len(b.buffers)
    b.buffers.append(Buffer("result", "float32"))
    two = b.value(2)
    arena = b.value(128)
    prologue = len(b.t.values)
    found = b.t.add("result_size", r, 0)
    p = b.program(
        [Alloc(out), Extern("double", (("buffer", x),), (t,), (("scale", ("value", two)),)), Copy(t, out),
         Python("double", (("buffer", out),), (r,)), Evaluate(prologue, prologue + 1)],
        [Output("buffer", out), Output("buffer", r), Output("int", found)], arena="#" + str(arena), prologue=prologue,
    )  # fmt: skip
    ops = {"double": double, "fails": fails}
    monkeypatch.setattr(aten.op, "registry", {**aten.op.registry, **ops})
    native = _runner.Program(p.to_data(), library)
    bad = copy.deepcopy(p.to_data())
    bad["steps"][1][1] = "fails"
    bad["steps"][1][4] = []
    failing = _runner.Program(bad, library)
    results = native(tensor(f32(1, 2, 3, 4)))
    assert results[0].tolist() == [4, 8, 12, 16] and results[1].tolist() == [8, 16, 24, 32] and results[2] == 4
    assert seen == [(False, 2), (False, 1)] and _native.is_grad_enabled()
    with pytest.raises(GraphFailed) as e:
        failing(tensor(f32(1, 2, 3, 4)))
    assert isinstance(e.value.__cause__, IndexError)


def test_what_an_op_returns_becomes_the_buffer_or_is_copied(b, library, monkeypatch):
    """A fresh tensor of the planned layout is taken as it is, also by views that were made before; else it is copied."""
    made = []

    def fresh(x):
        made.append(tensor(x.numpy() + 1))
        address = made[-1].data_ptr()
        made.append(address)
        return made.pop(-2)

    def itself(x):
        return x

    def transposed(x):
        return _native.alias(tensor(np.ascontiguousarray((x.numpy() + 2).T)), (2, 3), (1, 2), 0)

    x = b.input(2, 3)
    names = ("fresh", "itself", "transposed")
    t = {name: b.buffer("arena", 2, 3, offset=64 * k) for k, name in enumerate(names)}
    out = {name: b.buffer("fresh", 2, 3) for name in names}
    view = b.buffer("view", 3, base=t["fresh"], offset=3)
    row, last = b.buffer("fresh", 3), b.buffer("fresh", 2, 3)
    arena = b.value(192)
    steps = [Alloc(out[name]) for name in names] + [Alloc(row), Alloc(last), View(view)]
    for name in names:
        steps += [Extern(name, (("buffer", x),), (t[name],), ()), Copy(t[name], out[name])]
        if name == "fresh":
            steps.append(Copy(view, row))
    steps.append(Extern("fresh", (("buffer", x),), (last,), ()))
    outputs = [Output("buffer", i) for i in (*out.values(), row, last)]
    p = b.program(steps, outputs, arena="#" + str(arena))
    monkeypatch.setattr(aten.op, "registry", {**aten.op.registry, "fresh": fresh, "itself": itself, "transposed": transposed})
    argument = tensor(f32(1, 2, 3, 4, 5, 6).reshape(2, 3))
    for _ in range(3):
        got = _runner.Program(p.to_data(), library)(argument)
        expected = argument.numpy()
        for result, values in zip(got, (expected + 1, expected, expected + 2, expected[1] + 1, expected + 1), strict=True):
            np.testing.assert_array_equal(result.numpy(), values)
        assert got[4].data_ptr() == made[-1]  # not copied
        assert got[1].data_ptr() != argument.data_ptr()


def test_copies_between_any_layouts(b, library):
    x = b.input(3, 4, 5)
    t = b.buffer("fresh", 3, 4, 5)
    view = b.buffer("view", 3, 4, 5, base=t, offset=0)
    strides = tuple(map(b.value, (1, 15, 3)))
    b.buffers[view] = Buffer("view", "float32", b.buffers[view].sizes, strides, t, b.value(0))
    p = b.program([Alloc(t), View(view), Copy(x, view)], [Output("buffer", view), Output("buffer", t)])
    both(p, library, np.arange(60, dtype=np.float32).reshape(3, 4, 5))


def sub(build):
    inner = Builder()
    return build(inner)


def test_loops_and_branches(b, library):
    def condition(q):
        x, _limit = q.input(1), q.input(1)
        out = q.buffer("fresh", 1, dtype="bool")
        return q.program([Alloc(out), Kernel("below", (x, out), (q.value(100),), (1,))], [Output("buffer", out)])

    def body(q):
        x, step = q.input(1), q.input(1)
        out = q.buffer("fresh", 1)
        return q.program([Alloc(out), Kernel("axpy", (x, step, out), (q.value(1),), (2,))], [Output("buffer", out)])

    def first(q):
        x = q.input(1)
        out = q.buffer("fresh", 1)
        return q.program([Alloc(out), Kernel("twice", (x, out), (q.value(1),), (1,))], [Output("buffer", out)])

    def second(q):
        q.input(1)
        return q.program([], [Output("input", 0)])

    x, step, flag = b.input(1), b.input(1), b.input(1, dtype="bool")
    result = Buffer("result", "float32")
    b.buffers += [result, result]
    p = b.program(
        [Loop(sub(condition), sub(body), (x,), (step,), (3,)), Cond(flag, sub(first), sub(second), (3,), (4,))],
        [Output("buffer", 3), Output("buffer", 4)],
    )
    for start, flag, expected in [(0, True, [102, 204]), (0, False, [102, 102]), (500, True, [500, 1000])]:
        r = both(p, library, f32(start), f32(3), np.array([flag]))
        assert [t.item() for t in r] == expected
    t = tensor(f32(500))
    r = _runner.Program(p.to_data(), library)(t, tensor(f32(3)), tensor(np.array([False])))
    assert r[0].data_ptr() != t.data_ptr()  # a loop that never runs returns a copy, not its argument


def test_the_generator_advances(b):
    b.t.add("seed")
    b.t.add("rng_offset")
    p = _runner.Program(b.program([RngAdvance(b.value(3))], [Output("int", 0), Output("int", 1)]).to_data())
    _native.manual_seed(7)
    assert [p() for _ in range(2)] == [(7, 0), (7, 3)]
    assert _native.philox_reserve(1) == (7, 6)


# ---------------------------------------------------------------------------------------------- threads and lifetimes
def test_heavy_programs_release_the_gil(b, library):
    flag, out = b.input(1), b.buffer("fresh", 1)
    steps = [Alloc(out), Kernel("wait", (flag, out), (b.value(2 * 10**9),), (1,))]
    p = _runner.Program(b.program(steps, [Output("buffer", out)], cost=10**9).to_data(), library)
    a = f32(0)
    t = _native.from_numpy(a)
    threading.Timer(0.05, lambda: a.__setitem__(0, 1)).start()
    assert p(t)[0].item() == 1  # it would spin for long if nobody else could run


def test_concurrent_calls_have_their_own_arena(b, library):
    n = 20000
    x, t, out = b.input(n), b.buffer("arena", n, offset=0), b.buffer("fresh", n)
    v = (b.value(n),)
    steps = [Alloc(out), Kernel("square", (x, t), v, (1,)), Kernel("twice", (t, out), v, (1,))]
    p = _runner.Program(b.program(steps, [Output("buffer", out)], arena=4 * n, cost=10**9).to_data(), library)
    wrong = []

    def work(k):
        x = np.full(n, k, np.float32)
        for _ in range(30):
            if not (p(tensor(x))[0].numpy() == 2 * k * k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_nothing_leaks(b, library):
    x, t, out = b.input(64), b.buffer("arena", 64, offset=0), b.buffer("fresh", 64)
    v = (b.value(64),)
    steps = [Alloc(out), Kernel("square", (x, t), v, (1,)), Kernel("twice", (t, out), v, (1,))]
    p = _runner.Program(b.program(steps, [Output("buffer", out)], arena=256).to_data(), library)
    a = tensor(np.ones(64, np.float32))
    p(a)
    before, references = _native.memory_stats()["allocated_bytes"], sys.getrefcount(a)
    for _ in range(100):
        p(a)
    assert _native.memory_stats()["allocated_bytes"] == before and sys.getrefcount(a) == references
    w = weakref.ref(p)
    del p
    gc.collect()
    assert w() is None


def test_benchmark_counts_seconds_per_call(b, library):
    x, out = b.input(4), b.buffer("fresh", 4)
    p = _runner.Program(
        b.program([Alloc(out), Kernel("twice", (x, out), (b.value(4),), (1,))], [Output("buffer", out)]).to_data(),
        library,
    )
    assert 0 < _runner.benchmark(p, (tensor(f32(1, 2, 3, 4)),), 1000) < 1e-3
    with pytest.raises(ValueError):
        _runner.benchmark(p, (), 1)


def test_profile_counts_seconds_per_step(b, library):
    x, out = b.input(4), b.buffer("fresh", 4)
    steps = [Alloc(out), Kernel("twice", (x, out), (b.value(4),), (1,))]
    p = _runner.Program(b.program(steps, [Output("buffer", out)]).to_data(), library)
    times = _runner.profile(p, (tensor(f32(1, 2, 3, 4)),), 100)
    assert len(times) == 2 and all(0 < t < 1e-3 for t in times)


# ------------------------------------------------------------------------------------------------------------ loading
@pytest.mark.parametrize("change", [
    ("steps", [["Kernel", "nothing", [0], [], [], -1]]), ("steps", [["Kernel", "twice", [0, 9], [], [], -1]]),
    ("steps", [["Extern", "no_such_op", [], [0], []]]), ("steps", [["Alloc"]]), ("steps", [["Jump", 0]]), ("steps", 3),
    ("values", [["mul", 5, 6]]), ("values", [["size", 0, 3]]), ("inputs", [["tensor", "float32", [0], []]]),
    ("buffers", [["input", "float32", [], [], 7, -1]]), ("outputs", [["buffer", -1, [], [], -1, None]]),
    ("prologue", 99), ("arena", 5),
    ("n_constants", 2), ("mutations", [4]),
])  # fmt: skip
def test_the_loader_checks_every_reference_itself(b, library, change):
    b.input(4)
    data = b.program([], [Output("input", 0)]).to_data()
    data[change[0]] = change[1]
    with pytest.raises(ValueError, match="not a Program"):
        _runner.Program(data, library)


def test_a_view_of_itself_is_refused(b, library):
    b.input(4)
    data = b.program([], [Output("input", 0)]).to_data()
    view = list(data["buffers"][0]) if data["buffers"] else ["view", "float32", [], [], 0, 0, "cpu"]
    view[0] = "view"
    for cycle in (1, 2):
        data["buffers"] = [[*view[:4], (k + 1) % cycle, 0, *view[6:]] for k in range(cycle)]
        with pytest.raises(ValueError, match="not a Program: a view of itself"):
            _runner.Program(data, library)


def test_constants(b, library):
    b.buffers.append(Buffer("constant", "float32", base=0))
    out = b.buffer("fresh", 2)
    p = b.program([Alloc(out), Kernel("twice", (0, out), (b.value(2),), (1,))], [Output("buffer", out)], n_constants=1)
    assert _runner.Program(p.to_data(), library, [tensor(f32(1, 2))])()[0].tolist() == [2, 4]
    with pytest.raises(TypeError):
        _runner.Program(p.to_data(), library, [3])


def test_a_file_that_is_no_library(b, tmp_path):
    (tmp_path / "x.so").write_bytes(b"\x7fELF nothing")
    with pytest.raises(ValueError, match="library"):
        _runner.Program(b.program([], []).to_data(), str(tmp_path / "x.so"))


def test_descriptors_that_are_reused_name_different_libraries(b, tmp_path):
    results = []
    for k in (1, 2, 3):
        body = f"{{ *(float *)b[0] = {k}; return 0; }}"
        source = f'extern "C" long k(void *const *b, const long *, const void *) {body}'
        path = toolchain.compile_shared(source, str(tmp_path), f"lib{k}")
        fd = os.open(path, os.O_RDONLY)
        q = Builder()
        out = q.buffer("fresh", 1)
        p = _runner.Program(
            q.program([Alloc(out), Kernel("k", (out,))], [Output("buffer", out)]).to_data(), f"/proc/self/fd/{fd}"
        )
        os.close(fd)
        results.append(p()[0].item())
    assert results == [1, 2, 3]


def test_importing_the_runner_imports_no_compiler():
    heavy = "('sympy', 'inductor.lowering', 'inductor.codegen', 'triton', 'subprocess')"
    code = f"import sys, inductor._runner; print([m for m in sys.modules if m.startswith({heavy})])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
