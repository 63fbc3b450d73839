"""cond, while_loop, map, scan, associative_scan and wrap: plain, and as nodes of one graph."""

import pytest
from weft._dynamo.testing import CompileCounterWithBackend, EagerAndRecordGraphs
from weft._higher_order_ops import associative_scan, cond, map, scan, while_loop, wrap

import weft

weft.manual_seed(0)
w = weft.randn(4, 4, requires_grad=True)
FUNCTIONS = {
    "cond": lambda x: cond(x.sum() > 0, lambda a: a.sin(), lambda a: a * 2, (x,)),
    "closures": lambda x: cond(x.sum() > 0, lambda a: a @ w, lambda a: (a + w[0]) * x.shape[0], (x,)),
    "no operands": lambda x: cond(x.max() < 0, lambda: x + 1, lambda: x - 1),
    "nested results": lambda x: cond(x.sum() > 0, lambda a: {"a": (a, a.sum())}, lambda a: {"a": (a * 3, a.sum() * 2)}, (x,)),
    "nested cond": lambda x: cond(
        x.sum() > 0, lambda a: cond(a[0, 0] > 0, lambda b: b.exp(), lambda b: b.cos(), (a,)), lambda a: a * 2, (x,)
    ),
    "size": lambda x: cond(x.shape[0] > 5, lambda a: a + 1, lambda a: a - 1, (x,)),
    "map": lambda x: map(lambda row, m: row @ m, x, w),
    "map of pairs": lambda x: map(lambda p: {"s": p[0] * p[1]}, (x, x * 2)),
    "scan": lambda x: scan(lambda c, row: (c * 0.5 + row, c @ w), weft.zeros(4), x),
    "scan backwards": lambda x: scan(lambda c, col: (c + col, c * col), x[:, 0] * 0, x, dim=1, reverse=True),
    "associative": lambda x: associative_scan(lambda a, b: a * b, x, 0),
    "pairs": lambda x: associative_scan(
        lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (x.sigmoid(), x), dim=1, reverse=True, combine_mode="generic"
    ),
    "wrap": lambda x: wrap(lambda a, k: (a * w[0]).sum(1) * k, x, 3),
}

KEPT = []


def leaves(value):
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in leaves(v)]
    return [x for v in value.values() for x in leaves(v)] if isinstance(value, dict) else [value]


def gradients(value, x):
    return weft.autograd.grad(sum((t * t).sum() for t in leaves(value)), (x, w), allow_unused=True, materialize_grads=True)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_graph_and_the_plain_values(name, backend):
    f = FUNCTIONS[name]
    compiled = weft.compile(f, backend=backend, fullgraph=True)
    for sign, n in ((1, 5), (-1, 5), (1, 6), (-1, 7)):
        x = (weft.rand(n, 4) * sign).requires_grad_()
        expected, got = f(x), compiled(x)
        weft.testing.assert_close(got, expected)
        for a, b in zip(gradients(got, x), gradients(expected, x)):
            weft.testing.assert_close(a, b)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_both_branches_are_in_the_graph(backend):
    weft.compiler.reset()
    compiled = weft.compile(FUNCTIONS["cond"], backend=backend, fullgraph=True)
    x = weft.ones(3, 4)
    for value in (x, -x, x, -x):
        weft.testing.assert_close(compiled(value), FUNCTIONS["cond"](value))
    assert weft._dynamo.counters["frames"] == 1


@pytest.mark.parametrize("backend", [None, "eager", "inductor"])
def test_while_loop(backend):
    def f(x, n):
        return while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 1.5 + w.detach()[0]), (weft.tensor(0), x))

    g = f if backend is None else weft.compile(f, backend=backend, fullgraph=True)
    for n in (0, 1, 7):
        i, got = g(weft.ones(2, 4), weft.tensor(n))
        expected = weft.ones(2, 4)
        for _ in range(n):
            expected = expected * 1.5 + w.detach()[0]
        assert int(i) == n
        weft.testing.assert_close(got, expected)


def test_loops_have_no_derivative():
    x = weft.ones(3, requires_grad=True)
    (out,) = while_loop(lambda a: a.sum() < 100, lambda a: (a * 2,), (x,))
    with pytest.raises(RuntimeError, match="not implemented"):
        out.sum().backward()


