"""What a view remembers of how it was made: base, op, further arguments, which views of one op share where they are the same."""

import gc

import pytest

import aten
from aten import _native

x = aten.arange(16.0)
MADE = [
    (lambda: x.view(4, 4), ("view", ((4, 4),))),
    (lambda: x.view(2, 8), ("view", ((2, 8),))),
    (lambda: x.view(16), ("view", ((16,),))),
    (lambda: x.view([2, -1]), ("view", ((2, 8),))),
    (lambda: x[1:5], ("slice", (0, 1, 5, 1))),
    (lambda: x[1:6], ("slice", (0, 1, 6, 1))),
    (lambda: x[1], ("select", (0, 1))),
    (lambda: x.unsqueeze(0), ("unsqueeze", (0,))),
    (lambda: x.unsqueeze(1), ("unsqueeze", (1,))),
    (lambda: x.expand(3, 16), ("expand", ((3, 16),))),
    (lambda: x.unfold(0, 4, 2), ("unfold", (0, 4, 2))),
]


def test_arguments_are_those_of_the_very_view():
    for order in (MADE, MADE[::-1], MADE + MADE):
        for make, (name, args) in order:
            base, op, found = make()._view_of
            assert base is x and op.name == name and found == args and type(found) is tuple


def test_equal_arguments_are_kept_once():
    a, b, other = x.view(4, 4), x.view(4, 4), x.view(8, 2)
    assert a._view_of[2] is b._view_of[2] and other._view_of[2] == ((8, 2),)


def test_a_view_made_by_python_has_tuples_too():
    view = _native.alias(x, (4, 4), (4, 1), 0, aten.ops.view, ([4, 4],))
    assert view._view_of[2] == ((4, 4),) == x.view(4, 4)._view_of[2]


WRITTEN = {
    "view": lambda t: t.view(4, 4)[1],
    "slice": lambda t: t[1:5],
    "select": lambda t: t[1],
    "unsqueeze": lambda t: t.unsqueeze(1)[2:3],
}


@pytest.mark.parametrize("make", WRITTEN.values(), ids=WRITTEN)
def test_gradients_go_through_a_view_that_shares_its_arguments(make):
    shown = aten.ones(16)
    make(shown).mul_(2)
    leaf = aten.arange(16.0).requires_grad_()
    base = leaf * 1
    make(x), make(base).mul_(2)
    base.sum().backward()
    assert leaf.grad.equal(shown) and not shown.equal(aten.ones(16))


def test_views_made_while_the_collector_runs_others():
    """What a view keeps is shared with the last one of its op, which a callback of the collector may replace meanwhile."""
    x = aten.arange(64.0)
    made = []

    def others(phase, info):
        made.append([x.as_strided((2, k + 1), (3, 1), k) for k in range(4)])
        del made[:-2]

    before = gc.get_threshold()
    gc.callbacks.append(others)
    gc.set_threshold(1)
    try:
        views = [x.as_strided((2, k % 5 + 1), (k % 7 + 1, 1), k) for k in range(40)]
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(others)
    assert [v._view_of[2] for v in views] == [((2, k % 5 + 1), (k % 7 + 1, 1), k) for k in range(40)]
