"""The order of sets that compiled code makes or changes is that of plain Python, which follows from all that was done to them."""

import pytest

import weft

STARTS = [[33, 1, 9, 17], [100, 5, 33, 64], [7, 15, 23], [*range(0, 80, 8)], [2]]
MAKING = {
    "or": lambda s: s | {9},
    "or of another": lambda s: {1} | s,
    "and": lambda s: s & {1, 17, 9},
    "sub": lambda s: s - {33},
    "xor": lambda s: s ^ {1, 9, 41},
    "copy": lambda s: s.copy(),
    "set": lambda s: set(s),
    "frozenset": lambda s: frozenset(s),
    "starred": lambda s: {*s, 2, 25},
    "union of several": lambda s: s.union([9, 41], {25, 1}),
    "difference of several": lambda s: s.difference([9], {1, 15}),
    "intersection": lambda s: s.intersection([17, 1, 33, 64, 5]),
    "copy that changes": lambda s: with_changes(set(s)),
    "of a dict": lambda s: set(dict.fromkeys([1, 9, 100, 17, 15, 23])),
    "of a list, changed": lambda s: with_changes({1, 33}),
    "frozen, of a list": lambda s: frozenset([33, 1, 9, 17, 25, 41]),
}
CHANGES = {
    "add": lambda s: s.add(65),
    "discard": lambda s: s.discard(33),
    "update by a list": lambda s: s.update([9, 17, 1]),
    "update by a dict": lambda s: s.update(dict.fromkeys([9, 17, 1, 25, 33, 65])),
    "update by a set": lambda s: s.update({9, 17, 1}),
    "in place": lambda s: in_place(s),
    "cleared": lambda s: (s.clear(), s.add(33), s.add(1)),
    "several": lambda s: with_changes(s),
}


@pytest.fixture(autouse=True)
def reset():
    weft.compiler.reset()


def with_changes(s):
    s.add(25)
    s.discard(1)
    s.add(41)
    s.add(1)
    return s


def in_place(s):
    s |= {41, 9}
    s -= {17}
    s ^= {7, 49}
    s &= {33, 1, 9, 41, 7, 49, 64}


def ordered(v):
    return [type(v), *v]


@pytest.mark.parametrize("start", STARTS, ids=str)
@pytest.mark.parametrize("name", MAKING)
def test_sets_made(name, start):
    def f(x, s):
        return x + 1, MAKING[name](s)

    made = weft.compile(f, backend="eager")(weft.ones(1), set(start))[1]
    assert ordered(made) == ordered(f(weft.ones(1), set(start))[1])


@pytest.mark.parametrize("start", STARTS, ids=str)
@pytest.mark.parametrize("name", CHANGES)
def test_sets_changed(name, start):
    def f(x, s):
        CHANGES[name](s)
        return x + 1

    plain, compiled = set(start), set(start)
    f(weft.ones(1), plain)
    weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1), compiled)
    assert ordered(compiled) == ordered(plain)


class Words(set):
    pass


@pytest.mark.parametrize("start", STARTS, ids=str)
def test_sets_in_objects(start):
    def f(x, s):
        new = Words([33, 1])
        with_changes(new)
        in_place(s)
        return x + 1, new, s

    c = weft.compile(f, backend="eager", fullgraph=True)
    made = [[ordered(v) for v in g(weft.ones(1), Words(start))[1:]] for g in (f, c)]
    assert made[0] == made[1]


def test_a_set_made_of_one_that_changed():
    """The real one has not changed yet when the code begins: the function runs as the plain one."""

    def f(x, s):
        s.add(9)
        t = set(s)
        return x + 1, t

    plain, compiled = set([33, 1]), set([33, 1])
    c = weft.compile(f, backend="eager")
    assert ordered(c(weft.ones(1), compiled)[1]) == ordered(f(weft.ones(1), plain)[1])
    assert ordered(compiled) == ordered(plain)


def test_where_the_order_is_the_same_in_any_case():
    """Small numbers lie in their order in a table of any size."""

    def f(x, s):
        s.add(4)
        return x + 1, set(s)

    assert weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1), {1, 2})[1] == {1, 2, 4}


KEYS = [33, 1, 9, 17, 25, 41, 7, 15]
OF_VIEWS = {
    "or": lambda a, b: a.keys() | b.keys(),
    "and": lambda a, b: a.keys() & b.keys(),
    "sub": lambda a, b: a.keys() - b,
    "xor": lambda a, b: a.keys() ^ b.keys(),
    "items or": lambda a, b: a.items() | b.items(),
    "items and": lambda a, b: a.items() & b.items(),
    "items xor": lambda a, b: a.items() ^ b.items(),
    "behind a set, or": lambda a, b: set(a) | b.keys(),
    "behind a set, and": lambda a, b: set(a) & b.keys(),
    "behind a set, xor": lambda a, b: set(a) ^ b.keys(),
    "and a set": lambda a, b: a.keys() & set(b),
    "and a frozen set": lambda a, b: a.keys() & frozenset(b),
    "or a list": lambda a, b: a.keys() | list(b),
}


@pytest.mark.parametrize("name", OF_VIEWS)
def test_sets_made_of_views(name):
    def f(x, a, b):
        return x + 1, OF_VIEWS[name](a, b)

    for n, step in ((0, 1), (3, 1), (5, 2), (8, 3)):
        weft.compiler.reset()
        a, b = {k: k % 3 for k in KEYS[:n]}, {k: k % 2 for k in KEYS[1::step]}
        made = weft.compile(f, backend="eager", fullgraph=True)(weft.ones(1), a, b)[1]
        assert ordered(made) == ordered(f(weft.ones(1), a, b)[1])
