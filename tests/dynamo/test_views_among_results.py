"""Results that are views of one another, or of what only they show: writes recorded into one are history of the others, too."""

import pytest

import weft
from weft import _dynamo


def flat(x):
    y = x * 2
    return y, y.view(-1)


def rows(x):
    y = x * 2
    return y[1:], y[:2]


def chain(x):
    y = weft.zeros(4, 4)
    z = y.t()
    return z, z[1:], y


def alone(x):
    y = x * 2
    return y, y.detach()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("written", [0, 1])
@pytest.mark.parametrize("function", [flat, rows, chain, alone], ids=lambda f: f.__name__)
def test_a_recorded_write_is_seen_by_all(function, written, dynamic):
    found = []
    for run in (function, weft.compile(function, dynamic=dynamic)):
        for n in (4, 4, 5):
            w = weft.full((), 3.0, requires_grad=True)
            results = run(weft.ones(4, n))
            views = [r._is_view() for r in results]
            results[written].mul_(w)
            gradients = [weft.autograd.grad(r.sum(), w, retain_graph=True)[0].item() if r.requires_grad else None for r in results]
            found.append((views, gradients, [r.is_leaf for r in results], [r.tolist() for r in results]))
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def behind_a_break(x):
    y = weft.zeros(4, 4)
    v = y.view(-1)
    _dynamo.graph_break()
    v[:4].copy_(x)
    return y, v


def test_so_it_is_behind_a_break():
    x = weft.ones(4, requires_grad=True)
    for run in (behind_a_break, weft.compile(behind_a_break)):
        y, v = run(x)
        assert [t.requires_grad for t in (y, v)] == [True, True] and not y.is_leaf and not v.is_leaf
        assert weft.autograd.grad(y.sum(), x)[0].tolist() == [1, 1, 1, 1]


def test_a_view_of_what_got_a_history_is_no_leaf():
    y = weft.zeros(4)
    v = y[1:]
    y.mul_(weft.ones(4, requires_grad=True))
    assert v.requires_grad and not v.is_leaf
    v = y[1:]
    with pytest.raises(RuntimeError, match="leaf variables"):
        v.requires_grad_(False)
