"""Programs over tensors: the graph that is captured, and that running it gives what eager gives."""

from __future__ import annotations

import numpy as np
import pytest
from weft._dynamo.testing import CompileCounter

import aten
import weft
from aten.autograd import no_grad
from dynamo import outcome
from tests.dynamo.harness import run, trace
from tests.dynamo.same import same


def t(*sizes, requires_grad=False):
    """A tensor of distinct small numbers."""
    n = 1
    for s in sizes:
        n *= s
    x = aten.arange(n, dtype=aten.float32).reshape(*sizes) / 7 - 1
    return x.requires_grad_() if requires_grad else x


def graph(fn, *args, **kwargs):
    """The captured graph as text, without types and lines."""
    traced = trace(fn, *args, **kwargs)
    assert isinstance(traced, outcome.Traced), traced
    return [line.split("#")[0].strip() for line in str(traced.graph).splitlines()]


def test_operators_methods_and_functions_are_one_kind_of_node():
    def f(x, y):
        return aten.exp(x + 2) * y.sum(-1, keepdim=True) - (3 - x).relu()

    assert graph(f, t(2, 3), t(2, 3)) == [
        'def graph(x: "f32[2, 3]", y: "f32[2, 3]"):', "add = aten.add(x, 2)", "exp = aten.exp(add)",
        "sum = aten.sum(y, -1, keepdim=True)", "mul = aten.mul(exp, sum)", "sub = aten.sub(3, x)",
        "relu = aten.relu(sub)", "sub_1 = aten.sub(mul, relu)", "return (sub_1,)",
    ]  # fmt: skip
    same(run(f, t(2, 3), t(2, 3)), f(t(2, 3), t(2, 3)), tolerance=0)


def p_shapes(x):
    b, n = x.shape
    y = x.view(b * n).reshape(n, b).T
    return y, x.size(0), x.shape[-1], x.ndim, x.numel(), len(x), x.dtype is aten.float32, x.dim()


def p_branch(x, flag):
    if flag and x.shape[0] > 1:
        return x * 2
    return x + 1


def p_inplace(x):
    y = x * 2
    y += 1
    y[0] = 5
    y[:, 1:].mul_(3)
    return y, y.relu_()


def p_loop(xs):
    total = 0
    for i, x in enumerate(xs):
        total = total + x * i
    return total, [x.sum() for x in xs], {"n": len(xs)}


def p_index(x):
    return x[0], x[..., -1], x[:, None], x[1:, ::2], x[[0, 1]], x[:, aten.tensor([0, 1])]


def p_iterate(x):
    a, b = x
    return [row * 2 for row in x], a + b


def p_no_grad(x):
    y = x * 2
    with no_grad():
        z = y * 3
    return y, z, y + z


def p_reductions(x):
    values, indices = x.max(dim=1)
    return values, indices, x.sum(), x.mean(0), x.argmax(), x.var(), x.softmax(-1)


PROGRAMS = [
    (p_shapes, lambda: (t(2, 3),)), (p_branch, lambda: (t(2, 3), True)), (p_branch, lambda: (t(2, 3), False)),
    (p_inplace, lambda: (t(2, 3),)), (p_loop, lambda: ([t(2), t(2), t(2)],)), (p_index, lambda: (t(3, 4),)),
    (p_iterate, lambda: (t(2, 3),)), (p_no_grad, lambda: (t(2, 3, requires_grad=True),)),
    (p_reductions, lambda: (t(3, 4),)),
]  # fmt: skip


@pytest.mark.parametrize("fn, make", PROGRAMS, ids=[f"{f.__name__}{i}" for i, (f, _) in enumerate(PROGRAMS)])
def test_the_graph_gives_what_eager_gives(fn, make):
    expected = fn(*make())
    same(run(fn, *make()), expected, tolerance=0)


def test_a_new_leaf_is_made_by_python():
    @weft.compile(backend="aot_eager")
    def f(x):
        leaf = weft.ones(2, requires_grad=True)
        return leaf, leaf * x

    leaf, out = f(weft.tensor(2.0))
    out.sum().backward()
    assert leaf.is_leaf and leaf.grad.tolist() == [2.0, 2.0]


def write_data(x, y):
    x.data = y
    x.add_(1)
    return x


