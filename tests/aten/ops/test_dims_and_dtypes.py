"""Reductions and scatters: what they take as dims and dtypes, NaN in parts of complex numbers. Expected: PyTorch 2.13 on a CPU."""

import math

import pytest

import weft
from weft.nn import functional as F

nan, inf = math.nan, math.inf
X, PAIR = weft.ones(2, 3, 4), weft.tensor([0, 0])
BOOLS, COMPLEX = weft.ones(2, 3, dtype=weft.bool), weft.arange(6.0).reshape(2, 3) + 0j
PLACES = weft.zeros(2, 3, dtype=weft.int64)

REFUSED = {
    "a bool among dims": (lambda: weft.var(X, (True,)), TypeError),
    "a string of dims": (lambda: weft.std(X, "a"), TypeError),
    "a float dim": (lambda: weft.var(X, [1.5]), TypeError),
    "a bool dim of a norm": (lambda: weft.norm(X, dim=True), TypeError),
    "a string dim of a norm": (lambda: weft.norm(X, dim="a"), TypeError),
    "extremes of complex numbers": (lambda: weft.scatter_reduce(COMPLEX, 1, PLACES, COMPLEX, "amax"), NotImplementedError),
    "means of bools": (lambda: weft.scatter_reduce(BOOLS, 1, PLACES, BOOLS, "mean"), NotImplementedError),
    "reduced bools": (lambda: weft.index_reduce(BOOLS, 0, PAIR, BOOLS, "mean"), NotImplementedError),
    "without self": (lambda: weft.index_reduce(COMPLEX, 0, PAIR, COMPLEX, "prod", include_self=False), NotImplementedError),
    "bags of integers": (lambda: F.embedding_bag(weft.tensor([[0, 1]]), weft.ones(2, 3).long()), RuntimeError),
    "a histogram of halves": (lambda: weft.histogram(weft.ones(3).half(), 3), NotImplementedError),
    "medians into doubles": (lambda: weft.nanmedian(X, 0, out=(weft.ones(3, 4).double(), weft.ones(3, 4).long())), RuntimeError),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, compiled):
    weft.compiler.reset()
    call, error = REFUSED[name]
    with pytest.raises(error):
        (weft.compile(call) if compiled else call)()


def test_taken():
    assert weft.var(X, dim=weft.tensor(1)).shape == (2, 4) and weft.var(X, True).item() == 0
    assert weft.index_reduce(BOOLS, 0, PAIR, ~BOOLS, "prod").tolist() == [[False] * 3, [True] * 3]
    assert weft.index_reduce(COMPLEX, 0, PAIR, COMPLEX, "prod").tolist() == [[0, 4, 20], [3, 4, 5]]
    assert F.kl_div(weft.tensor(1.0), weft.tensor(1.0), reduction="batchmean").item() == -1


def parts(x):
    return [[z.real, z.imag] for z in x.flatten().tolist()]


@pytest.mark.parametrize("compiled", [False, True])
def test_parts_of_complex_numbers(compiled):
    weft.compiler.reset()
    made = (lambda f: weft.compile(f, fullgraph=True)) if compiled else lambda f: f
    x = weft.tensor([[1 + 2j, nan, -2], [0, 3j, -1]])
    variance, mean = made(lambda x: weft.var_mean(x, 0))(x)
    assert variance.tolist() == pytest.approx([2.5, nan, 0.5], nan_ok=True)
    assert [pytest.approx(p, nan_ok=True) for p in parts(mean)] == [[0.5, 1.0], [nan, 1.5], [-1.5, 0.0]]
    x = weft.tensor([complex(nan, 1), complex(inf, nan), complex(1, -inf)])
    largest = 3.4028234663852886e38
    assert parts(made(weft.nan_to_num)(x)) == [[0, 1], [largest, 0], [1, -largest]]
    assert parts(made(lambda x: weft.nan_to_num(x, 1.0, 2.0, 3.0))(x)) == [[1, 1], [2, 1], [1, 3]]


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_for_nan_are_cast(compiled):
    weft.compiler.reset()
    call = lambda x: weft.nan_to_num(x, 1e300, neginf=-1e300)
    found = (weft.compile(call, fullgraph=True) if compiled else call)(weft.tensor([nan, 1.0, -inf]))
    assert found.tolist() == [inf, 1.0, -inf]
