"""Writes to `x.data` of what the graph computes: one graph, eager's values and gradients, or a break."""

import pytest

import weft
from dynamo.breaks import Unsupported


def masked(x, w, m):
    e = x @ w
    e.data.masked_fill_(m, -1e9)
    e.data[0] = 0.5
    e.data.mul_(2).add_(1)
    return e.softmax(-1) * weft.arange(5.0) + e


def a_view(x, w, m):
    e = weft.nn.functional.linear(x.unsqueeze(0), w.t()).squeeze(0)
    e.data.masked_fill_(m, float("-inf"))
    return e.softmax(-1) * weft.arange(5.0)


def rows(x, w, m):
    e = x @ w
    d = e.data
    d.clamp_(max=0)
    d[m] += 1
    return e.exp() + d


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("program", [masked, a_view, rows])
def test_values_and_gradients(program, backend):
    weft.manual_seed(0)
    x, w, m = weft.randn(3, 4), weft.randn(4, 5, requires_grad=True), weft.rand(3, 5) > 0.6
    want = program(x, w, m)
    got = weft.compile(program, backend=backend, fullgraph=True)(x, w, m)
    weft.testing.assert_close(got, want, equal_nan=True)
    of = lambda out: weft.autograd.grad((out * weft.arange(1.0, 6.0)).sum(), w)[0]
    weft.testing.assert_close(of(got), of(want), equal_nan=True)


def test_what_has_been_looked_at_breaks():
    def seen(x):
        y = x * 2
        z = y * y  # keeps y
        y.data.zero_()
        return z + y

    def kept(x):
        y = x.sigmoid()  # keeps its result
        y.data.zero_()
        return y

    def held(x):
        y = x * 2
        d, part = y.data, y.data[1:]
        y.data.zero_()
        return y + d + part.sum()

    def held_behind_a_write(x):
        y = x * 2
        d = y.data
        d.add_(1)
        y.data.mul_(2)
        return y + d

    x = weft.ones(3, requires_grad=True)
    for program in (seen, kept, held, held_behind_a_write):
        with pytest.raises(Unsupported):
            weft.compile(program, backend="eager", fullgraph=True)(x)
        assert weft.compile(program, backend="eager")(x).tolist() == program(x).tolist()


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "eager"])
def test_writes_of_data_are_none_of_the_tensor(backend):
    def f(x):
        first = x._version
        x.data.mul_(2)
        second = x._version
        x.add_(1)
        data = x.data
        data.view(-1)[0] = 7
        return x + 1, first, second, x._version

    def g(x):
        x.data[1:] = 5
        return x * 2

    for function in (f, g):
        a, b = weft.arange(4.0), weft.arange(4.0)
        got, want = weft.compile(function, backend=backend)(a), function(b)
        assert str(got) == str(want) and weft.equal(a, b) and a._version == b._version
