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


def in_one_graph(x):
    y = (x + 1) * random.randint(2, 9)
    return y.sin() + random.random(), random.uniform(0, 1)


def handed_on(x):
    y, n = x * 2, random.randint(1, 9)
    weft._dynamo.graph_break()
    return y * n, n, [random.random() for _ in range(3)]


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("f, most", [(in_one_graph, 1), (handed_on, 2)], ids=lambda v: getattr(v, "__name__", ""))
def test_a_draw_breaks_no_graph(f, most, backend):
    graphs = []

    def counting(gm, inputs):
        graphs.append(gm)
        return weft._dynamo.lookup_backend(backend)(gm, inputs)

    compiled = weft.compile(f, backend=counting)
    before = random.getstate()
    try:
        for seed in range(6):
            runs = []
            for run in (f, compiled):
                random.seed(seed)
                (y, *numbers), state = run(weft.arange(4.0)), random.getstate()
                runs.append((numbers, state, y))
            (*there, a), (*here, b) = runs
            assert here == there and weft.allclose(a, b)
    finally:
        random.setstate(before)
    assert len(graphs) <= most


def drawn_behind_an_index(x, i):
    y = x[i]
    return y * random.random()


def drawn_before_and_behind(x, i):
    a = random.random()
    y = (x[i] + 1) * a
    return y * random.randint(0, 9)


def drawn_behind_a_factor(x, i):
    y = weft.linalg.cholesky(x.outer(x) + weft.eye(4) * (5 - i[0]))
    return y * random.random()


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("f", [drawn_behind_an_index, drawn_before_and_behind, drawn_behind_a_factor], ids=lambda f: f.__name__)
def test_what_is_behind_an_error_is_not_drawn(f, fullgraph):
    def told(function):
        random.seed(1)
        answers = []
        for i in (1, 2, 9, 3):
            try:
                answers.append(function(weft.arange(4.0), weft.tensor([i])).sum().item())
            except (IndexError, RuntimeError) as e:
                answers.append(str(e))
            answers.append(random.getstate())
        return answers

    plain, compiled = told(f), told(weft.compile(f, fullgraph=fullgraph))
    assert [a if isinstance(a, (str, tuple)) else round(a, 4) for a in plain] == [
        a if isinstance(a, (str, tuple)) else round(a, 4) for a in compiled
    ]