def swap_data(x, y):
    z = x
    x.data = y
    y.data = weft.zeros([0])
    return weft.tensor(x is z), x * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_data_is_set(backend):
    written, swapped = [weft.compile(f, backend=backend, fullgraph=True) for f in (write_data, swap_data)]
    for _ in range(2):
        x, y = weft.ones(6), weft.zeros(6)
        assert written(x, y) is x and x.tolist() == y.tolist() == [1.0] * 6
        x, y = weft.ones(6, requires_grad=True), weft.zeros(4, requires_grad=True)
        same_tensor, doubled = swapped(x, y)
        doubled.sum().backward()
        assert same_tensor and x.grad.tolist() == [2.0] * 4 and x.tolist() == [0.0] * 4 and y.shape == (0,)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_writes_to_data_are_not_seen_by_autograd(backend):
    @weft.compile(backend=backend)
    def f(x):
        out = x.exp()
        x.data.mul_(2)
        return out

    x = weft.zeros(2, requires_grad=True)
    f(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_factors_of_in_place_sums_may_be_tensors():
    def f(x, a):
        return x.addcmul_(x * 2, x, value=a), x.addcdiv_(x, x + 1, value=a), x.add_(x, alpha=a)

    args = [(weft.ones(3), weft.tensor(0.5)) for _ in range(2)]
    for found, expected in zip(weft.compile(f, backend="eager", fullgraph=True)(*args[0]), f(*args[1])):
        assert found.equal(expected)


def test_as_strided_of_views():
    def windows(h):
        h = h.view(h.size(0), h.size(1) // 2, 2, h.size(2))
        return h.as_strided((h.size(0), h.size(1) * 2 - 1, 2, h.size(3)), (h.stride(0), h.stride(1) // 2, *h.stride()[2:]))

    compiled = weft.compile(windows, backend="eager", fullgraph=True)
    for sizes in ((1, 8, 1), (3, 6, 2)):
        x = weft.randn(*sizes)
        assert compiled(x).equal(windows(x))


def test_contiguity_in_a_memory_format():
    def which(x):
        return x + 1 if x.is_contiguous() else x + 2 if x.is_contiguous(memory_format=weft.channels_last) else x + 3

    x = weft.zeros(2, 3, 4, 5)
    compiled = weft.compile(which, fullgraph=True)
    for t in (x, x.contiguous(memory_format=weft.channels_last), x.transpose(1, 3), x[0], weft.zeros(2, 3, 4, 5)[:, :, 1:]):
        weft.testing.assert_close(compiled(t), which(t))


def test_a_few_slices_are_an_operation_each():
    counter = CompileCounter()
    f = lambda x: weft.cat([*x])
    x = weft.randn(3, 2)
    weft.testing.assert_close(weft.compile(f, backend=counter)(x), f(x))
    assert counter.op_count == 4


def test_tensors_of_sequences_that_hold_tensors_are_captured():
    def f(x, n):
        numbers = np.array([1, 2, 3])
        return (
            weft.tensor([x.sum(), 2.0]),
            weft.tensor([[x.max()], [1]], dtype=weft.float64),
            weft.tensor([2 * x.sum().to(weft.float16), 1]),
            weft.tensor([x[0:1], x[1:2]]),
            weft.LongTensor([numbers[0], numbers[2]]),
            weft.Tensor([x.max(), 2.5]),
            weft.Tensor(2, 3).shape,
            weft.tensor([n, x.shape[0]]),
        )

    compiled = weft.compile(f, fullgraph=True, backend="eager")
    for n in (2, 3, 4):
        for a, b in zip(compiled(weft.arange(n) + 0.5, n), f(weft.arange(n) + 0.5, n), strict=True):
            assert a == b if isinstance(b, tuple) else (a.dtype is b.dtype and weft.equal(a, b))


def test_a_function_without_ops_that_asks_whether_it_is_compiled_is():
    def f(x):
        return "compiled" if weft.compiler.is_compiling() else "plain"

    compiled = weft.compile(f, backend="eager", fullgraph=True)
    assert [compiled(weft.ones(1)) for _ in range(3)] == ["compiled"] * 3
    assert f(weft.ones(1)) == "plain"


@pytest.mark.parametrize(
    "taken",
    [lambda p, i: p[i], lambda p, i: p[:, i > 1][:, 0], lambda p, i: p[[0, 2]], lambda p, i: p[:, i][1:]],
)
def test_elements_gathered_from_a_parameter_are_written(taken):
    def program(p, i):
        got = taken(p, i)
        got += 1
        return got * p.sum() if got.shape else got

    p, i = t(4, 3, requires_grad=True), aten.tensor([0, 2, 1])
    want, got = program(p, i), weft.compile(program, fullgraph=True, backend="eager")(p, i)
    assert got.tolist() == want.tolist()
