"""Truth values in reductions with places, and in sums by index."""
import pytest

import weft

M = [[True, False, True], [True, True, True], [False, False, False]]
CASES = {
    "places of extremes": (lambda t: (t.min(1, True), t.max(0)), (M,)),
    "scatter_add": (lambda t, s: t.scatter_add(0, (t * 2).to(weft.int64), s), (M, M)),
    "index_add": (lambda t, s: t.index_add(1, weft.tensor([2, 0, 2]), s), (M, M)),
}


@pytest.mark.parametrize("name", CASES)
def test_truth_values(name):
    f, values = CASES[name]
    arguments = [weft.tensor(v) for v in values]
    flat = lambda r: [x for y in r for x in flat(y)] if isinstance(r, tuple) else [r]
    for a, b in zip(flat(weft.compile(f)(*arguments)), flat(f(*arguments))):
        weft.testing.assert_close(a, b)


@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_truth_values_of_numbers_that_change(backend):
    def f(x, a, n):
        return x * (a < n), x + (n == 4), weft.where(x > 1, a >= 2, x), weft.full((2,), a < n)

    compiled = weft.compile(f, backend=backend, dynamic=True)
    for a, n in ((1.5, 4), (7.0, 5), (2.5, 3)):
        for got, want in zip(compiled(weft.arange(20.0), a, n), f(weft.arange(20.0), a, n)):
            weft.testing.assert_close(got, want, rtol=0, atol=0)
