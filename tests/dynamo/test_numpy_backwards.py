"""Slices of arrays that go back, windows, grids of symbolic sizes, and Counter: two compilations, and plain results."""

import collections

import numpy as np
import pytest

import weft
from weft import _dynamo as dynamo

ARRAYS = [np.arange(float(n * 3)).reshape(n, 3) for n in (4, 7, 9, 12, 5, 20)]
PROGRAMS = {
    "all": lambda a: a[::-1],
    "every second": lambda a: a[::-2].sum(0),
    "from": lambda a: a[2::-1],
    "to": lambda a: a[:1:-1],
    "from the end": lambda a: a[-2::-1, 1],
    "columns": lambda a: a[:, ::-1] * 2,
    "both": lambda a: a[3:0:-2, ::-1],
    "to the end": lambda a: a[:-3:-1],
    "a new dim": lambda a: a[None, ::-1],
    "of what was flipped": lambda a: np.flip(a)[::-1],
    "of a column": lambda a: np.concatenate([a[:, 0], a[:, 0][::-1]]).cumsum(),
    "arange": lambda a: np.arange(a.shape[0], 0, -1) + np.arange(len(a), dtype=np.float32),
    "eye": lambda a: np.eye(a.shape[0])[:3] @ a + np.identity(3, dtype=np.int32),
    "windows": lambda a: a * np.hanning(5).sum() + np.kaiser(3, 14.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_compilations(name):
    dynamo.reset()
    counting = dynamo.testing.CompileCounter()
    compiled = weft.compile(PROGRAMS[name], backend=counting, fullgraph=True)
    for a in ARRAYS:
        got, want = compiled(a), PROGRAMS[name](a)
        assert got.dtype == want.dtype and got.strides == want.strides and np.array_equal(got, want)
    assert counting.frame_count <= 2


@pytest.mark.parametrize("write", ["what it is of", "itself"])
def test_writes_are_seen(write):
    def function(a):
        b = a.copy()
        back = b[::-1]
        if write == "itself":
            back[0] = 5
        else:
            b[0] = 5
        return b, back

    for a in ARRAYS:
        assert repr(weft.compile(function, backend="eager")(a)) == repr(function(a))


def test_a_counter():
    def function(x):
        return x + 1, collections.Counter("abca") + collections.Counter(a=2)

    assert repr(weft.compile(function, backend="eager", fullgraph=True)(weft.ones(1))) == repr(function(weft.ones(1)))
