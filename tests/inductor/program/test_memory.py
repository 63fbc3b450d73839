"""From a Schedule to a Program: lifetimes, the arena, what is fresh, inputs in place, sizes known late."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aten.symbolic.expr import as_expr, evaluate, sym
from inductor.ir import buffer as ir
from inductor.ir import steps as out
from inductor.schedule.memory import PlanError, Result, pack, plan


def buffer(name, *sizes, dtype="float32", strides=None, **rest):
    sizes = tuple(map(as_expr, sizes))
    if strides is None:
        strides, n = [], as_expr(1)
        for size in reversed(sizes):
            strides.insert(0, n)
            n = n * size
    return ir.Buffer(name, dtype, sizes, tuple(map(as_expr, strides)), **rest)


def schedule(inputs, buffers, steps, outputs, **rest):
    named = {b.name: b for b in buffers}
    return ir.Schedule(tuple(inputs), named, steps, tuple(outputs), **rest)


def kernel(name, reads, writes, **rest):
    return ir.Kernel(name, (*reads, *writes), tuple(writes), **rest)


def chain(n, size):
    """x → b1 → b2 → … → bn"""
    names = ["x"] + [f"b{i}" for i in range(1, n + 1)]
    buffers = [buffer("x", size, kind="input")] + [buffer(b, size) for b in names[1:]]
    steps = [kernel(f"k{i}", [names[i]], [names[i + 1]]) for i in range(n)]
    return schedule(["x"], buffers, steps, [names[-1]])


def test_a_chain_needs_two_temporaries_at_a_time():
    p = plan(chain(6, 256))
    assert p.values[p.arena] == ("const", 2 * 1024)
    kinds = [b.kind for b in p.buffers]
    assert kinds.count("arena") == 5 and kinds.count("fresh") == 1
    assert [type(s).__name__ for s in p.steps] == ["Alloc"] + ["Kernel"] * 6


def test_a_symbolic_chain_shares_two_slots():
    s = sym("s0")
    p = plan(chain(6, s))
    offsets = {b.offset for b in p.buffers if b.kind == "arena"}
    assert len(offsets) == 2
    assert p.prologue == len(p.values)
    assert p.values[p.inputs[0].sizes[0]] == ("size", 0, 0)


def test_no_arena_without_temporaries():
    p = plan(chain(1, 8))
    assert p.arena == -1 and [type(s).__name__ for s in p.steps] == ["Alloc", "Kernel"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 300), st.integers(0, 2)), max_size=14))
def test_buffers_alive_together_never_overlap(items):
    symbols = [None, sym("a"), sym("b") * 4 + 1]
    spans = {f"b{i}": (first, first + length) for i, (first, length, _, _) in enumerate(items)}
    sizes = {f"b{i}": as_expr(size) if kind == 0 else symbols[kind] for i, (_, _, size, kind) in enumerate(items)}
    offsets, total = pack(spans, sizes)
    for env in ({"a": 0, "b": 0}, {"a": 100, "b": 7}, {"a": 63, "b": 1000}):
        at = {n: (evaluate(offsets[n], env), evaluate(offsets[n], env) + evaluate(sizes[n], env)) for n in spans}
        for n, (start, stop) in at.items():
            assert start % 64 == 0 and stop <= max(evaluate(total, env), stop - start)
            for m, (f, t) in at.items():
                together = spans[n][0] <= spans[m][1] and spans[m][0] <= spans[n][1]
                assert n == m or not together or stop <= f or t <= start


def test_padded_buffers_take_their_extent():
    buffers = [buffer("x", 3, 4, kind="input"), buffer("t", 3, 4, strides=(16, 1)), buffer("y", 3, 4)]
    p = plan(schedule(["x"], buffers, [kernel("a", ["x"], ["t"]), kernel("b", ["t"], ["y"])], ["y"]))
    assert p.values[p.arena] == ("const", 192)  # (2 * 16 + 3 + 1) * 4 = 144


def test_views_keep_their_base():
    buffers = [
        buffer("x", 8, kind="input"),
        buffer("t", 8),
        buffer("v", 4, kind="view", base="t", offset=4),
        buffer("y", 4),
    ]
    p = plan(schedule(["x"], buffers, [kernel("a", ["x"], ["t"]), kernel("b", ["v"], ["y"])], ["y", "v"]))
    kinds = [b.kind for b in p.buffers]
    assert "arena" not in kinds and kinds.count("fresh") == 2  # t outlives the call through its view
    view = p.buffers[kinds.index("view")]
    assert p.buffers[view.base].kind == "fresh" and p.values[view.offset] == ("const", 4)
    assert [o.kind for o in p.outputs] == ["buffer", "buffer"]


def test_inputs_written_by_kernels_and_copied():
    buffers = [buffer("x", 8, kind="input"), buffer("m", 8, kind="input"), buffer("n", 8), buffer("y", 8)]
    steps = [kernel("a", ["x"], ["n"]), kernel("b", ["x", "n"], ["x"]), kernel("c", ["n"], ["y"])]
    s = schedule(["x", "m"], buffers, steps, ["y", "x", "n"], mutated=("x",))
    p = plan(s, [Result("output", 0)], mutations=[(0, 1), (1, 2)])
    assert p.mutations == [0, 1]
    assert isinstance(p.steps[-1], out.Copy) and p.buffers[p.steps[-1].target].base == 1
    assert len(p.outputs) == 1
    assert p.buffers[p.steps[-1].source].kind == "arena"  # the new value need not outlive the copy


def test_nothing_that_may_fail_follows_a_write_to_an_input():
    buffers = [buffer("x", 8, kind="input"), buffer("y", 8)]
    check = (ir.Check("embedding", "index", "a.py:1"),)
    late = [kernel("a", [], ["x"]), kernel("b", ["x"], ["y"], checks=check)]
    with pytest.raises(PlanError, match="may fail"):
        plan(schedule(["x"], buffers, late, ["y"], mutated=("x",)))
    with pytest.raises(PlanError, match="may fail"):
        plan(schedule(["x"], buffers, [kernel("a", [], ["x"], checks=check)], ["x"], mutated=("x",)))
    early = [kernel("b", ["x"], ["y"], checks=check), kernel("a", [], ["x"])]
    p = plan(schedule(["x"], buffers, early, ["y"], mutated=("x",)))
    assert p.checks == [out.CheckInfo("embedding", "index", "a.py:1")]
    assert [s.first_check for s in p.steps if isinstance(s, out.Kernel)] == [0, -1]


def test_sizes_known_only_during_the_call():
    n = sym("u0")
    buffers = [buffer("x", 8, kind="input"), buffer("r", n, 1, dtype="int64"), buffer("t", n), buffer("y", n)]
    steps = [ir.Extern("nonzero", (ir.Ref("x"),), {}, ("r",), allocates=True), kernel("a", ["r"], ["t"], symbols=(n,)),
             kernel("b", ["t"], ["y"], symbols=(n * 2,))]  # fmt: skip
    p = plan(schedule(["x"], buffers, steps, ["y", n]))
    names = [type(s).__name__ for s in p.steps]
    assert names[0] == "Python" and names.index("Evaluate") < names.index("Alloc") < names.index("Kernel")
    assert p.prologue < len(p.values) and p.outputs[1].kind == "int"
    assert [b.kind for b in p.buffers] == ["input", "result", "fresh", "fresh"]


def test_the_generator_is_bound_natively():
    seed, offset = sym("seed"), sym("offset")
    buffers = [buffer("y", 8)]
    s = schedule([seed, offset], buffers, [kernel("a", [], ["y"], symbols=(seed, offset))], ["y"])
    p = plan(s, rng=(seed, offset, as_expr(2)))
    assert p.inputs == [] and isinstance(p.steps[0], out.RngAdvance)
    assert {("seed",), ("rng_offset",)} <= set(p.values)


def test_number_outputs():
    s = sym("s0")
    buffers = [buffer("x", s, kind="input")]
    p = plan(schedule(["x"], buffers, [], [s * 2, None]), [
        Result("output", 0), Result("number", value=as_expr(3)), Result("number", value=s + 1), Result("input", 0),
        Result("constant", value="mean"), Result("view", 0, (s,), (as_expr(1),), as_expr(0)), Result("output", 1),
    ])  # fmt: skip
    assert [o.kind for o in p.outputs] == ["int", "constant", "int", "input", "constant", "view", "constant"]