def test_conditions_and_loops_over_batches():
    x = weft.arange(-3.0, 5.0)
    f = lambda a: cond(a > 0, lambda a: a * 10, lambda a: a - 1, (a,))
    assert weft.vmap(f)(x).tolist() == [float(f(a)) for a in x]
    count = lambda a: while_loop(lambda n, a: a < 40, lambda n, a: (n + 1, a * 2 + 1), (weft.tensor(0), a.abs()))[0]
    assert weft.vmap(count)(x).tolist() == [int(count(a)) for a in x]


def test_derivatives_of_cond_in_transforms():
    f = lambda a: cond(a.sum() > 0, lambda a: a.sin(), lambda a: a**3, (a,)).sum()
    for x in (weft.ones(3), -weft.ones(3)):
        expected = x.cos() if x.sum() > 0 else 3 * x**2
        weft.testing.assert_close(weft.func.grad(f)(x), expected)
        weft.testing.assert_close(weft.compile(weft.func.grad(f), fullgraph=True)(x), expected)
        weft.testing.assert_close(weft.func.jvp(f, (x,), (weft.ones(3),))[1], expected.sum())
        batch = weft.stack([x, -x])
        weft.testing.assert_close(weft.vmap(weft.func.grad(f))(batch), weft.stack([weft.func.grad(f)(b) for b in batch]))


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda x: cond(x.sum() > 0, lambda a: a[:2], lambda a: a, (x,)), "differ in sizes"),
        (lambda x: cond(x.sum() > 0, lambda a: (a,), lambda a: a, (x,)), "nested"),
        (lambda x: cond(x.sum() > 0, lambda a: a.double(), lambda a: a, (x,)), "dtype"),
        (lambda x: cond(x.sum() > 0, lambda a: a.add_(1), lambda a: a, (x,)), "from outside"),
        (lambda x, kept=KEPT: cond(x.sum() > 0, lambda a: kept.append(1) or a + 1, lambda a: a + 2, (x,)), "changes what was"),
        (lambda x: (lambda kept: map(lambda a: kept.append(1) or a + 1, x))([]), "changes what was"),
        (lambda x: while_loop(lambda a: a.sum() < 9, lambda a: (a, a), (x,)), "2 tensors for 1"),
        (lambda x: while_loop(lambda a: 3, lambda a: (a,), (x,)), "no tensor"),
    ],
)
def test_what_cannot_be_a_node_breaks(f, text):
    with pytest.raises(weft._dynamo.Unsupported, match=text):
        weft.compile(f, backend="eager", fullgraph=True)(weft.ones(3, 4))


def test_a_break_in_a_branch():
    def branch(a):
        weft._dynamo.graph_break()
        return a + 1

    f = lambda x: cond(x.sum() > 0, branch, lambda a: a - 1, (x,))
    with pytest.raises(weft._dynamo.exc.UncapturedHigherOrderOpError, match="captured completely"):
        weft.compile(f, backend="eager", fullgraph=True)(weft.ones(3))
    assert weft.compile(f, backend="eager")(weft.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda x: cond(x > 0, lambda a: a, lambda a: a, (x,)), "single-element"),
        (lambda x: cond(True, lambda a: a, lambda a: a, (3,)), "tensor leaves"),
        (lambda x: cond("yes", lambda a: a, lambda a: a, (x,)), "pred to be bool or tensor"),
        (lambda x: cond(True, 3, lambda a: a, (x,)), "callable"),
        (lambda x: while_loop(lambda a: True, lambda a: a, x), "tuple or list"),
        (lambda x: while_loop(lambda a: a.sum() < 99, lambda a: (a[:1],), (x,)), "same metadata"),
        (lambda x: map(lambda a: a, x[:0]), "cannot be 0"),
        (lambda x: map(lambda a: a, (x, x[0])), "consistent"),
        (lambda x: scan(lambda c, a: (c[:1], a), x[0], x), "must keep"),
        (lambda x: scan(lambda c, a: (c, a), 3, x), "must be a Tensor"),
    ],
)
def test_bad_arguments(call, text):
    with pytest.raises((RuntimeError, ValueError), match=text):
        call(weft.ones(3, 4))


def test_prefixes_of_every_length():
    for n in range(1, 18):
        x = weft.arange(1.0, n + 1)
        weft.testing.assert_close(associative_scan(lambda a, b: a + b, x, 0), x.cumsum(0))
        weft.testing.assert_close(associative_scan(lambda a, b: a + b, x, 0, reverse=True), x.flip(0).cumsum(0).flip(0))


