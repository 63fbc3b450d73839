"""Writes into views that show elements twice: a graph leaves them to plain code, which takes one element after the other."""

from __future__ import annotations

import pytest

import weft


def windows(x):
    return x.unfold(0, 2, 1)


WRITES = {
    "add_": (lambda x: windows(x).add_(1), [1.0, 3.0, 4.0, 4.0]),
    "mul_": (lambda x: windows(x).mul_(2), [0.0, 4.0, 8.0, 6.0]),
    "add_ of a tensor": (lambda x: windows(x).add_(weft.ones(3, 2)), [1.0, 3.0, 4.0, 4.0]),
    "copy_": (lambda x: windows(x).copy_(weft.arange(6.0).reshape(3, 2)), [0.0, 2.0, 4.0, 5.0]),
    "one window": (lambda x: windows(x).__setitem__(0, 5.0), [5.0, 5.0, 2.0, 3.0]),
    "index_put_": (lambda x: windows(x).index_put_((weft.tensor([0]),), weft.tensor(9.0)), [9.0, 9.0, 2.0, 3.0]),
    "index_fill_": (lambda x: windows(x).index_fill_(0, weft.tensor([0]), 3.0), [3.0, 3.0, 2.0, 3.0]),
    "as_strided": (lambda x: x.as_strided((3, 2), (1, 1)).neg_(), [-0.0, 1.0, 2.0, -3.0]),
    "a row of as_strided": (lambda x: x.as_strided((3, 2), (1, 1))[0].add_(5), [5.0, 6.0, 2.0, 3.0]),
    "a view of one": (lambda x: windows(x).t()[1:].add_(1), [0.0, 2.0, 3.0, 4.0]),
}


@pytest.mark.parametrize("name", WRITES)
def test_windows_are_written_one_element_after_the_other(name):
    write, expected = WRITES[name]

    def f(x):
        y = x * 1
        write(y)
        return y

    weft.compiler.reset()
    assert f(weft.arange(4.0)).tolist() == expected
    assert weft.compile(f)(weft.arange(4.0)).tolist() == expected


def test_windows_from_outside():
    def f(w):
        w.add_(1)
        return w.sum()

    weft.compiler.reset()
    x = weft.arange(4.0)
    assert weft.compile(f)(windows(x)).item() == 19.0
    assert x.tolist() == [1.0, 3.0, 4.0, 4.0]


def test_a_row_of_windows_from_outside():
    def f(w):
        w[1].add_(1)
        return w.sum()

    weft.compiler.reset()
    x = weft.arange(4.0)
    assert weft.compile(f)(windows(x)).item() == 13.0
    assert x.tolist() == [0.0, 2.0, 3.0, 3.0]


def test_windows_that_begin_to_overlap_for_another_size():
    def f(x, n):
        y = x * 1
        y.unfold(0, n, 3).add_(1)
        return y

    weft.compiler.reset()
    compiled = weft.compile(f, dynamic=True)
    assert compiled(weft.zeros(9), 2).tolist() == [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    assert compiled(weft.zeros(9), 3).tolist() == [1.0] * 9
    assert compiled(weft.zeros(9), 5).tolist() == [1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("view", [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x.diagonal(), lambda x: x.unfold(1, 2, 2)])
def test_other_views_do_not_end_the_graph(view):
    def f(x):
        y = x * 1
        view(y).add_(1)
        return y

    for dynamic in (False, True):
        weft.compiler.reset()
        x = weft.zeros(5, 6)
        assert weft.compile(f, fullgraph=True, dynamic=dynamic)(x).equal(f(x))


@pytest.mark.parametrize("through", ["the tensor", "a part", "what was made"])
def test_writes_by_as_strided_into_gaps(through):
    """What lies between the elements of a tensor no graph has: such a write is left to Python."""

    def f(x):
        y = x + 1
        v = {"the tensor": lambda: x, "a part": lambda: x[:, :3], "what was made": lambda: y[1:, ::2]}[through]()
        v.as_strided((2, 2), (1, 2)).mul_(3)
        return y * 2, x.sum(), v

    a, b = (weft.arange(24.0).reshape(4, 6)[:, :4] for _ in range(2))
    expected, found = f(a), weft.compile(f)(b)
    assert all(map(weft.equal, expected, found)) and weft.equal(a, b)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_write_through_an_expansion_that_repeats_nothing(dynamic):
    def f(x):
        y = x.chunk(2, 0)[-1] * 0.5
        y.expand(1, 6, 3)[0, 0].mul_(2)
        return y

    x = weft.randn(12, 3)
    assert weft.equal(weft.compile(f, dynamic=dynamic, fullgraph=True)(x), f(x))
