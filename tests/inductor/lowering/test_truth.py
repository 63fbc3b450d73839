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
