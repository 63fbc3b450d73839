"""Iterators that go on behind a break over lists that grew or shrank before: each goes on where it was."""

import pytest

import weft


@weft.compiler.disable
def pause():
    pass


def grown(xs):
    xs.extend([4, 5, 6])
    g = iter(xs)
    out = [next(g) for _ in range(5)]
    pause()
    return [*out, *g]


def grown_backwards(xs):
    xs.extend([4, 5])
    g = reversed(xs)
    out = [next(g)]
    pause()
    return [*out, *g]


def grown_after(xs):
    g, h = iter(xs), reversed(xs)
    out = [next(g), next(h)]
    xs.append(7)
    pause()
    return [*out, *g, *h]


def replaced(xs):
    g = iter(xs)
    out = [next(g)]
    xs[:] = [1, 2, 3, 4, 5, 6, 7]
    out += [next(g) for _ in range(5)]
    pause()
    return [*out, *g]


def shrunk_backwards(xs):
    g = reversed(xs)
    out = [next(g)]
    del xs[1:]
    pause()
    return [*out, *g]


def emptied_and_grown(xs):
    g = iter(xs)
    out = [next(g), next(g)]
    xs.clear()
    pause()
    xs.extend([1, 2, 3])
    return [*out, *g]


def ended_and_grown(xs):
    g = iter(xs)
    out = list(g)
    xs.extend([1, 2, 3])
    pause()
    xs.append(9)
    return [*out, *g]


def ended_backwards(xs):
    g = reversed(xs)
    out = list(g)
    pause()
    xs.append(9)
    return [*out, *g]


def own(xs):
    ys = [*xs, 1]
    g = reversed(ys)
    ys.extend([1, 2, 3])
    h, k = reversed(ys), iter(ys)
    out = [next(h), next(k)]
    pause()
    return [*out, *g, *h, *k]


def own_shrunk(xs):
    ys = [*xs, 1]
    g = iter(ys)
    out = [next(g), next(g), next(g)]
    ys.clear()
    pause()
    ys.extend(range(5))
    return [*out, *g]


def of_a_subclass(xs):
    class Row(list):
        pass

    ys = Row(xs)
    g, h = iter(ys), reversed(ys)
    out = [next(g), next(h)]
    ys.append(5)
    pause()
    return [*out, *g, *h]


def over_a_tuple(xs):
    g = iter((*xs, 1))
    out = [next(g), next(g)]
    pause()
    return [*out, *g]


@pytest.mark.parametrize(
    "f",
    [grown, grown_backwards, grown_after, replaced, shrunk_backwards, emptied_and_grown, ended_and_grown, ended_backwards, own]
    + [own_shrunk, of_a_subclass, over_a_tuple],
)
def test_an_iterator_goes_on_where_it_was(f):
    weft.compiler.reset()
    compiled = weft.compile(lambda x, xs: (x + 1, f(xs)))
    for given in ([2, "b", 3], [2, "b", 3], [1, 2, 3]):
        a, b = list(given), list(given)
        assert compiled(weft.ones(1), a)[1] == f(b) and a == b