def test_graphs_inside_of_graphs_are_shown():
    text = str(weft.explain(FUNCTIONS["cond"])(weft.ones(3, 4)))
    assert "cond = " in text and "def cond_true_0(" in text and "def cond_false_0(" in text and "aten.sin(" in text


def test_graphs_inside_of_graphs_are_modules_that_all_take_what_any_takes():
    y, z = weft.ones(3), weft.full((3,), 2.0)
    backend = EagerAndRecordGraphs()

    def choose(x):
        inner = lambda x: cond(x.sum() > 9, lambda x: x * z, lambda x: x * y, (x,))
        return cond(x.sum() > 0, lambda x: x + y, inner, (x,))

    compiled = weft.compile(choose, backend=backend, fullgraph=True)
    for x in (weft.ones(3), -weft.ones(3)):
        weft.testing.assert_close(compiled(x), choose(x))
    names = {name for name, _ in backend.graphs[0].named_modules()}
    inner = {"cond_false_1.cond_true_0", "cond_false_1.cond_false_0"}
    assert names == {"", "cond_true_1", "cond_false_1", *inner}
    counts = [len(graph.graph.placeholders) for graph in backend.graphs[0].children()]
    assert counts[0] == counts[1]


def test_globals_that_hold_themselves():
    """What a branch must not change was looked for in the globals of the functions alive, without end."""

    class Told(dict):
        def values(self):
            raise AssertionError("the user's code is not run")

    names = {"cond": cond, "own": Told()}
    names["circle"] = names["own"]["circle"] = {"names": names, "again": [names, (names,)]}
    source = """
def choose(x):
    scale = lambda x: x * 3
    return cond(x.sum() > 0, lambda x: scale(x), lambda x: x - 1, (x,))
"""
    exec(source, names)
    compiled = weft.compile(names["choose"], fullgraph=True)
    for x in (weft.ones(3), -weft.ones(3)):
        weft.testing.assert_close(compiled(x), names["choose"](x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_number_from_outside_reaches_a_wrapped_function(backend):
    number = 3.5

    @weft.compile(backend=backend, fullgraph=True)
    def f(x):
        return wrap(lambda x: x + number, x)

    for number in (3.5, 2.25, 7.0):
        weft.testing.assert_close(f(weft.zeros(2)), weft.full((2,), number))


def test_a_wrapped_function_changes_nothing_outside():
    seen = []

    def f(x):
        def g(x):
            seen.append(1)
            return x + 1

        return wrap(g, x)

    counts = weft.explain(f)(weft.ones(2))
    assert counts.graph_break_count >= 1
    seen.clear()
    weft.testing.assert_close(weft.compile(f)(weft.ones(2)), weft.full((2,), 2.0))
    assert seen == [1]


COUNTED = {
    "to a number": lambda x: while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2 + i), (0, x)),
    "places": lambda x: while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * 2 + a[i % 2]), (1, x)),
    "of a size": lambda x: while_loop(lambda i, d: i > 0, lambda i, d: (i // 2, {"a": d["a"] + i}), (x.shape[0], {"a": x})),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", COUNTED)
def test_loops_carry_ints(name, backend):
    weft.compiler.reset()
    f, counter = COUNTED[name], CompileCounterWithBackend(backend)
    compiled = weft.compile(f, backend=counter, fullgraph=True)
    for n in (3, 4, 9):
        expected, got = f(weft.ones(n)), compiled(weft.ones(n))
        assert type(got[0]) is type(expected[0]) is int
        weft.testing.assert_close(got, expected)
    assert counter.frame_count <= 2


def test_ints_of_a_loop_stay_ints():
    with pytest.raises(RuntimeError, match="return ints"):
        while_loop(lambda i, a: i < 5, lambda i, a: (i + 0.5, a), (0, weft.ones(2)))


def leaky(c, row):
    state = (c[0] @ w + row).tanh()
    return (state, c[1] + 1), (state.sum(0, True) * c[1], row)


SCANS = {
    "rows": lambda x: scan(leaky, (weft.zeros(4), weft.tensor(0)), x),
    "columns, backwards": lambda x: scan(leaky, (x[0], weft.tensor(3)), x.T, dim=1, reverse=True),
    "pairs": lambda x: scan(lambda c, p: (c * p["a"], c + p["b"]), x[0], {"a": x, "b": (x * 2)}, dim=0),
    "of scans": lambda x: scan(lambda c, row: (scan(lambda a, b: (a + b, a), c, row.reshape(4, 1) * w)[0], c), w[0], x),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("name", SCANS)
def test_scans_of_any_length_are_one_graph(name, backend):
    weft.compiler.reset()
    f, counter = SCANS[name], CompileCounterWithBackend(backend)
    compiled = weft.compile(f, backend=counter, fullgraph=True)
    for n in (3, 4, 6, 1, 2):
        x = weft.randn(n, 4, requires_grad=True)
        expected, got = leaves(f(x)), leaves(compiled(x))
        for a, b in zip(got, expected, strict=True):
            weft.testing.assert_close(a, b)
            assert a.stride() == b.stride()
        floats = lambda values: [t for t in values if t.is_floating_point()]  # noqa: E731
        for a, b in zip(gradients(floats(got), x), gradients(floats(expected), x), strict=True):
            weft.testing.assert_close(a, b)
    assert counter.frame_count <= 2


TRANSFORMS = {
    "vmap": lambda f, x: weft.vmap(f)(weft.stack([x, x * 2])),
    "vmap of columns": lambda f, x: weft.vmap(f, in_dims=1)(weft.stack([x, x * 2], 1)),
    "jvp": lambda f, x: weft.func.jvp(f, (x,), (x * 0.5,)),
    "jacrev": lambda f, x: weft.func.jacrev(f)(x),
    "jacfwd": lambda f, x: weft.func.jacfwd(f)(x),
    "hessian": lambda f, x: weft.func.hessian(lambda x: f(x).sum())(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_compiled_scans(name):
    f = lambda x: scan(lambda c, row: ((c @ w).sin() + row, c * row), x[0] * 0, x)[1]  # noqa: E731
    transform, x = TRANSFORMS[name], weft.randn(3, 4)
    got = weft.compile(lambda x: transform(f, x), fullgraph=True)(x)
    weft.testing.assert_close(got, transform(f, x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_what_a_loop_carries_may_begin_in_any_layout(backend):
    loop = lambda x: while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * 2 + 1), (weft.tensor(0), x.T))[1]  # noqa: E731
    expanded = lambda x: scan(lambda c, row: (c + row, c * row), x[0, 0].expand(4), x)  # noqa: E731
    chosen = lambda x: cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, ((x * 2)[:, 1:3].expand(2, 3, 2),))  # noqa: E731
    for f in (loop, expanded, chosen):
        x = weft.randn(3, 4)
        weft.testing.assert_close(weft.compile(f, backend=backend, fullgraph=True)(x), f(x))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_no_slices_are_refused_by_compiled_code_too(backend):
    with pytest.raises(RuntimeError, match="cannot be 0"):
        weft.compile(lambda x: map(lambda a: a + 1, x), backend=backend)(weft.ones(0, 3))


def test_results_of_map_lie_as_stacked_slices_do():
    def f(xs):
        return map(lambda x: (x.cos().T, x.sin().view(-1)), xs)

    for sizes in [(2, 3, 4), (3, 1, 4), (2, 3, 1)]:
        xs = weft.randn(sizes)
        for backend in ("eager", "inductor"):
            for a, b in zip(weft.compile(f, backend=backend, fullgraph=True)(xs), f(xs), strict=True):
                assert a.stride() == b.stride()
                weft.testing.assert_close(a, b)


def test_branches_that_differ_are_an_error_of_the_operation():
    f = weft.compile(lambda x: weft.cond(x.sum() > 0, lambda x: x[0], lambda x: x, (x,)), backend="eager", fullgraph=True)
    with pytest.raises(weft._dynamo.exc.UncapturedHigherOrderOpError, match="differ in sizes"):
        f(weft.ones(2, 3))


@pytest.mark.parametrize("nested", [lambda t: [t], lambda t: [[t]], lambda t: (t, [{"a": [t]}])], ids=["list", "lists", "mixed"])
def test_operands_nested_in_lists_of_the_caller(nested):
    def first(tree):
        return weft.utils._pytree.tree_flatten(tree)[0][0]

    def f(pred, tree):
        return weft.cond(pred, lambda t: first(t) * 2, lambda t: first(t) * 3, [tree])

    g, tree = weft.compile(f, backend="eager", fullgraph=True), nested(weft.ones(3))
    for pred in (True, False):
        assert weft.equal(g(weft.tensor(pred), tree), f(weft.tensor(pred), tree))
