"""combinations: as itertools has them, and of so many that no memory holds them: that is said, not tried."""

import itertools

import pytest

import weft


@pytest.mark.parametrize("with_replacement", [False, True])
@pytest.mark.parametrize("r", range(7))
def test_rows_are_those_of_itertools(r, with_replacement):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    for n in range(6):
        x = weft.arange(float(n))
        got = weft.combinations(x, r, with_replacement)
        want = list(choose(x.tolist(), r)) if r else []
        assert got.tolist() == [list(row) for row in want] and list(got.shape) == ([len(want), r] if r else [0])


def test_gradient_and_compiled():
    x = weft.randn(5, requires_grad=True)
    for f in (weft.combinations, weft.compile(weft.combinations)):
        x.grad = None
        f(x, 3).sum().backward()
        assert x.grad.tolist() == [6.0] * 5


def test_what_no_memory_holds():
    for r in (3, 9):
        with pytest.raises((MemoryError, RuntimeError), match="cannot allocate|overflowed"):
            weft.combinations(weft.zeros(35_000), r)
    assert weft.combinations(weft.zeros(1), 20_000, True).shape == (1, 20_000)
