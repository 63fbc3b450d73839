"""Which kernels a graph takes, and what they move."""

import numpy as np

from inductor.codegen.cpp import render
from inductor.ir.buffer import ITEMSIZE, Kernel
from tests.inductor.graphs import Builder, check, compiled, tensor

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.normal(size=shape).astype("f4")


def adamw(shapes):
    """The step of AdamW over parameters of these shapes: the module and its mutations."""
    b = Builder()
    inputs = [[b.input(f"{c}{k}", shape) for c in "pgmv"] for k, shape in enumerate(shapes)]
    outputs, mutations = [], []
    for k, (p, g, m, v) in enumerate(inputs):
        m2 = b("add", b("mul", m, 0.9), b("mul", g, 0.1))
        v2 = b("add", b("mul", v, 0.99), b("mul", b("mul", g, g), 0.01))
        step = b("div", m2, b("add", b("sqrt", v2), 1e-8))
        p2 = b("sub", b("mul", p, 0.999), b("mul", step, 1e-3))
        for out, i in ((p2, 0), (m2, 2), (v2, 3)):
            mutations.append((4 * k + i, len(outputs)))
            outputs.append(out)
    return b.module(*outputs), mutations


def test_an_optimizer_step_is_one_launch_and_moves_no_byte_twice():
    shapes = [(33, 7), (20,), (33, 7)]
    gm, mutations = adamw(shapes)
    arrays = [normal(*s) if c != "v" else abs(normal(*s)) for s in shapes for c in "pgmv"]
    want = []
    for k in range(3):
        p, g, m, v = arrays[4 * k : 4 * k + 4]
        m2, v2 = m * 0.9 + g * 0.1, v * 0.99 + g * g * 0.01
        want.append((p * 0.999 - m2 / (np.sqrt(v2) + 1e-8) * 1e-3, m2, v2))
    run, made = compiled(gm, mutations)
    assert len(made.steps) == 1 and len(made.steps[0].body) == 3
    moved = sum(
        ITEMSIZE[made.buffers[a].dtype] * int(np.prod([int(str(s)) for s in made.buffers[a].sizes]))
        for a in (*made.steps[0].args, *made.steps[0].writes)
    )
    assert moved == sum(7 * 4 * int(np.prod(s)) for s in shapes)  # reads p g m v, writes p m v
    text = render(made.steps, made.buffers)
    assert text.count("static void kernel0_") == 2  # equal sizes share a function
    tensors = [tensor(a) for a in arrays]
    run(*tensors)
    for k, (p, m, v) in enumerate(want):
        for got, expected in zip((arrays[4 * k], arrays[4 * k + 2], arrays[4 * k + 3]), (p, m, v)):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_inputs_that_swap_are_read_before_they_are_written():
    b = Builder()
    x, y = b.input("x", (50,)), b.input("y", (50,))
    gm = b.module(b("copy", x, y), b("copy", y, x))
    run, _ = compiled(gm, [(0, 0), (1, 1)])
    a, c = normal(50), normal(50)
    want = c.copy(), a.copy()
    run(tensor(a), tensor(c))
    np.testing.assert_array_equal(a, want[0])
    np.testing.assert_array_equal(c, want[1])


def test_a_shifted_read_of_what_is_overwritten_comes_first():
    b = Builder()
    x = b.input("x", (60,))
    moved = b("add", x, b("flip", x, [0]))
    run, _ = compiled(b.module(moved, b("sum", x, [0], False)), [(0, 0)])
    a = normal(60)
    want, total = a + a[::-1], a.sum()
    out = run(tensor(a))
    np.testing.assert_array_equal(a, want)
    np.testing.assert_allclose(out[1].numpy(), total, rtol=1e-5)


def test_a_failing_kernel_leaves_inputs_alone():
    b = Builder()
    x, j, t = b.input("x", (40,)), b.input("j", (40,), "int64"), b.input("t", (10,))
    new = b("add", x, b("index_select", t, 0, j))
    run, made = compiled(b.module(new), [(0, 0)])
    a, index = normal(40), np.zeros(40, "i8")
    index[39] = 10
    before = a.copy()
    try:
        run(tensor(a), tensor(index), tensor(normal(10)))
    except Exception as e:
        assert "index_select" in str(e) or "index" in str(e)
    else:
        raise AssertionError("an index out of range went unnoticed")
    np.testing.assert_array_equal(a, before)


def test_reductions_over_one_domain_share_a_kernel():
    b = Builder()
    x = b.input("x", (30, 40))
    gm = b.module(b("sum", x, [1], False), b("amax", x, [1], True), b("mean", b("mul", x, x), [1], False))
    check(gm, [normal(30, 40)], kernels=1, rtol=1e-5, atol=1e-5)


def test_layer_norm_backward_takes_one_kernel_for_rows_and_one_for_columns():
    b = Builder()
    g, x, mean, rstd, w = (
        b.input(n, s) for n, s in (("g", (64, 48)), ("x", (64, 48)), ("mean", (64, 1)), ("rstd", (64, 1)), ("w", (48,)))
    )
    hat = b("mul", b("sub", x, mean), rstd)
    gw = b("mul", g, w)
    centred = b("sub", gw, b("mean", gw, [1], True))
    dx = b("mul", rstd, b("sub", centred, b("mul", hat, b("mean", b("mul", gw, hat), [1], True))))
    gm = b.module(dx, b("sum", b("mul", g, hat), [0], False), b("sum", g, [0], False))
    made = check(gm, [normal(64, 48), normal(64, 48), normal(64, 1), normal(64, 1), normal(48)], rtol=1e-4, atol=1e-4)
    assert len(made.steps) <= 2


def test_a_product_reads_heads_by_strides():
    b = Builder()
    q, k = b.input("q", (2, 5, 24)), b.input("k", (2, 5, 24))
    heads = [b("permute", b("view", n, [2, 5, 3, 8]), d) for n, d in ((q, [0, 2, 1, 3]), (k, [0, 2, 3, 1]))]
    left, right = (b("view", b("row_major", n), s) for n, s in zip(heads, ([6, 5, 8], [6, 8, 5])))
    made = check(b.module(b("bmm", left, right)), [normal(2, 5, 24), normal(2, 5, 24)], kernels=1, rtol=1e-5, atol=1e-5)
    assert isinstance(made.steps[0], Kernel) and made.steps[0].args[:2] == ("q", "k")


def test_what_shares_a_scalar_only_stays_apart():
    """Three loops in one launch, or one loop where they read the same matrix."""
    for shape, loops in (((), 3), ((30, 20), 1)):
        b = Builder()
        scale, *xs = b.input("scale", shape), *(b.input(f"x{k}", (30, 20)) for k in range(3))
        arrays = [np.asarray(normal(*shape)), *(normal(30, 20) for _ in xs)]
        made = check(b.module(*(b("mul", x, scale) for x in xs)), arrays, kernels=1)
        assert len(made.steps[0].body) == loops
