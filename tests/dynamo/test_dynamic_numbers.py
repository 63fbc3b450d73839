"""dynamic=True: numbers are symbols from the first call on, but for 0 and 1."""

import weft
from dynamo.testing import CompileCounter


def test_numbers_are_symbols_at_once():
    counter = CompileCounter()
    compiled = weft.compile(lambda x, n: x * n + n, backend=counter, dynamic=True)
    for n in (4, 20, 7):
        assert compiled(weft.ones(3), n).tolist() == [2 * n] * 3
    assert counter.frame_count == 1
    for n in (0, 1):
        assert compiled(weft.ones(3), n).tolist() == [2 * n] * 3
