"""Python's random numbers in compiled functions: drawn anew in each call, the states as plain Python leaves them."""

import random

import pytest

import weft


def numbers(x, theirs):
    mine = random.Random(42)
    whole = random.randint(1, 9)
    return x + whole + theirs.randint(1, 9) + mine.randint(1, 9), theirs, mine, whole


def states(x, theirs):
    theirs.seed(42)
    mine = random.Random(9002)
    theirs.setstate(mine.getstate())
    return x + theirs.random() + mine.randrange(10) + mine.uniform(0, 1), mine


def floats(x, theirs):
    return (x + 1) * random.uniform(0, 1), random.random(), random.gauss(0, 1), theirs.random()


def sizes(x, theirs):
    a = random.randrange(1, 5)
    return weft.zeros(a, random.randrange(start=0, stop=5), 3) + 1, x + a


def seeded(x, theirs):
    random.seed(3)
    y = x + random.random()
    if random.random() > 0.5:
        y = y * 2
    return y, theirs


def alike(found, expected):
    if isinstance(expected, random.Random):
        return found.getstate() == expected.getstate()
    return found.equal(expected) if isinstance(expected, weft.Tensor) else (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("f", [numbers, states, floats, sizes, seeded], ids=lambda f: f.__name__)
def test_draws_are_those_of_plain_python(f, backend):
    compiled = weft.compile(f, backend=backend, fullgraph=f is not seeded)  # (which branches on a draw)
    before = random.getstate()
    try:
        for seed in (7, 8):
            runs = []
            for run in (f, compiled):
                random.seed(seed)
                theirs = random.Random(seed)
                runs.append((run(weft.zeros(3), theirs), random.getstate(), theirs.getstate()))
            (expected, *there), (found, *here) = runs
            assert here == there and all(map(alike, found, expected))
    finally:
        random.setstate(before)
