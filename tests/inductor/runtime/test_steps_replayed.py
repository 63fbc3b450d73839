"""What a program has no kernel for is a call of the op, replayed like any other once it has been made often."""

import weft
from aten import _native


def entries(function):
    _native.python_entries(True)
    function()
    return _native.python_entries(True)


def test_a_step_with_keywords_takes_no_python():
    rows, places, values = weft.randn(512), weft.randperm(512), weft.randn(64)
    f = weft.compile(lambda r, i, v: weft.searchsorted(r[i], v, right=True) + 1)
    expected = weft.searchsorted(rows[places], values, right=True) + 1
    for _ in range(12):
        assert weft.equal(f(rows, places, values), expected)
    assert not entries(lambda: f(rows, places, values))
